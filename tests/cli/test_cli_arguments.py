"""What the command line accepts and refuses before it starts Spark."""

import argparse
import os
import signal
import time
from pathlib import Path

import pytest

import windrow as wr
from windrow.cli.main import main, make_parser
from windrow.cli.options.files import Output, check_input, format_of
from windrow.cli.options.schemes import make_scheme
from windrow.cli.options.texts import aggregates_of, column_names
from windrow.errors import ColumnError, OutputError, SourceError, SpecError
from windrow.framing.schemes.text import as_comparison, as_grid
from windrow.rows.text import as_duration

FRAMES = ["frames", "loops.parquet", "--on", "t"]
ORDERED = ["--gap", "5", "--stream", "--ordered"]


def scheme_of(*options: str) -> wr.Scheme:
    return make_scheme(make_parser("frames").parse_args([*FRAMES, *options]))


@pytest.fixture
def no_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    """Starting Spark is a failure of the test."""

    def refuse(*_: object) -> None:
        raise AssertionError("Spark was started")

    monkeypatch.setattr("windrow.cli.commands.frames.quiet_session", refuse)
    monkeypatch.setattr("windrow.cli.commands.fill.quiet_session", refuse)
    monkeypatch.setattr("windrow.cli.commands.slide.quiet_session", refuse)
    monkeypatch.setattr("windrow.cli.commands.stream.quiet_session", refuse)
    monkeypatch.setattr("windrow.demo.stream.quiet_session", refuse)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--threshold", "speed < 40"], wr.Threshold("speed < 40")),
        (
            ["--threshold", "speed < 40", "--min-count", "3", "--min-duration", "3 minutes", "--nulls", "skip"],
            wr.Threshold("speed < 40", min_count=3, min_duration="3 minutes", nulls="skip"),
        ),
        (
            ["--threshold", "x > 2", "--close", "x < 1", "--segments", "--max-gap", "5"],
            wr.Threshold("x > 2", close="x < 1", segments=True, max_gap=5),
        ),
        (["--boundary", "x=10,y=0:5:20"], wr.Boundary({"x": 10.0, "y": [0, 5, 20]})),
        (["--boundary", "x=5:"], wr.Boundary({"x": [5]})),
        (["--double-boundary", "x=10"], wr.DoubleBoundary({"x": 10})),
        (["--change", "state, gear"], wr.Change(["state", "gear"])),
        (["--change", "state", "--ignore", "OFF, 0"], wr.Change("state", ignore=["OFF", "0"])),
        (["--delta", "dye=0.05"], wr.Delta({"dye": 0.05})),
        (
            ["--delta", "a=1, b=2", "--op", ">", "--reference", "first"],
            wr.Delta({"a": 1, "b": 2}, op=">", reference="first"),
        ),
        (["--aggregate", "sum(volume) > 100"], wr.Aggregate(wr.sum("volume"), ">", 100)),
        (["--aggregate", "count()>=5", "--max-gap", "1 hour"], wr.Aggregate(wr.count(), ">=", 5, max_gap="1 hour")),
        (["--gap", "30 minutes"], wr.Gap("30 minutes")),
        (["--gap", "2.5"], wr.Gap(2.5)),
        (
            ["--double-boundary", "x=5", "--min-count", "3", "--max-count", "9"],
            wr.DoubleBoundary({"x": 5}, min_count=3, max_count=9),
        ),
        (
            ["--threshold", "x > 1", "--delta", "x=2", "--op", "<", "--min-count", "3", "--nulls", "break"],
            wr.Delta({"x": 2}, op="<", min_count=3, nulls="break") & wr.Threshold("x > 1", min_count=3, nulls="break"),
        ),
    ],
)
def test_options_make_the_scheme_they_describe(options: list[str], expected: wr.Scheme) -> None:
    assert scheme_of(*options) == expected


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (
            ["--double-boundary", "x=5", "--min-count", "3", "--max-duration", "5"],
            "max_duration: expected None with min_count on DoubleBoundary, which takes only min_count together with "
            "max_count, got 5",
        ),
        ([], "expected at least one scheme: --aggregate, --boundary"),
        (["--delta", "x=1", "--double-boundary", "x=1"], "&: expected schemes whose frames are maximal"),
        (["--delta", "x=1", "--gap", "5", "--segments"], "cannot be used with --delta and --gap"),
        (["--gap", "5", "--max-count", "2", "--min-count", "3"], "min_count: expected at most max_count=2, got 3"),
        (["--threshold", "x > 1", "--op", "<"], "--op is an option of --delta and cannot be used with --threshold"),
        (["--delta", "x=1", "--segments"], "--segments is an option of --threshold and cannot be used with --delta"),
        (["--boundary", "x"], "--boundary: expected NAME=VALUE, e.g. 'x=10,y=0:5:20'; got 'x'"),
        (["--boundary", "x=1,x=2"], "column 'x' is given twice"),
        (
            ["--boundary", "x=wide"],
            "--boundary: width of 'x': expected a number such as 0.5, got 'wide'",
        ),
        (["--boundary", "x=1,y=0:b"], "--boundary: break point of 'y': expected a number such as 0.5, got 'b'"),
        (["--double-boundary", "x=a"], "--double-boundary: width of 'x'"),
        (["--delta", "x=a"], "--delta: limit of 'x': expected a number such as 0.5, got 'a'"),
        (["--aggregate", "sum(x) > a"], "--aggregate: limit of 'sum(x) > a': expected a number such as 0.5, got 'a'"),
        (["--aggregate", "sum(*) > 1"], "only count accepts '*'"),
        (["--boundary", "x=5:1"], "in increasing order"),
        (["--delta", "x=-1"], "limit of 'x': no frame can move by <= -1.0"),
        (
            ["--aggregate", "volume > 100"],
            "--aggregate: expected a condition on an aggregate, e.g. 'sum(volume) > 100'; got 'volume > 100'",
        ),
        (["--aggregate", "medium(x) > 1"], "unknown aggregate 'medium'; available: center_of_mass, correlation"),
        (["--aggregate", "median(x) > 1"], "median('x') cannot be compared with a limit row by row"),
        (["--aggregate", "rank(x) > 1"], "--aggregate: rank takes a column and value, e.g. 'rank(x, 1)'"),
        (["--aggregate", "rank(x, fast) > 1"], "--aggregate: expected a number, e.g. 'rank(x, 1)'; got 'fast'"),
        (["--aggregate", "slope(x) > 1"], "slope takes a column and other, e.g. 'slope(x, y)'"),
        (["--aggregate", "sum() > 1"], "sum() requires a column, e.g. 'sum(x)'"),
        (["--gap", "soon"], "got 'soon'"),
        (["--gap", "-5"], "gap: expected a finite duration of zero or more, got -5"),
        (["--gap", "2 months"], "no fixed length"),
        (["--threshold", "speed <"], "cannot be parsed"),
        (["--threshold", ""], "is empty"),
        (["--threshold", "x > 1", "--min-count", "0"], "min_count: expected an integer from 1 to 2**63 - 1, got 0"),
        (
            ["--threshold", "x > 1", "--nulls", "ignore"],
            "nulls: expected one of false, skip, break, error, got 'ignore'",
        ),
        (["--delta", "x=1", "--nulls", "false"], "nulls: expected one of skip, break, error, got 'false'"),
        (
            ["--threshold", "x > 1", "--agg", "fast"],
            "--agg: expected NAME=FUNCTION(COLUMN), e.g. 'slowest=min(speed)'; got 'fast'",
        ),
        (["--threshold", "x > 1", "--agg", "a=min(x)", "a=max(x)"], "two results are named 'a'"),
        (["--threshold", "x > 1", "--by", "a,,b"], "--by: empty column name in 'a,,b'"),
        (["--threshold", "x > 1", "--limit", "0"], "--limit: expected at least 1 row, got 0"),
        (["--threshold", "x > 1", "--overwrite"], "--overwrite requires --out"),
        (["--threshold", "x > 1", "--format", "csv"], "--format requires --out"),
        (["--gap", "5", "--watermark", "10 seconds"], "--watermark requires --stream"),
        (["--gap", "5", "--ordered"], "--ordered requires --stream"),
        (["--gap", "5", "--late", "drop"], "--late requires --stream"),
        (["--gap", "5", "--once"], "--once requires --stream"),
        (["--gap", "5", "--stream"], "--stream requires --watermark, which limits how far rows may be out of order"),
        ([*ORDERED, "--watermark", "1 hour"], "--watermark: '1 hour' has no effect with --ordered"),
        (["--gap", "5", "--ahead", "1 hour"], "--ahead requires --stream"),
        ([*ORDERED, "--ahead", "1 hour"], "--ahead: '1 hour' has no effect with --ordered"),
        (["--gap", "5", "--stream", "--watermark", "1 hour", "--ahead", "soon"], "or '1 hour 30 minutes', got 'soon'"),
        (
            ["--gap", "5", "--stream", "--watermark", "1 hour", "--ahead=-1 hour"],
            "--ahead: '-1 hour' is negative",
        ),
        (["--gap", "5", "--delay", "10"], "--delay requires --stream"),
        (["--gap", "5", "--fragments-every", "10"], "--fragments-every requires --stream"),
        ([*ORDERED, "--idle", "1 minute", "--once"], "--idle: '1 minute' has no effect with --once"),
        (["--gap", "5", "--stream", "--watermark", "1 hour", "--idle", "1 hour"], "requires --delay or --ordered"),
        ([*ORDERED, "--delay", "10"], "--delay: '10' has no effect with --ordered"),
        (["--gap", "5", "--stream", "--watermark", "1 hour", "--delay", "10"], "no effect with --watermark"),
        (["--gap", "5", "--stream", "--watermark", "soon"], "--watermark: expected a duration of fixed length"),
        (["--gap", "5", "--stream", "--watermark", "10"], "or '1 hour 30 minutes', got '10'"),
        (["--gap", "5", "--stream", "--watermark", "2 months"], "--watermark: '2 months': a month has no fixed length"),
        (["--gap", "5", "--stream", "--watermark=-1 hour"], "--watermark: '-1 hour' is negative"),
        ([*ORDERED, "--flush"], "--flush requires --once"),
        ([*ORDERED, "--plan", "native"], "--plan: 'native' is for tables"),
        ([*ORDERED, "--limit", "0"], "--limit: expected at least 1 row, got 0"),
        ([*ORDERED, "--overwrite"], "--overwrite requires --out"),
        (ORDERED, "the folder contains no file yet, so columns and types are unknown"),
    ],
)
@pytest.mark.usefixtures("no_spark")
def test_a_wrong_option_is_one_line_and_exit_code_2(
    options: list[str], expected: str, tmp_path: object, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["frames", str(tmp_path), "--on", "t", *options]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("windrow: error: ")
    assert captured.err.count("\n") == 1
    assert expected in captured.err


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ([], "COMMAND"),
        (["frame"], "invalid choice: 'frame'"),
        (["frames", "loops.parquet", "--gap", "5"], "--on"),
        ([*FRAMES, "--gap", "5", "--plan", "magic"], "invalid choice: 'magic'"),
        ([*FRAMES, "--gap", "5", "--thresh", "x > 1"], "unrecognized arguments"),
        (["fill", "jams.csv", "--on", "t"], "INPUT"),
        (["demo", "--detectors", "many"], "invalid int value"),
        (["demo", "--every", "2"], "--every requires --stream"),
        (["demo", "--stream", "--seconds", "-1"], "--seconds: expected a number of seconds of at least 0, got -1"),
        ([*FRAMES, *ORDERED, "--late", "keep"], "invalid choice: 'keep'"),
    ],
)
def test_usage_errors_are_one_line_too(line: list[str], expected: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(line) == 2
    captured = capsys.readouterr()
    assert expected in captured.err
    assert captured.err.startswith("windrow: error: ")
    assert captured.err.count("\n") == 1


def test_help_and_version_succeed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("windrow ")
    assert main(["frames", "--help"]) == 0
    output = " ".join(capsys.readouterr().out.split())
    assert "Custom schemes, written in Python" in output
    for option in (
        "--threshold",
        "--boundary",
        "--double-boundary",
        "--change",
        "--delta",
        "--aggregate",
        "--gap",
        "--explain",
    ):
        assert option in output


@pytest.mark.usefixtures("no_spark")
def test_a_missing_input_is_refused_before_spark_starts(tmp_path: object, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["frames", f"{tmp_path}/none.csv", "--on", "t", "--gap", "5"]) == 2
    assert "none.csv: no such file or folder" in capsys.readouterr().err
    assert main(["fill", f"{tmp_path}/none.csv", str(tmp_path), "--on", "t"]) == 2
    assert "none.csv: no such file or folder" in capsys.readouterr().err


@pytest.mark.usefixtures("no_spark")
def test_an_existing_output_is_refused_before_spark_starts(
    tmp_path: object, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["frames", str(tmp_path), "--on", "t", "--gap", "5", "--out", str(tmp_path)]) == 2
    assert f"--out: {tmp_path} is the input {tmp_path}; choose another path" in capsys.readouterr().err
    assert main(["frames", f"{tmp_path}/*.csv", "--on", "t", "--gap", "5", "--out", str(tmp_path)]) == 2
    assert "already exists; use --overwrite to replace it" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--window", ""], "--window: expected a window, e.g. '1 hour every 1 minute'; got ''"),
        (["--window", "1 hour every 10 rows"], "--window: expected length and step both in time or both in rows"),
        (["--window", "soon"], "got 'soon'"),
        (["--window", "5 rows every 10 rows"], "every=10 is greater than n=5"),
        (["--window", "5", "--using", "Magic"], "using: unknown synopsis 'Magic'; available: ArasuMankuFixed"),
        (["--window", "5", "--eps", "0.1"], "--eps requires --using"),
        (["--window", "5", "--import", "absent.py"], "--import: cannot import 'absent.py': FileNotFoundError"),
    ],
)
@pytest.mark.usefixtures("no_spark")
def test_a_wrong_window_is_one_line_and_exit_code_2(
    options: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["slide", str(tmp_path), "--on", "t", "--agg", "n=count()", *options]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert message in error


@pytest.fixture
def landing(tmp_path: Path) -> Path:
    """A folder in which a file has landed."""
    folder = tmp_path / "landing"
    folder.mkdir()
    (folder / "a.parquet").touch()
    return folder


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--out", "file"], "--out: file is a file; a stream is written to a folder"),
        (["--out", "other"], "has no run to resume; use --overwrite to replace it"),
        (["--out", "none/jams"], "--out: none/jams: there is no folder"),
        (["--out", "s3a://bucket/jams"], "on this machine"),
        (["--out", "landing/jams"], "--out: landing/jams lies inside the input landing; choose another path"),
        (["--out", ".", "--overwrite"], "--out: . contains the input landing; choose another path"),
        (["--out", "other", "--overwrite"], "cannot have written it: it contains 'mine'; choose another path"),
        (["--checkpoint", "landing"], "--checkpoint: "),
        (["--checkpoint", "file"], "--checkpoint: expected a folder on this machine, got file"),
        (["--checkpoint", "none/state"], "--checkpoint: none/state: folder"),
        (["--out", "new", "--overwrite", "--checkpoint", "earlier"], "--overwrite starts over, but --checkpoint"),
    ],
)
@pytest.mark.usefixtures("no_spark")
def test_a_place_that_is_unfit_for_a_stream_is_refused_before_spark_starts(
    options: list[str],
    expected: str,
    landing: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(landing.parent)
    Path("file").touch()
    for folder, inside in (("other", "mine"), ("earlier", "metadata")):
        Path(folder).mkdir()
        Path(folder, inside).touch()
    assert main(["frames", "landing", "--on", "t", *ORDERED, *options]) == 2
    output = capsys.readouterr().err
    assert expected in output
    assert output.count("\n") == 1
    assert Path("other", "mine").exists()


@pytest.mark.usefixtures("no_spark")
def test_a_stream_wants_a_folder(landing: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["frames", str(landing / "a.parquet"), "--on", "t", *ORDERED]) == 2
    assert "is a file; --stream expects the folder in which files land" in capsys.readouterr().err


@pytest.mark.usefixtures("no_spark")
def test_the_rest_of_another_day_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "stream").mkdir()
    (tmp_path / "stream" / "day.json").write_text('{"detectors": 12, "seed": 3}')
    assert main(["demo", "--stream", "--detectors", "8", "--out", str(tmp_path)]) == 2
    assert "contains a day that was started with --detectors 12 --seed 3; repeat these" in capsys.readouterr().err


