"""Streams on the command line, from end to end: in this process, and in one of its own where a signal is needed."""

import csv
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from sweeps import long, sweep
from windrow.cli.main import main
from windrow.demo import traffic_day
from windrow.demo.loops import jams_by_loop
from windrow.tuning import Tuning

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("few_buckets")]

DAWN = datetime(2024, 3, 31, 1, 58)
"""A night in which clocks skip an hour in Berlin, which times without a zone do not show."""
SPEEDS = {7: [60, 30, 31, 32, 60, 38, 61, 20], 8: [25, 26, None, 27, 70, 71, 72, 73]}
SCHEMA = pa.schema({"detector": pa.int32(), "time": pa.timestamp("us"), "speed": pa.float64(), "cars": pa.int64()})
THRESHOLD = ["--on", "time", "--by", "detector", "--threshold", "speed < 40"]
STREAM = [*THRESHOLD, "--stream", "--watermark", "1 minute"]
CLOSED = [(7, 0, 3), (7, 1, 1), (8, 0, 2), (8, 1, 1)]
FOUND = [(7, 0, 3), (7, 1, 1), (7, 2, 1), (8, 0, 2), (8, 1, 1)]
"""Detector, frame and count; the last frame of detector 7 is open at the end."""


@pytest.fixture(autouse=True)
def _session(spark):
    """Commands find the session of the tests, which lives in Berlin, and use it."""
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    yield
    assert spark.conf.get("spark.sql.session.timeZone") == "Europe/Berlin"
    spark.conf.set("spark.sql.session.timeZone", before)


def readings(first: int, last: int) -> pa.Table:
    """The readings from one minute up to another."""
    rows = [
        {"detector": detector, "time": DAWN + timedelta(minutes=i), "speed": speeds[i], "cars": i + 1}
        for i in range(first, last)
        for detector, speeds in SPEEDS.items()
    ]
    return pa.Table.from_pylist(rows, SCHEMA)


def land(table: pa.Table, path: Path) -> None:
    """Let a file land whole."""
    aside = path.with_name(f".{path.name}")
    if path.suffix == ".parquet":
        pq.write_table(table, aside)
    elif path.suffix == ".csv":
        pyarrow.csv.write_csv(table, aside)
    else:
        lines = [json.dumps({**row, "time": row["time"].isoformat()}) for row in table.to_pylist()]
        aside.write_text("\n".join(lines))
    aside.rename(path)


@pytest.fixture
def landing(tmp_path) -> Path:
    folder = tmp_path / "landing"
    folder.mkdir()
    return folder


def rows_in(folder: Path) -> list[dict[str, Any]]:
    """All rows below a folder of results, by detector, frame and fragment."""
    rows: list[dict[str, Any]] = []
    for path in folder.iterdir():
        if path.suffix == ".parquet":
            rows += pq.read_table(path).to_pylist()
        elif path.suffix == ".csv":
            rows += csv.DictReader(path.read_text().splitlines())
        elif path.suffix == ".json":
            rows += map(json.loads, path.read_text().splitlines())
    return sorted(rows, key=lambda row: (int(row["detector"]), int(row["frame"] or 0), int(row["fragment"] or 0)))


def bounds(rows) -> list[tuple[int, int, int]]:
    return [(int(row["detector"]), int(row["frame"]), int(row["count"])) for row in rows]


def refused(line: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """What a command says that must fail as bad input does: exit code 2 and one line, nothing else."""
    assert main(line) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("windrow: error: ")
    assert captured.err.count("\n") == 1
    return captured.err


@pytest.mark.parametrize("form", sweep(["parquet", "csv", "json"], "csv"))
def test_each_format_lands_and_is_written(form, landing, tmp_path, capsys) -> None:
    land(readings(0, 5), landing / f"a.{form}")
    land(readings(5, 8), landing / f"b.{form}")
    out = tmp_path / f"jams.{form}"
    agg = ["--agg", "slowest=min(speed)", "last=max(time)"]
    line = ["frames", str(landing), "--input-format", form, *STREAM, *agg, "--once", "--flush", "--out", str(out)]
    assert main(line) == 0
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"wrote 5 frames (16 rows, 0 late) to {out} in ")
    assert (out / f"flushed.{form}").exists()
    assert (out / ".checkpoint").is_dir()
    rows = rows_in(out)
    assert bounds(rows) == FOUND
    assert [float(row["slowest"]) for row in rows] == [30, 38, 20, 25, 27]
    begins, ends = DAWN + timedelta(minutes=1), DAWN + timedelta(minutes=3)
    if form == "parquet":
        assert (rows[0]["start"], rows[0]["last"]) == (begins, ends)
    else:
        assert rows[0]["start"] == begins.isoformat(timespec="microseconds")
        assert rows[0]["last"] == ends.isoformat(timespec="microseconds")


