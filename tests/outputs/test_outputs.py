"""Where commands write: never over an input, never over what they did not write, and whole whenever they are killed."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from windrow.cli.main import main
from windrow.errors import OutputError
from windrow.outputs import Target, check_apart
from windrow.outputs import own as own_module
from windrow.outputs import target as target_module
from windrow.outputs.own import columns_of, table_file, table_folder
from windrow.spark.resolve.frames import FRAME_COLUMNS

FRAMES = {name: [0, 1] for name in FRAME_COLUMNS}
PART = "part-00000-0e7e1b5f-6c0a-4b1e-9a53-0d7c4f7a3b11-c000"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in: data/ with two days and a note, a link to it, and an empty folder."""
    monkeypatch.chdir(tmp_path)
    Path("data", "day=2").mkdir(parents=True)
    for name in ("data/in.parquet", "data/day=2/in.parquet", "data/precious.txt", "single.csv"):
        Path(name).write_text("mine")
    Path("link").symlink_to("data")
    Path("elsewhere").mkdir()
    Path("elsewhere", "part.csv").write_text("mine")
    Path("linked").mkdir()
    Path("linked", "part.csv").symlink_to("../elsewhere/part.csv")
    Path("linked", "again").symlink_to("../linked")
    os.link("single.csv", "second-name.csv")
    return tmp_path


@pytest.mark.parametrize(
    ("out", "source", "relation"),
    [
        ("data", "data", "is"),
        ("data/", "data", "is"),
        ("data/.", "./data/../data/", "is"),
        ("link", "data", "is"),
        ("data", "link", "is"),
        ("second-name.csv", "single.csv", "is"),
        ("data", "file:{here}/data", "is"),
        ("data", "file://{here}/data", "is"),
        ("file:{here}/data", "data", "is"),
        ("data", "data/in.parquet", "contains"),
        ("link", "data/in.parquet", "contains"),
        (".", "data/in.parquet", "contains"),
        ("data/../../{name}", "data", "contains"),
        ("data", "data/*.parquet", "contains"),
        ("data", "data/{in,out}.parquet", "contains"),
        ("data", "data/i[^x].parquet", "contains"),
        ("elsewhere", "linked", "contains"),
        ("data/frames", "data", "lies inside"),
        ("link/frames.csv", "data", "lies inside"),
        ("data/frames", "link", "lies inside"),
        ("data/day=2/frames", "data/day=*", "lies inside"),
        ("elsewhere/part.csv", "linked", "is"),
        ("data/frames.parquet", "data/*.parquet", "matches"),
        ("data/day=3/x/frames", "data/day=*", "matches"),
        ("link/b.csv", "data/{a,b}.csv", "matches"),
    ],
)
def test_an_output_that_shares_anything_with_an_input_is_refused(
    here: Path, out: str, source: str, relation: str
) -> None:
    out, source = (text.replace("{here}", str(here)).replace("{name}", here.name) for text in (out, source))
    with pytest.raises(OutputError, match=rf"--out: .* {relation} the input .*; choose another path"):
        Target.of(out, table_folder(["frame"]), overwrite=True, inputs=["elsewhere/none.csv", source])


@pytest.mark.parametrize(
    ("out", "source"),
    [
        ("frames", "data"),
        ("data/frames.csv", "data/in.parquet"),
        ("data/frames.csv", "data/*.parquet"),
        ("data-2", "data"),
        ("data/frames", "data/day=*"),
        ("data", "s3a://bucket/data"),
    ],
)
def test_an_output_apart_from_the_input_is_accepted(here: Path, out: str, source: str) -> None:
    check_apart("--out", out, Path(out), [source])


