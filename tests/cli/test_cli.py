"""The command line from end to end, in this process and with its session."""

import csv
import json
import signal
import subprocess
import sys
import time
from datetime import datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from sweeps import sweep
from windrow.cli.main import main
from windrow.demo import traffic_day
from windrow.demo.loops import jams_by_loop
from windrow.demo.traffic import DAY, FIRST_ID, SECONDS_PER_READING, Outage

pytestmark = pytest.mark.spark

DAWN = datetime(2024, 3, 5, 6)
SPEEDS = {7: [60, 30, 31, 32, 60, 38, 61, 20], 8: [25, 26, None, 27, 70, 71, 72, 73]}
THRESHOLD = ["--on", "time", "--by", "detector", "--threshold", "speed < 40"]
"""Detector 7: frames of 3, 1 and 1 rows; detector 8: of 2 and 1 rows."""


@pytest.fixture(autouse=True)
def _session(spark) -> None:
    """Commands find the session of the tests and use it."""


@pytest.fixture
def loops() -> pa.Table:
    rows = [
        {"detector": detector, "time": DAWN + timedelta(minutes=i), "speed": speed, "cars": i + 1}
        for i in range(8)
        for detector, speed in ((d, SPEEDS[d][i]) for d in SPEEDS)
    ]
    schema = pa.schema({"detector": pa.int32(), "time": pa.timestamp("us"), "speed": pa.float64(), "cars": pa.int64()})
    return pa.Table.from_pylist(rows, schema)


@pytest.fixture
def parquet(loops, tmp_path) -> str:
    pq.write_table(loops, tmp_path / "loops.parquet")
    return str(tmp_path / "loops.parquet")


@pytest.fixture
def sources(loops, parquet, tmp_path) -> dict[str, str]:
    pyarrow.csv.write_csv(loops, tmp_path / "loops.csv")
    lines = [json.dumps({**row, "time": row["time"].isoformat()}) for row in loops.to_pylist()]
    (tmp_path / "loops.json").write_text("\n".join(lines))
    return {"parquet": parquet, "csv": str(tmp_path / "loops.csv"), "json": str(tmp_path / "loops.json")}


@pytest.fixture
def out(tmp_path) -> Path:
    folder = tmp_path / "out"
    folder.mkdir()
    return folder