def test_a_later_run_goes_on_and_every_frame_is_there_once(landing, tmp_path, capsys) -> None:
    land(readings(0, 3), landing / "a.parquet")
    out = tmp_path / "jams"
    line = ["frames", str(landing), *STREAM, "--once", "--out", str(out)]
    assert main([*line, "--flush"]) == 0
    assert bounds(rows_in(out)) == [(7, 0, 2), (8, 0, 2)]
    assert main(line) == 0
    assert "wrote 0 frames (0 rows, 0 late)" in capsys.readouterr().err
    land(readings(3, 8), landing / "b.parquet")
    assert main(line) == 0
    assert "(10 rows, 0 late)" in capsys.readouterr().err
    assert bounds(rows_in(out)) == CLOSED
    assert main([*line, "--flush"]) == 0
    assert bounds(rows_in(out)) == FOUND
    capsys.readouterr()
    land(readings(7, 8), landing / "c.parquet")
    assert "use a new checkpoint" in refused([*line, "--max-gap", "1 hour"], capsys)
    (landing / "c.parquet").unlink()
    assert main([*line, "--max-gap", "1 hour", "--overwrite", "--flush"]) == 0
    assert bounds(rows_in(out)) == FOUND


def test_without_an_output_there_is_a_line_a_frame_and_nothing_is_kept(landing, tmp_path, capsys) -> None:
    land(readings(0, 8), landing / "a.parquet")
    assert main(["frames", str(landing), *STREAM, "--once", "--flush"]) == 0
    captured = capsys.readouterr()
    lines = [line.split("\t") for line in captured.out.splitlines()]
    names = ["detector", "frame", "start", "end", "closed_at", "count", "complete", "fragment", "final", "known_at"]
    assert lines[0] == names
    assert sorted((int(line[0]), int(line[1]), int(line[5])) for line in lines[1:]) == FOUND
    assert {line[2] for line in lines[1:]} >= {"2024-03-31 01:59:00", "2024-03-31 02:03:00"}
    assert captured.err.startswith("5 frames (16 rows, 0 late) in ")
    assert [path.name for path in tmp_path.iterdir()] == ["landing"]


def test_a_checkpoint_of_its_own_lets_a_run_without_output_go_on(landing, tmp_path, capsys) -> None:
    land(readings(0, 8), landing / "a.parquet")
    line = ["frames", str(landing), *STREAM, "--once", "--checkpoint", str(tmp_path / "state")]
    assert main(line) == 0
    assert len(capsys.readouterr().out.splitlines()) == 1 + len(CLOSED)
    (landing / "a.parquet").unlink()
    assert main(line) == 0, "the columns are saved, so processed files may be deleted"
    assert capsys.readouterr().out == "no frames\n"


def test_fragments_and_late_rows_come_along(landing, tmp_path, capsys) -> None:
    out = tmp_path / "jams"
    line = ["frames", str(landing), *STREAM, "--once", "--fragments", "--late", "emit", "--out", str(out)]
    land(readings(0, 4), landing / "a.parquet")
    assert "CSV cannot hold 'late'; write Parquet or JSON" in refused([*line, "--format", "csv"], capsys)
    assert not out.exists()
    assert main(line) == 0
    assert [row["final"] for row in rows_in(out)] == [False, True]
    land(readings(0, 1), landing / "late.parquet")
    land(readings(4, 8), landing / "rest.parquet")
    assert main([*line, "--flush"]) == 0
    assert "(10 rows, 2 late)" in capsys.readouterr().err
    rows = rows_in(out)
    late = [row["late"] for row in rows if row["late"]]
    assert [(row["detector"], row["time"]) for row in late] == [(7, DAWN), (8, DAWN)]
    pieces = [row for row in rows if not row["late"]]
    assert sum(row["final"] for row in pieces) == len(FOUND)
    assert sum(row["count"] for row in pieces) == sum(count for _, _, count in FOUND)


def test_rows_that_come_in_order_need_no_watermark_and_no_time(landing, tmp_path, capsys) -> None:
    land(readings(0, 8), landing / "a.parquet")
    line = ["frames", str(landing), "--stream", "--on", "cars", "--by", "detector", "--threshold", "speed < 40"]
    assert "--on: column 'cars' is of type bigint; --watermark requires a timestamp" in refused(
        [*line, "--watermark", "1 minute"], capsys
    )
    assert main([*line, "--ordered", "--once", "--out", str(tmp_path / "jams")]) == 0
    assert bounds(rows_in(tmp_path / "jams")) == CLOSED
    assert main([*line, "--ordered", "--explain"]) == 0
    assert capsys.readouterr().out.startswith("plan: stream")
    assert main([*line, "--delay", "2", "--fragments-every", "10", "--explain"]) == 0
    assert "newest row of their group (delay=2)" in capsys.readouterr().out