def write(path: Path, columns: dict[str, list[int]]) -> Path:
    """Write a table in the format of its name."""
    path.parent.mkdir(exist_ok=True, parents=True)
    rows = list(zip(*columns.values(), strict=True))
    if path.suffix == ".parquet":
        pq.write_table(pa.table(columns), path)
    elif path.suffix == ".csv":
        path.write_text("\n".join(",".join(map(str, row)) for row in [tuple(columns), *rows]) + "\n")
    else:
        path.write_text("".join(pa.table(columns).slice(i, 1).to_pandas().to_json(orient="records")[1:-1] + "\n"
                                for i in range(len(rows))))  # fmt: skip
    return path


@pytest.mark.parametrize("suffix", ["parquet", "csv", "json"])
def test_only_a_table_with_the_columns_of_the_command_is_its_own(tmp_path: Path, suffix: str) -> None:
    own = table_file(FRAME_COLUMNS)
    path = write(tmp_path / f"frames.{suffix}", FRAMES | {"cars": [3, 4]})
    assert columns_of(path) == [*FRAME_COLUMNS, "cars"]
    assert own(path) is None
    loops = write(tmp_path / f"loops.{suffix}", {"frame": [1], "x": [2]})
    assert own(loops) == "expected the columns 'start', 'end', 'closed_at' and 2 more, got 'frame', 'x'"
    path.write_bytes(b"PAR1 and then something else")
    assert own(path) == "it is not a Parquet, CSV or JSON file with columns"
    path.write_bytes(b"\x89PNG\r\n\x1a\n\0")
    assert own(path) == "it is not a Parquet, CSV or JSON file with columns"
    path.write_bytes(b"{}\n")
    assert own(path) == "expected the columns 'frame', 'start', 'end' and 3 more, got none"
    path.write_bytes(b"")
    assert own(path) is None
    assert own(tmp_path) == "it is a folder"


def test_columns_are_recognised_in_letters_of_any_case(tmp_path: Path) -> None:
    path = write(tmp_path / "tagged.csv", {"At": [1], "frame": [0]})
    assert table_file(["frame", "at"])(path) is None


def results(folder: Path) -> Path:
    """A folder as Spark writes it."""
    write(folder / f"{PART}.snappy.parquet", FRAMES)
    for name in ("_SUCCESS", "._SUCCESS.crc", f".{PART}.snappy.parquet.crc"):
        (folder / name).touch()
    return folder


def stream_results(folder: Path) -> Path:
    """A folder as a stream leaves it when it is killed."""
    write(folder / "batch-00000003.csv", FRAMES)
    write(folder / "flushed.csv", FRAMES)
    (folder / ".batch-00000004.tmp" / "_temporary").mkdir(parents=True)
    for name in ("metadata", "offsets", "commits", "sources", "state", "columns.json"):
        (folder / ".checkpoint" / name).mkdir(parents=True)
    return folder


@pytest.mark.parametrize("make", [results, stream_results])
def test_only_a_folder_with_nothing_but_results_is_its_own(tmp_path: Path, make) -> None:
    own, folder = table_folder(FRAME_COLUMNS), make(tmp_path / "jams")
    assert own(folder) is None
    for name in ("precious.txt", "part-1.txt", ".git/config", "_delta_log/0.json", "year=2026/x.csv"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).touch()
        assert repr(name.partition("/")[0]) in own(folder)
        (folder / name).unlink()
        if "/" in name:
            (folder / name).parent.rmdir()
    assert own(folder) is None
    write(folder / f"{PART.replace('0000-', '0001-')}.parquet", {"loop": [1]})
    assert "expected the columns" in own(folder)
    assert own(tmp_path / "jams" / "flushed.csv") in ("it is a file", "it is not a folder")


def test_what_appears_while_a_command_runs_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "jams.csv"
    for overwrite, said in ((False, "was created while this command ran"), (True, "cannot have written it")):
        path.unlink(missing_ok=True)
        target = Target.of(path, table_file(FRAME_COLUMNS), overwrite=overwrite).check()
        with pytest.raises(OutputError, match=said), target.writing() as new:  # noqa: PT012
            write(new, FRAMES)
            path.write_text("precious")
        assert path.read_text() == "precious"
        folder = tmp_path / f"jams-{overwrite}"
        target = Target.of(folder, table_folder(FRAME_COLUMNS), overwrite=overwrite).check()
        with pytest.raises(OutputError, match=said), target.writing() as new:  # noqa: PT012
            results(new)
            folder.mkdir()
            (folder / "precious").touch()
        assert [each.name for each in folder.iterdir()] == ["precious"]
    assert not list(tmp_path.glob(".*"))