def test_outputs_are_checked() -> None:
    with pytest.raises(OutputError, match="there is no folder"):
        Output.of("/no/such/folder/jams.csv", None, overwrite=False)
    with pytest.raises(OutputError, match="on this machine"):
        Output.of("s3a://bucket/jams", None, overwrite=False)


@pytest.mark.parametrize(
    ("path", "given", "form"),
    [
        ("a.parquet", None, "parquet"), ("a.CSV", None, "csv"), ("a.jsonl", None, "json"), ("a.json.gz", None, "json"),
        ("folder/", None, "parquet"), ("folder.csv/", None, "csv"), ("a.csv", "json", "json"),
        ("s3a://b/a.csv", None, "csv"),
    ],
)  # fmt: skip
def test_formats_are_told_by_name_unless_said(path: str, given: str | None, form: str) -> None:
    assert format_of(path, given) == form


def test_a_file_whose_name_tells_nothing_needs_a_format(tmp_path: object) -> None:
    path = f"{tmp_path}/loops.dat"
    Path(path).touch()
    with pytest.raises(SpecError, match="the name does not show the format"):
        format_of(path, None)
    with pytest.raises(SourceError):
        check_input(f"{tmp_path}/other.dat")
    check_input(f"{tmp_path}/*.dat")


def test_texts_become_values() -> None:
    assert [as_duration(text, "--gap") for text in ("5", "2.5", "3 minutes")] == [5, 2.5, "3 minutes"]
    assert column_names(["a, b", "c"], "--by") == ["a", "b", "c"]
    assert column_names(None, "--by") is None
    assert as_grid("k=v=3", "--boundary") == {"k=v": 3.0}
    assert as_comparison(" mean( x y ) <= 1e3 ", "--aggregate") == {
        "aggregate": wr.mean("x y"),
        "op": "<=",
        "limit": 1000.0,
    }
    assert aggregates_of(["n=count(*)", "top = MAX(speed)"]) == {"n": wr.count(), "top": wr.max("speed")}
    with pytest.raises(ColumnError):
        aggregates_of(["n=count()", "n=sum(x)"])