def refused(line: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """What a command says that must fail as bad input does: exit code 2 and one line, nothing else."""
    assert main(line) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("windrow: error: ")
    assert captured.err.count("\n") == 1
    return captured.err


def bounds(rows) -> list[tuple]:
    return [(int(row["detector"]), int(row["frame"]), int(row["count"])) for row in rows]


FOUND = [(7, 0, 3), (7, 1, 1), (7, 2, 1), (8, 0, 2), (8, 1, 1)]


@pytest.mark.parametrize("form", ["parquet", "csv", "json"])
def test_each_format_is_read_and_written(form, sources, out, capsys) -> None:
    agg = ["--agg", "slowest=min(speed)", "cars=sum(cars)"]
    assert main(["frames", sources[form], *THRESHOLD, *agg, "--out", str(out / f"jams.{form}")]) == 0
    captured = capsys.readouterr()
    assert captured.out == ""
    assert f"wrote 5 frames to {out / f'jams.{form}'}" in captured.err
    assert [path.name for path in out.iterdir()] == [f"jams.{form}"]
    if form == "parquet":
        rows = pq.read_table(out / "jams.parquet").to_pylist()
        assert rows[0]["start"] == DAWN + timedelta(minutes=1)
    elif form == "csv":
        with (out / "jams.csv").open() as file:
            rows = list(csv.DictReader(file))
        assert rows[0]["start"] == "2024-03-05T06:01:00.000000"
    else:
        rows = [json.loads(line) for line in (out / "jams.json").read_text().splitlines()]
        assert rows[2]["closed_at"] is None
    assert bounds(rows) == FOUND
    assert [float(row["slowest"]) for row in rows] == [30, 38, 20, 25, 27]


def test_a_folder_is_written_as_spark_writes_it_and_can_be_read_again(parquet, out, capsys) -> None:
    assert main(["frames", parquet, *THRESHOLD, "--out", str(out / "jams"), "--format", "csv"]) == 0
    assert (out / "jams" / "_SUCCESS").exists()
    assert main(["frames", str(out / "jams"), "--input-format", "csv", "--on", "start", "--gap", "1 hour"]) == 0
    assert "5" in capsys.readouterr().out


def test_without_an_output_there_is_a_table_in_order(parquet, capsys) -> None:
    assert main(["frames", parquet, *THRESHOLD, "--limit", "3"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    lines = captured.out.splitlines()
    assert lines[1].split() == ["detector", "frame", "start", "end", "closed_at", "count", "complete"]
    assert [line.split()[:2] for line in lines[3:6]] == [["7", "0"], ["7", "1"], ["7", "2"]]
    assert "2024-03-05 06:01:00" in lines[3]
    assert lines[-1] == "… and 2 more rows"


def test_all_rows_are_shown_where_there_are_as_many_as_the_limit(parquet, capsys) -> None:
    assert main(["frames", parquet, *THRESHOLD, "--limit", "5"]) == 0
    assert "more" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("scheme", "first"),
    [
        (["--threshold", "speed < 40", "--min-count", "2"], ["7", "0"]),
        (["--threshold", "speed < 40", "--close", "speed > 65", "--segments"], ["7", "0"]),
        (["--boundary", "speed=0:40:80"], ["7", "0"]),
        (["--double-boundary", "speed=40"], ["7", "0"]),
        (["--change", "cars", "--ignore", "3,2.0"], ["7", "0"]),
        (["--delta", "speed=5", "--op", "<", "--reference", "first"], ["7", "0"]),
        (["--aggregate", "sum(cars) > 5", "--nulls", "break"], ["7", "0"]),
        (["--gap", "90 seconds", "--max-gap", "1 minute"], ["7", "0"]),
    ],
)
def test_every_scheme_runs(scheme, first, parquet, capsys) -> None:
    assert main(["frames", parquet, "--on", "time", "--by", "detector", *scheme]) == 0
    assert capsys.readouterr().out.splitlines()[3].split()[:2] == first


def test_numbers_are_durations_where_on_is_a_number(parquet, capsys) -> None:
    line = ["frames", parquet, "--on", "cars", "--by", "detector", "--threshold", "speed < 40"]
    assert main([*line, "--min-duration", "2"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 4 + 1
    assert "expected a number in its unit" in refused([*line, "--min-duration", "2 minutes"], capsys)
    assert "expected a string such as '3 minutes'" in refused(
        ["frames", parquet, *THRESHOLD, "--min-duration", "2"], capsys
    )


def test_explain_says_which_plan_and_why_and_writes_nothing(sources, out, capsys) -> None:
    assert main(["frames", sources["parquet"], *THRESHOLD, "--explain", "--out", str(out / "x.csv")]) == 0
    assert capsys.readouterr().out.startswith("plan: scan\n  - ")
    assert main(["frames", sources["csv"], *THRESHOLD, "--explain"]) == 0
    assert capsys.readouterr().out.startswith("plan: native\n  - ")
    assert main(["frames", sources["parquet"], *THRESHOLD, "--explain", "--plan", "shuffle"]) == 0
    assert capsys.readouterr().out.startswith("plan: shuffle\n  - ")
    assert not list(out.iterdir())


def test_no_frames_is_a_result(parquet, out, capsys) -> None:
    line = ["frames", parquet, "--on", "time", "--threshold", "speed < 0"]
    assert main(line) == 0
    assert capsys.readouterr().out == "no frames\n"
    assert main([*line, "--out", str(out / "none.csv")]) == 0
    assert "wrote 0 frames" in capsys.readouterr().err
    assert (out / "none.csv").read_text() == "frame,start,end,closed_at,count,complete\n"


def test_a_table_without_rows_has_no_frames(loops, tmp_path, capsys) -> None:
    pq.write_table(loops.slice(0, 0), tmp_path / "empty.parquet")
    assert main(["frames", str(tmp_path / "empty.parquet"), *THRESHOLD]) == 0
    assert capsys.readouterr().out == "no frames\n"


def test_files_without_anything_are_refused(tmp_path, capsys) -> None:
    for name, text, expected in [
        ("nothing.csv", "", "is empty, so it has no columns"),
        ("header.csv", "time,detector,speed\n", "a header but no rows"),
        ("nothing.json", "", "is empty, so it has no columns"),
        ("broken.json", '{"time": 1', "one object per line"),
        ("text.parquet", "no parquet at all", "incomplete"),
    ]:
        (tmp_path / name).write_text(text)
        assert expected in refused(["frames", str(tmp_path / name), *THRESHOLD], capsys)
    (tmp_path / "hollow").mkdir()
    assert "no Parquet file" in refused(["frames", str(tmp_path / "hollow"), *THRESHOLD], capsys)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        (["--on", "tme"], "on: no column named 'tme'; available columns: 'detector', 'time', 'speed', 'cars'"),
        (["--by", "lane"], "by: no column named 'lane'"),
        (["--threshold", "velocity < 40"], "no column named 'velocity'"),
        (["--threshold", "speed + 1"], "expected a boolean"),
        (["--agg", "x=sum(volume)"], "agg 'x': no column named 'volume'"),
        (["--agg", "frame=min(speed)"], "two columns named 'frame'"),
        (["--agg", "detector=min(speed)"], "two columns named 'detector'"),
        (["--plan", "native", "--close", "speed > 50"], "plan='native'"),
    ],
)
def test_bad_requests_leave_nothing_behind(changes, expected, parquet, out, capsys) -> None:
    options = dict(zip(THRESHOLD[::2], THRESHOLD[1::2], strict=True)) | dict(
        zip(changes[::2], changes[1::2], strict=True)
    )
    line = ["frames", parquet, "--out", str(out / "jams.csv"), *(word for pair in options.items() for word in pair)]
    assert expected in refused(line, capsys)
    assert not list(out.iterdir())


@pytest.mark.parametrize("plan", ["native", "shuffle"])
@pytest.mark.parametrize(
    ("predicate", "expected"),
    [("word < 3", "The value 'no' of the type \"STRING\" cannot be cast"), ("cars / none > 1", "Division by zero")],
)
def test_a_predicate_that_fails_on_a_row_is_named_on_one_line(predicate, expected, plan, loops, out, tmp_path, capsys):
    table = loops.append_column("word", pa.array(["no"] * 16)).append_column("none", pa.array([0] * 16))
    pq.write_table(table, tmp_path / "failing.parquet")
    line = ["frames", str(tmp_path / "failing.parquet"), "--on", "time", "--threshold", predicate, "--plan", plan]
    for more in ([], ["--out", str(out / "jams.csv")]):
        message = refused([*line, *more], capsys)
        assert f"the expression '{predicate}' cannot be computed for some row: {expected}" in message
        assert "Exception" not in message
    assert not list(out.iterdir())


def test_a_half_written_file_is_refused_and_leaves_nothing_behind(parquet, out, tmp_path, capsys) -> None:
    whole = Path(parquet).read_bytes()
    (tmp_path / "half.parquet").write_bytes(whole[: len(whole) // 2])
    assert "incomplete" in refused(
        ["frames", str(tmp_path / "half.parquet"), *THRESHOLD, "--out", str(out / "a.csv")], capsys
    )
    assert not list(out.iterdir())


@pytest.mark.parametrize("plan", ["auto", "native"])
def test_one_half_written_file_among_others_is_refused_too(plan, parquet, out, tmp_path, capsys) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    whole = Path(parquet).read_bytes()
    (folder / "a.parquet").write_bytes(whole)
    (folder / "b.parquet").write_bytes(whole[: len(whole) // 2])
    message = refused(["frames", str(folder), *THRESHOLD, "--plan", plan, "--out", str(out / "jams")], capsys)
    assert "incomplete" in message
    assert not list(out.iterdir())


def test_a_file_damaged_in_the_middle_is_refused(parquet, out, tmp_path, capsys) -> None:
    damaged = bytearray(Path(parquet).read_bytes())
    damaged[4:300] = bytes(296)
    (tmp_path / "damaged.parquet").write_bytes(damaged)
    refused(
        ["frames", str(tmp_path / "damaged.parquet"), *THRESHOLD, "--plan", "native", "--out", str(out / "a.csv")],
        capsys,
    )
    assert not list(out.iterdir())


def test_an_existing_output_is_kept_unless_it_may_be_replaced(parquet, out, capsys) -> None:
    mine = "detector,frame,start,end,closed_at,count,complete\n"
    (out / "jams.csv").write_text(mine)
    line = ["frames", parquet, *THRESHOLD, "--out", str(out / "jams.csv")]
    assert "already exists" in refused(line, capsys)
    assert (out / "jams.csv").read_text() == mine
    assert "no column named" in refused([*line, "--overwrite", "--order-by", "lane"], capsys)
    assert (out / "jams.csv").read_text() == mine
    assert main([*line, "--overwrite"]) == 0
    assert (out / "jams.csv").read_text().startswith("detector,frame,")
    assert main(["frames", parquet, *THRESHOLD, "--out", str(out / "jams.csv"), "--overwrite", "--format", "json"]) == 0
    for _ in range(2):
        assert main(["frames", parquet, *THRESHOLD, "--out", str(out / "jams"), "--overwrite"]) == 0
    assert sorted(path.name for path in out.iterdir()) == ["jams", "jams.csv"]


@pytest.mark.slow
def test_an_interrupted_process_says_so_and_leaves_nothing_behind(parquet, out) -> None:
    """A process of its own, since the terminal's view of Spark, and a signal, can only be had there."""
    line = [
        sys.executable,
        "-m",
        "windrow.cli.main",
        "frames",
        parquet,
        *THRESHOLD,
        "--plan",
        "shuffle",
        "--out",
        str(out / "x.csv"),
    ]
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        while process.poll() is None and not list(out.iterdir()):
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        output = process.communicate()
    assert (process.returncode, output) == (130, ("", "windrow: interrupted\n"))
    assert not list(out.iterdir())


def test_rows_without_a_place_are_an_error_or_dropped_with_a_word(loops, tmp_path, capsys) -> None:
    times = pa.array([None, *loops["time"].to_pylist()[1:]], pa.timestamp("us"))
    pq.write_table(loops.set_column(1, "time", times), tmp_path / "holes.parquet")
    line = ["frames", str(tmp_path / "holes.parquet"), *THRESHOLD]
    assert "on: column 'time' is null or NaN in 1 row" in refused(line, capsys)
    assert main([*line, "--nulls-on", "drop"]) == 0
    assert capsys.readouterr().err.startswith("windrow: warning: dropped rows")
    assert "nulls='error' forbids that" in refused([*line, "--nulls-on", "drop", "--nulls", "error"], capsys)


def test_filling_tags_rows_or_aggregates_them(sources, out, tmp_path, capsys) -> None:
    jams = str(out / "jams.csv")
    assert main(["frames", sources["parquet"], *THRESHOLD, "--out", jams]) == 0
    reports = [
        {"detector": 7, "at": "2024-03-05T06:02:30", "what": "crash"},
        {"detector": 8, "at": "2024-03-05T06:07:00"},
    ]
    (tmp_path / "reports.json").write_text("\n".join(map(json.dumps, reports)))
    fill = ["fill", jams, str(tmp_path / "reports.json"), "--on", "at", "--by", "detector"]
    assert main(fill) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 5
    assert "crash" in lines[3]
    counted = out / "counted.parquet"
    assert main([*fill, "--after", "6 minutes", "--agg", "reports=count()", "--out", str(counted)]) == 0
    assert "wrote 5 frames" in capsys.readouterr().err
    rows = pq.read_table(counted).to_pylist()
    assert bounds(rows) == FOUND
    assert [row["reports"] for row in rows] == [1, 0, 0, 1, 1]
    assert "no column named 'lane'" in refused([*fill, "--by", "lane"], capsys)
    assert "frames" in refused(["fill", sources["parquet"], sources["csv"], "--on", "time"], capsys)


@pytest.mark.parametrize("form", ["csv", "json"])
def test_frames_by_date_can_be_filled_again(form, out, tmp_path, capsys) -> None:
    lines = [json.dumps({"day": f"2024-03-{day:02}", "noon": f"2024-03-{day:02}T12:00", "x": day}) for day in (1, 2, 5)]
    (tmp_path / "days.json").write_text("\n".join(lines))
    days, frames = str(tmp_path / "days.json"), str(out / f"frames.{form}")
    assert main(["frames", days, "--on", "day", "--gap", "1 day", "--agg", "n=last(noon)", "--out", frames]) == 0
    assert main(["fill", frames, days, "--on", "day", "--agg", "sum=sum(x)", "--out", str(out / "sums.json")]) == 0
    sums = [json.loads(line) for line in (out / "sums.json").read_text().splitlines()]
    assert [(row["start"], row["end"], row["sum"]) for row in sums] == [
        ("2024-03-01", "2024-03-02", 3), ("2024-03-05", "2024-03-05", 5),
    ]  # fmt: skip
    capsys.readouterr()


def test_instants_are_printed_as_they_are_written_in_the_sessions_zone(spark, out, tmp_path, capsys) -> None:
    seconds = pa.array([1729989000, 1729992600]).cast(pa.timestamp("s", "UTC"))
    pq.write_table(pa.table({"t": seconds.cast(pa.timestamp("us", "UTC"))}), tmp_path / "t.parquet")
    line = ["frames", str(tmp_path / "t.parquet"), "--on", "t", "--gap", "1 minute"]
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    try:
        assert main(line) == 0
        printed = capsys.readouterr().out
        assert main([*line, "--out", str(out / "frames.csv")]) == 0
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)
    for offset in ("+02:00", "+01:00"):
        assert f"2024-10-27 02:30:00{offset}" in printed
        assert f"2024-10-27T02:30:00.000000{offset}" in (out / "frames.csv").read_text()


@pytest.mark.parametrize("suffix", sweep(["csv", "csv.gz"], "csv.gz"))
def test_csv_goes_all_the_way(suffix, sources, out, capsys) -> None:
    """Text with commas, quotes and blanks, empty fields and microseconds come through CSV, into frames and fill."""
    table = pyarrow.csv.read_csv(sources["csv"])
    names = pa.array([f' road "{n}", north' if n == 7 else "" for n in table["detector"].to_pylist()])
    source = str(out / f"named.{suffix}")
    with pa.output_stream(source) as file:
        pyarrow.csv.write_csv(table.append_column("road, name", names), file)
    jams, tagged, counted = (str(out / name) for name in ("jams.csv", "tagged.csv", "counted.csv"))
    by = ["--on", "time", "--by", "detector"]
    agg = ["--agg", "last=max(time)", "cars=sum(cars)"]
    assert main(["frames", source, *THRESHOLD, *agg, "--out", jams]) == 0
    assert main(["fill", jams, source, *by, "--out", tagged]) == 0
    assert main(["fill", jams, source, *by, "--agg", "rows=count()", "again=sum(cars)", "--out", counted]) == 0
    message = capsys.readouterr().err
    assert "wrote 5 frames" in message
    assert "wrote 8 rows" in message
    frames, rows, filled = (
        list(csv.DictReader(Path(path).read_text().splitlines())) for path in (jams, tagged, counted)
    )
    assert bounds(frames) == bounds(filled) == FOUND
    assert [row["last"] for row in frames] == [row["end"] for row in frames]
    assert [row["cars"] for row in filled] == [row["again"] for row in filled]
    assert [row["count"] for row in filled] == [row["rows"] for row in filled]
    assert rows[0] == {
        "detector": "7",
        "time": "2024-03-05T06:01:00.000000",
        "speed": "30",
        "cars": "2",
        "road, name": ' road "7", north',
        "frame": "0",
    }
    assert rows[-1]["road, name"] == ""


def test_filling_without_any_row_in_a_frame_is_a_result(sources, out, capsys) -> None:
    assert (
        main(["frames", sources["parquet"], "--on", "time", "--threshold", "speed < 0", "--out", str(out / "none")])
        == 0
    )
    capsys.readouterr()
    assert main(["fill", str(out / "none"), sources["parquet"], "--on", "time"]) == 0
    assert capsys.readouterr().out == "no rows\n"


def spanning(jams: list[dict[str, str]], outage: Outage) -> list[dict[str, str]]:
    """The jams of the outage's detector that are on both sides of it."""
    before, after = (DAY + timedelta(seconds=SECONDS_PER_READING * n) for n in (outage.first - 1, outage.last + 1))
    mine = [jam for jam in jams if int(jam["detectorid"]) == FIRST_ID + outage.detector]
    return [jam for jam in mine if parsed(jam["start"]) <= before and parsed(jam["end"]) >= after]


def parsed(text: str) -> datetime:
    return datetime.fromisoformat(text)


def test_the_demo_finds_what_was_put_in_and_draws_it(tmp_path, capsys) -> None:
    folder = tmp_path / "demo"
    assert main(["demo", "--detectors", "12", "--seed", "5", "--out", str(folder)]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    assert captured.out.count("a plain loop over the rows finds the same frames") == 3
    assert captured.out.count("scan plan: ") == 3
    names = {
        "traffic.parquet",
        "tow.parquet",
        "jams.csv",
        "dye-episodes.csv",
        "dye-steps.csv",
        "traffic.png",
        "dye.png",
    }
    assert {path.name for path in folder.iterdir()} == names
    for name in names:
        assert str(folder / name) in captured.out
    for picture in ("traffic.png", "dye.png"):
        drawn = (folder / picture).read_bytes()
        assert drawn.startswith(b"\x89PNG")
        assert len(drawn) > 50_000
    day = traffic_day(detectors=12, seed=5)
    with (folder / "jams.csv").open() as file:
        jams = list(csv.DictReader(file))
    assert len(jams) == len(jams_by_loop(day.table)) > 0
    long, short = (spanning(jams, outage) for outage in day.outages[:2])
    assert not long, "an outage over five minutes ends a jam"
    assert short, "a shorter one does not"
    assert main(["demo", "--detectors", "12", "--seed", "6", "--out", str(folder)]) == 0
    assert {path.name for path in folder.iterdir()} == names


def test_the_demo_refuses_what_it_cannot_do(tmp_path, capsys) -> None:
    (tmp_path / "file").write_text("mine")
    assert "cannot create the folder" in refused(["demo", "--detectors", "8", "--out", str(tmp_path / "file")], capsys)
    assert "at least 4" in refused(["demo", "--detectors", "2", "--out", str(tmp_path / "none")], capsys)
    assert not (tmp_path / "none").exists()