def test_what_is_added_to_an_output_at_the_last_moment_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = results(tmp_path / "jams")
    target = Target.of(folder, table_folder(FRAME_COLUMNS), overwrite=True).check()
    real = target_module.exchange

    def late(one: Path, other: Path) -> bool:
        (folder / "precious").touch()
        monkeypatch.setattr(target_module, "exchange", real)
        return real(one, other)

    monkeypatch.setattr(target_module, "exchange", late)
    with pytest.raises(OutputError, match="'precious'"), target.writing() as new:
        results(new)
    assert (folder / "precious").exists()


def test_a_folder_that_another_command_replaces_meanwhile_is_looked_at_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, other = results(tmp_path / "jams"), results(tmp_path / "other")
    (other / f"{PART}.snappy.parquet").rename(other / f"{PART.replace('0e7e', '1f8f')}.snappy.parquet")
    real = own_module.columns_of

    def replaced(path: Path) -> list[str] | None:
        monkeypatch.setattr(own_module, "columns_of", real)
        shutil.rmtree(folder)
        other.rename(folder)
        return real(path)

    monkeypatch.setattr(own_module, "columns_of", replaced)
    with Target.of(folder, table_folder(FRAME_COLUMNS), overwrite=True).check().writing() as new:
        results(new)
    assert [path.name for path in folder.glob("part-*")] == [f"{PART}.snappy.parquet"]


def test_a_new_output_has_the_permissions_of_the_one_that_it_replaces(tmp_path: Path) -> None:
    file, folder = write(tmp_path / "jams.csv", FRAMES), results(tmp_path / "jams")
    file.chmod(0o640)
    folder.chmod(0o750)
    with Target.of(file, table_file(FRAME_COLUMNS), overwrite=True).check().writing() as new:
        write(new, FRAMES)
    with Target.of(folder, table_folder(FRAME_COLUMNS), overwrite=True).check().writing() as new:
        results(new)
    assert [oct(path.stat().st_mode & 0o777) for path in (file, folder)] == ["0o640", "0o750"]


def test_a_link_is_followed_and_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "jams.csv").symlink_to("disk/jams.csv")
    for n in (1, 2):
        with Target.of(tmp_path / "jams.csv", table_file(["frame"]), overwrite=True).check().writing() as new:
            write(new, {"frame": [n]})
    assert (tmp_path / "jams.csv").is_symlink()
    assert (tmp_path / "disk" / "jams.csv").read_text() == "frame\n2\n"


@pytest.mark.parametrize("name", ["", "a\0b", "s3a://bucket/jams", "none/jams", "x" * 5000])
def test_a_place_that_cannot_be_is_an_output_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(OutputError, match=r"^--out: "):
        Target.of(name, table_file(["frame"])).check()


@pytest.mark.parametrize("line", [["advise", "sum(x)", "--retention", "9", "--slide", "3", "--plot", ".png"],
                                  ["study", "accuracy", "--out", ".csv"], ["calibrate", "--out", ".json"]])  # fmt: skip