def test_an_unexpected_error_is_exit_code_1_and_debug_tells_more(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("the moon\nis full")

    monkeypatch.setattr("windrow.cli.commands.demo.run_demo", fail)
    assert main(["demo"]) == 1
    assert capsys.readouterr().err == "windrow: unexpected error: RuntimeError: the moon (--debug shows more)\n"
    assert main(["demo", "--debug"]) == 1
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize(("raised", "code"), [(KeyboardInterrupt, 130), (BrokenPipeError, 141)])
def test_interruptions_have_codes_of_their_own(
    raised: type[BaseException], code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise raised

    monkeypatch.setattr("windrow.cli.commands.demo.run_demo", interrupt)
    monkeypatch.setattr("windrow.cli.main.silence_stdout", lambda: None)
    assert main(["demo"]) == code
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("sent", "code", "expected"), [(signal.SIGTERM, 143, "terminated"), (signal.SIGINT, 130, "interrupted")]
)
def test_a_signal_is_reported_whatever_fails_after_it(
    sent: signal.Signals, code: int, expected: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def call(*_: object, **__: object) -> None:
        try:
            os.kill(os.getpid(), sent)
            time.sleep(10)
        finally:
            raise ConnectionError("the answer from Java is empty")

    monkeypatch.setattr("windrow.cli.commands.demo.run_demo", call)
    # A shell starts jobs in the background with SIGINT ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        assert main(["demo"]) == code
    finally:
        signal.signal(signal.SIGINT, before)
    assert capsys.readouterr().err == f"windrow: {expected}\n"


def test_the_namespace_has_a_value_for_every_option() -> None:
    args = make_parser("frames").parse_args([*FRAMES, "--gap", "5"])
    assert isinstance(args, argparse.Namespace)
    assert (args.plan, args.nulls_on, args.limit, args.explain, args.overwrite) == ("auto", "error", 20, False, False)


CLASHING = """
from dataclasses import dataclass, field
from typing import Any
from windrow import Scheme
from windrow.framing.schemes.text import text_option

@dataclass(frozen=True, repr=False)
class NAME(Scheme):
    attribute: str = field(metadata=text_option("runs", "COLUMN", "x"))
    OPTION: Any = field(default=None, kw_only=True, metadata=text_option("more"))

    def bind(self, clock, types):
        raise NotImplementedError
"""


@pytest.mark.parametrize(
    ("name", "option", "flag"),
    [
        ("SameSide", "by", "--by"),
        ("SameSide", "debug", "--debug"),
        ("SameSide", "same_side", "--same-side"),
        ("Debug", "other", "--debug"),
        ("Op", "other", "--op"),
    ],
)
def test_a_scheme_whose_flag_is_in_use_is_left_out(tmp_path, monkeypatch, capsys, name, option, flag):
    monkeypatch.setattr("windrow.registry._modules", [])
    monkeypatch.chdir(tmp_path)
    module = f"clash_{name}_{option}".lower()
    (tmp_path / f"{module}.py").write_text(CLASHING.replace("NAME", name).replace("OPTION", option))
    assert main(["frames", "absent.parquet", "--on", "t", "--gap", "3", "--import", f"{module}.py"]) == 2
    warned, failed = capsys.readouterr().err.splitlines()
    assert warned.endswith(f"is not available here: already in use: {flag}")
    assert "absent.parquet" in failed


def test_a_module_that_is_interrupted_while_it_is_imported_ends_the_command(tmp_path, capsys):
    module = tmp_path / "interrupted.py"
    module.write_text("raise KeyboardInterrupt")
    assert main(["frames", "absent.parquet", "--on", "t", "--gap", "3", "--import", str(module)]) == 130
    assert capsys.readouterr().err == "windrow: interrupted\n"


@pytest.mark.parametrize(("path", "message"), [("", "input: expected a path, got ''"), ("a" * 5000, "name too long")])
def test_an_input_that_cannot_be_a_path_is_refused(capsys, path, message):
    assert main(["frames", path, "--on", "t", "--gap", "3"]) == 2
    assert message in capsys.readouterr().err