@pytest.mark.parametrize(
    "text",
    [
        "detector,time,speed,cars\n9,2024-03-31 02:20:00,fast,1\n",
        long("time,detector,speed,cars\n2024-03-31,9,1,1\n"),
    ],
)
def test_a_file_unlike_the_first_ones_stops_the_query(text, landing, tmp_path, capsys) -> None:
    land(readings(0, 4), landing / "a.csv")
    line = ["frames", str(landing), "--input-format", "csv", *STREAM, "--once", "--out", str(tmp_path / "jams")]
    assert main(line) == 0
    capsys.readouterr()
    (landing / "b.csv").write_text(text)
    assert "the input cannot be read" in refused(line, capsys)


def test_wrong_columns_leave_nothing_behind(landing, tmp_path, capsys) -> None:
    land(readings(0, 4), landing / "a.parquet")
    out = ["--out", str(tmp_path / "jams")]
    assert "no column named 'lane'" in refused(["frames", str(landing), *STREAM, "--by", "lane", *out], capsys)
    assert "--on: no column named 'at'" in refused(["frames", str(landing), *STREAM, "--on", "at", *out], capsys)
    assert [path.name for path in tmp_path.iterdir()] == ["landing"]


def started(line: list[str], until: Callable[[], bool]) -> subprocess.Popen[str]:
    """A process of its own, with its own Spark, that has come to a certain point."""
    command = [sys.executable, "-m", "windrow.cli.main", *line]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    while process.poll() is None and not until():
        time.sleep(0.05)
    return process


def interrupted(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """What a process says to Ctrl-C, which a terminal sends to all of the group."""
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate()
    return process.returncode, out, err


@pytest.mark.slow
@pytest.mark.long
def test_ctrl_c_ends_a_stream_and_the_same_command_resumes(landing, tmp_path, tune) -> None:
    tune(buckets=Tuning().buckets)  # as in the process that is interrupted
    land(readings(0, 5), landing / "a.parquet")
    out = tmp_path / "jams"
    line = ["frames", str(landing), *STREAM, "--out", str(out)]
    process = started(line, lambda: out.exists() and bool(rows_in(out)))
    code, output, message = interrupted(process)
    assert (code, output) == (0, "")
    assert message.startswith("stopped after ")
    assert message.endswith(f"; run the same command again to resume from {out / '.checkpoint'}\n")
    assert message.count("\n") == 1
    land(readings(5, 8), landing / "b.parquet")
    assert main([*line, "--once", "--flush"]) == 0
    assert bounds(rows_in(out)) == FOUND


@pytest.mark.long
def test_the_demo_of_a_stream_is_stopped_and_resumes_until_the_end_of_the_day(tmp_path, capsys) -> None:
    line = ["demo", "--stream", "--detectors", "8", "--seed", "5", "--out", str(tmp_path)]
    assert main([*line, "--every", "0.5", "--seconds", "6"]) == 0
    message = capsys.readouterr().err
    assert message.startswith("stopped after ")
    assert message.endswith(f" of 77 files; run the same command again to resume from {tmp_path / 'stream'}\n")
    assert 0 < len(list((tmp_path / "stream" / "landing").iterdir())) < 77
    assert main([*line, "--every", "0"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    assert "jam is" in captured.out  # whether one is seen to grow depends on how the files fall into batches
    assert "a plain loop over the rows finds the same frames" in captured.out
    assert f"all jams are in {tmp_path / 'stream' / 'jams.csv'}" in captured.out
    with (tmp_path / "stream" / "jams.csv").open() as file:
        assert len(list(csv.DictReader(file))) == len(jams_by_loop(traffic_day(8, 5).table)) > 0


def test_a_row_from_the_future_is_held_back(landing, tmp_path, capsys) -> None:
    future = readings(0, 1).slice(0, 1)
    at = future.schema.get_field_index("time")
    future = future.set_column(at, "time", pa.array([datetime(9999, 12, 1)], pa.timestamp("us")))
    for i, part in enumerate([pa.concat_tables([readings(0, 3), future]), readings(3, 5), readings(5, 8)]):
        land(part, landing / f"{i}.parquet")
        os.utime(landing / f"{i}.parquet", (1_600_000_000 + i, 1_600_000_000 + i))
    line = ["frames", str(landing), *STREAM, "--once", "--flush", "--out"]
    assert main([*line, str(tmp_path / "guarded")]) == 0
    assert "(16 rows, 0 late, 1 held back from the future)" in capsys.readouterr().err
    assert bounds(rows_in(tmp_path / "guarded")) == FOUND