@pytest.mark.usefixtures("no_spark", "here")
def test_a_suffix_alone_is_not_a_name(line: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(line) == 2
    assert f"expected a name that ends in {line[-1]}" in capsys.readouterr().err


def test_a_long_name_leaves_room_for_the_folder_next_to_it(tmp_path: Path) -> None:
    path = tmp_path / ("ü" * 120 + ".csv")
    with Target.of(path, table_file(["frame"])).check().writing() as new:
        write(new, {"frame": [1]})
    assert columns_of(path) == ["frame"]


WRITER = """
import sys
from pathlib import Path
from windrow.outputs import Target, target
from windrow.outputs.own import table_file, table_folder

path, kind, exchange = sys.argv[1:]
if exchange == "no":
    target.exchange = lambda *_: False
own = table_folder(["frame"]) if kind == "folder" else table_file(["frame"])
n = 0
while True:
    n += 1
    with Target.of(path, own, overwrite=True).check().writing() as new:
        text = f"frame\\n{n}\\n" * 50
        if kind == "file":
            new.write_text(text)
        else:
            new.mkdir()
            for i in range(5):
                (new / f"batch-{i:08}.csv").write_text(text)
    if n == 1:
        print("ready", flush=True)
"""


@pytest.mark.parametrize(("kind", "exchange"), [("file", "yes"), ("folder", "yes"), ("folder", "no")])
def test_a_kill_at_any_moment_leaves_the_old_or_the_new_output(tmp_path: Path, kind: str, exchange: str) -> None:
    path, rng = tmp_path / "jams", random.Random(5)
    for _ in range(12):
        line = [sys.executable, "-c", WRITER, str(path), kind, exchange]
        with subprocess.Popen(line, stdout=subprocess.PIPE, text=True) as writer:
            assert writer.stdout is not None
            assert writer.stdout.readline() == "ready\n"
            time.sleep(rng.uniform(0, 0.03))
            writer.send_signal(signal.SIGKILL)
        if exchange == "no":
            own = table_folder(["frame"])
            Target.of(path, own, overwrite=True).check()
        files = [path] if kind == "file" else sorted(path.iterdir())
        assert len(files) == (1 if kind == "file" else 5)
        assert len({file.read_text() for file in files}) == 1
        assert len(set(files[0].read_text().split())) == 2
    own = table_file(["frame"]) if kind == "file" else table_folder(["frame"])
    Target.of(path, own, overwrite=True).check()
    left = [entry for entry in tmp_path.iterdir() if entry != path and any(entry.iterdir())]
    assert left == []


@pytest.fixture
def no_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("Spark was started")

    for module in ("cli.commands.frames", "cli.commands.fill", "cli.commands.stream", "demo.run", "demo.stream"):
        monkeypatch.setattr(f"windrow.{module}.quiet_session", refuse)


ON = ["--on", "t", "--gap", "5"]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (["frames", "data/in.parquet", *ON, "--out", "data"], "--out: data contains the input data/in.parquet"),
        (["frames", "data/in.parquet", *ON, "--out", "data/in.parquet"], "is the input data/in.parquet"),
        (["frames", "data", *ON, "--out", "link/x.csv"], "--out: link/x.csv lies inside the input data"),
        (["frames", "single.csv", *ON, "--out", "data"], "cannot have written it: it contains 'day=2', 'in.parquet'"),
        (["frames", "data", *ON, "--out", "single.csv"], "cannot have written it: expected the columns 'frame',"),
        (["fill", "single.csv", "data", "--on", "t", "--out", "single.csv"], "is the input single.csv"),
        (["fill", "single.csv", "data", "--on", "t", "--out", "data"], "is the input data"),
        (["fill", "single.csv", "data", "--on", "t", "--out", "other.csv"],
         "expected the columns 'frame', 't', got 'mine'"),
        (["fill", "single.csv", "data", "--on", "t", "--out", "jams.csv"], "expected the column 't', got 'frame'"),
        (["fill", "single.csv", "data", "--on", "t", "--by", "g", "--agg", "n=count()", "--out", "film.csv"],
         "expected the columns 'g', 'start', 'end', got 'frame', 'picture'"),
        (["frames", "data", *ON, "--stream", "--ordered", "--out", "elsewhere"], "it contains 'part.csv'"),
        (["frames", "data", *ON, "--stream", "--ordered", "--out", "new", "--checkpoint", "elsewhere"],
         "--checkpoint: elsewhere contains 'part.csv', which is not part of a checkpoint"),
        (["frames", "data", *ON, "--stream", "--ordered", "--out", "new", "--checkpoint", "new/state"],
         "--checkpoint: new/state is inside --out new and would be read as data"),
        (["frames", "data", *ON, "--stream", "--ordered", "--out", "elsewhere/jams", "--checkpoint", "elsewhere"],
         "--checkpoint: elsewhere is or contains --out elsewhere/jams"),
        (["study", "accuracy", "--out", "single.csv"], "cannot have written it: expected the columns 'table', 'data'"),
        (["study", "design-space", "--out", "other.csv"], "cannot have written it: expected the columns 'part'"),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("no_spark")
def test_every_command_refuses_to_replace_what_it_has_not_written(
    here: Path, line: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("other.csv").write_text("mine\n1\n")
    Path("film.csv").write_text("frame,picture\n0,0.png\n")
    write(Path("jams.csv"), FRAMES)
    before = {path: path.read_bytes() for path in here.rglob("*") if path.is_file()}
    assert main([*line, "--overwrite"]) == 2
    message = capsys.readouterr().err
    assert said in message
    assert message.count("\n") == 1
    assert {path: path.read_bytes() for path in here.rglob("*") if path.is_file()} == before


ADVISE = ["advise", "sum(x)", "--retention", "100", "--slide", "10", "--plot"]


@pytest.mark.parametrize(
    ("line", "name", "content", "said"),
    [
        ([*ADVISE, "photo.png"], "photo.png", b"\x89PNG\r\n\x1a\n holiday", "it is not a PNG picture drawn by Windrow"),
        ([*ADVISE, "photo.svg"], "photo.svg", b"<?xml?><svg/>", "it is not a SVG picture drawn by Windrow"),
        (["calibrate", "--out", "config.json"], "config.json", b'{"a": 1}', "it is not a model"),
        (["calibrate", "--out", "new.json", "--fresh"], "new.quick.jsonl", b'{"a": 1}\n', "expected a measurement"),
        (["demo", "--out", "."], "jams.csv", b"a,b\n1,2\n", "cannot have written it: expected the columns 'frame'"),
        (["demo", "--out", "."], "dye.png", b"\x89PNG\r\n\x1a\n holiday", "it is not a PNG picture drawn by Windrow"),
        (["demo", "--out", "."], "tow.parquet", b"mine", "cannot have written it"),
        (
            ["demo", "--stream", "--out", "."],
            "stream/jams.csv",
            b"a,b\n1,2\n",
            "contains 'jams.csv', which the demo did not write",
        ),
        (["demo", "--stream", "--out", "."], "stream/day.json", b"[]", "was not written by the demo"),
    ],
)
@pytest.mark.usefixtures("no_spark")
def test_files_that_are_replaced_without_asking_are_recognised_first(
    here: Path, line: list[str], name: str, content: bytes, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path(name).parent.mkdir(exist_ok=True)
    Path(name).write_bytes(content)
    assert main(line) == 2
    assert said in capsys.readouterr().err
    assert Path(name).read_bytes() == content


def test_a_picture_of_ours_is_replaced(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for kind in ("png", "svg", "pdf"):
        for _ in range(2):
            assert main([*ADVISE, str(tmp_path / f"advice.{kind}")]) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["advice.pdf", "advice.png", "advice.svg"]


def test_a_stream_demo_does_not_remove_what_was_put_into_its_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    columns = ["detectorid", *FRAME_COLUMNS, "slowest", "average", "cars"]
    folder = tmp_path / "stream"
    write(folder / "jams.csv", {name: [1] for name in columns})
    (folder / "landing").mkdir()
    (folder / "landing" / "precious.txt").touch()
    assert main(["demo", "--stream", "--out", str(tmp_path)]) == 2
    assert "contains 'landing/precious.txt', which the demo did not write" in capsys.readouterr().err
    assert (folder / "landing" / "precious.txt").exists()
