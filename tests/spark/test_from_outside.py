"""A scheme, an aggregate and a synopsis from outside the package work in batch, streams, SQL and on the command line.

Workers cannot import the module `mine`: its classes are sent to them.
"""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark import cloudpickle

import outside
import windrow as wr
from streamed import run
from windrow import registry
from windrow.cli.main import main
from windrow.framing.theory.brute_force import final_frames
from windrow.framing.theory.local import StreamRow
from windrow.spark.workers.modules import import_modules

pytestmark = pytest.mark.spark

X = [1.0, 2.0, -1.0, -3.0, 4.0, 0.5, 6.0, -2.0]
FRAMES = [(0, 1, True, 1.0), (2, 3, False, 2.0), (4, 6, True, 5.5), (7, 7, False, 0.0)]
"""Start, end, `above` and the reach of the frames of one group by the sign of x."""
MEANS = [1.0, 1.5, 2 / 3, -1 / 4]
"""The mean of the first four windows of four rows."""


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The module in a file that only this process can import, and only by its path."""
    monkeypatch.setattr(registry, "_modules", [])
    path = tmp_path / "elsewhere" / "mine.py"
    path.parent.mkdir()
    path.write_text(Path(outside.__file__).read_text())
    import_modules([str(path)], "modules")
    yield sys.modules["mine"]
    cloudpickle.unregister_pickle_by_value(sys.modules["mine"])
    del sys.modules["mine"]


@pytest.fixture
def folder(tmp_path: Path) -> str:
    """The rows of two groups in files."""
    at = tmp_path / "rows"
    at.mkdir()
    for i in range(2):
        t = pa.array([1_000_000 * k for k in range(4 * i, 4 * i + 4)] * 2, pa.timestamp("us", "UTC"))
        rows = {"g": [0] * 4 + [1] * 4, "t": t, "k": [*range(4 * i, 4 * i + 4)] * 2, "x": X[4 * i : 4 * i + 4] * 2}
        pq.write_table(pa.table(rows), at / f"part-{i}.parquet")
        os.utime(at / f"part-{i}.parquet", (1_600_000_000 + i, 1_600_000_000 + i))
    return str(at)


def rows_of(frames: pa.Table) -> list[tuple]:
    rows = frames.sort_by([("g", "ascending"), ("frame", "ascending")]).to_pylist()
    assert [row["g"] for row in rows] == sorted(row["g"] for row in rows)
    return [(row["start"], row["end"], row["above"], row["reach"]) for row in rows]


def test_the_kernel_finds_the_frames_of_the_definition():
    stream = [StreamRow(i, {"x": x}) for i, x in enumerate(X)]
    frames = final_frames(outside.SameSide("x"), stream)
    assert [(frame.members[0], frame.members[-1], frame.label == (1,)) for frame in frames] == [f[:3] for f in FRAMES]


@pytest.mark.parametrize("plan", ["native", "shuffle", "scan"])
def test_tables(spark, mine, folder, plan):
    source = wr.parquet(spark, folder)
    agg = {} if plan == "native" else {"reach": mine.Reach("x")}
    scheme = mine.SameSide("x", level=0.0)
    frames = wr.frames(source if plan == "scan" else source.df, scheme, on="k", by="g", agg=agg, plan=plan).toArrow()
    if plan == "native":
        frames = frames.append_column("reach", pa.array([f[3] for f in FRAMES] * 2)) if len(frames) == 8 else frames
        frames = frames.sort_by([("g", "ascending"), ("frame", "ascending")])
        assert frames["above"].to_pylist() == [f[2] for f in FRAMES] * 2
        assert frames["start"].to_pylist() == [f[0] for f in FRAMES] * 2
    else:
        assert rows_of(frames) == FRAMES * 2


def test_streams(spark, mine, folder, tmp_path):
    schema = spark.read.parquet(folder).schema
    landed = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(folder)
    query = {"on": "t", "by": "g", "agg": {"reach": mine.Reach("x")}}
    source = landed.withWatermark("t", "1 second")
    frames, _ = run(wr.frames(source, mine.SameSide("x"), **query), tmp_path)
    rest = wr.frames(source, mine.SameSide("x"), **query, flush=str(tmp_path / "checkpoint")).toArrow()
    whole = pa.concat_tables([frames, rest], promote_options="permissive")
    assert [(above, reach) for _, _, above, reach in rows_of(whole)] == [f[2:] for f in FRAMES] * 2


def test_sql(spark, mine, folder):
    wr.register_sql(spark, modules=[mine.__file__])
    spark.read.parquet(folder).createOrReplaceTempView("outside_rows")
    frames = spark.sql(
        "SELECT * FROM same_side_frames(TABLE(outside_rows), on => 'k', by => 'g', attribute => 'x', level => 0.0, "
        "agg => map('reach', 'reach(x)'))"
    )
    assert rows_of(frames.toArrow()) == FRAMES * 2
    windows = spark.sql(
        "SELECT * FROM slide_windows(TABLE(outside_rows), on => 'k', by => 'g', length => '4 rows', every => '1 row', "
        "agg => map('m', 'mean(x)', 'r', 'reach(x)'), using => 'Notebook')"
    )
    query = {"on": "k", "by": "g", "agg": {"m": wr.mean("x")}}
    expected = wr.slide(spark.table("outside_rows"), wr.Rows(4), **query, using=None)
    assert means_of(windows.toArrow()) == pytest.approx(means_of(expected.toArrow()))


def test_the_command_line_by_import(spark, mine, folder, tmp_path, capsys):
    command = ["frames", folder, "--import", mine.__file__, "--on", "k", "--by", "g", "--same-side", "x"]
    assert main([*command, "--level", "0", "--agg", "reach=reach(x)", "--out", str(tmp_path / "a.csv")]) == 0
    rows = list(csv.DictReader((tmp_path / "a.csv").open()))
    assert [(int(row["start"]), float(row["reach"])) for row in rows] == [(f[0], f[3]) for f in FRAMES] * 2
    assert main([*command, "--stream", "--ordered", "--once", "--flush", "--out", str(tmp_path / "b")]) == 0
    assert pq.read_table(tmp_path / "b").num_rows == 8
    assert main(["fill", str(tmp_path / "a.csv"), folder, "--import", mine.__file__, "--on", "k", "--by", "g",
                 "--agg", "again=reach(x)", "--out", str(tmp_path / "c.csv")]) == 0  # fmt: skip
    assert [float(row["again"]) for row in csv.DictReader((tmp_path / "c.csv").open())] == [f[3] for f in FRAMES] * 2
    capsys.readouterr()
    assert main(["frames", "--import", mine.__file__, "--help"]) == 0
    words = capsys.readouterr().out.split()
    assert {"--same-side", "--level"} <= set(words)
    slide = ["slide", folder, "--import", mine.__file__, "--on", "k", "--by", "g", "--window", "4 rows every 1 rows"]
    out = ["--using", "Notebook", "--out", str(tmp_path / "d.csv")]
    assert main([*slide, "--agg", "m=mean(x)", "r=reach(x)", *out]) == 0
    query = {"on": "k", "by": "g", "agg": {"m": wr.mean("x")}}
    windows = wr.slide(spark.read.parquet(folder), wr.Rows(4, every=1), **query, using=None).toArrow()
    rows = list(csv.DictReader((tmp_path / "d.csv").open()))
    assert [float(row["m"]) for row in rows] == pytest.approx(means_of(windows))
    capsys.readouterr()
    assert main(["advise", "reach(x)", "--import", mine.__file__, "--retention", "100", "--slide", "10"]) == 0
    assert "Notebook" in capsys.readouterr().out


ENTRY_POINTS = """[windrow.schemes]
same_side = outside:SameSide
[windrow.aggregates]
reach = outside:Reach
[windrow.synopses]
Notebook = outside:Notebook
"""
SCRIPT = """
import sys, windrow as wr
from windrow.cli.main import main
spark = wr.session()
wr.register_sql(spark)
spark.read.parquet(sys.argv[1]).createOrReplaceTempView("rows")
call = "same_side_frames(TABLE(rows), on => 'k', by => 'g', attribute => 'x', agg => map('reach', 'reach(x)'))"
print([row.reach for row in spark.sql(f"SELECT * FROM {call} ORDER BY g, frame").collect()])
command = ["frames", sys.argv[1], "--on", "k", "--by", "g", "--same-side", "x", "--agg", "reach=reach(x)"]
assert main([*command, "--out", sys.argv[2]]) == 0
windows = wr.slide(spark.table("rows"), wr.Rows(4, every=1), on="k", by="g", agg={"m": wr.mean("x")}, using="Notebook")
print(windows.count())
"""


@pytest.mark.long
def test_entry_points_of_an_installed_package(folder, tmp_path):
    site = tmp_path / "site"
    (site / "mine-1.0.dist-info").mkdir(parents=True)
    (site / "outside.py").write_text(Path(outside.__file__).read_text())
    (site / "mine-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n")
    (site / "mine-1.0.dist-info" / "entry_points.txt").write_text(ENTRY_POINTS)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(site), *filter(None, sys.path)])}
    command = [sys.executable, "-c", SCRIPT, folder, str(tmp_path / "out.csv")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.splitlines()[0] == str([f[3] for f in FRAMES] * 2)
    rows = list(csv.DictReader((tmp_path / "out.csv").open()))
    assert [float(row["reach"]) for row in rows] == [f[3] for f in FRAMES] * 2


def means_of(windows: pa.Table) -> list[float]:
    rows = windows.sort_by([("g", "ascending"), ("end", "ascending")]).to_pylist()
    return [row["m"] for row in rows]


def test_a_synopsis_keeps_windows_of_tables_and_streams(spark, mine, folder, tmp_path):
    query = {"on": "t", "by": "g", "agg": {"m": wr.mean("x")}}
    windows = wr.Sliding("4 seconds", every="1 second")
    table = spark.read.parquet(folder)
    expected = means_of(wr.slide(table, windows, **query).toArrow())
    for using in ("Notebook", mine.Notebook, wr.Keep(mine.Notebook)):
        result = wr.slide(table, windows, **query, using=using)
        assert means_of(result.toArrow()) == pytest.approx(expected)
    landed = spark.readStream.schema(table.schema).option("maxFilesPerTrigger", 1).parquet(folder)
    stream = wr.slide(landed.withWatermark("t", "1 second"), windows, **query, using="Notebook")
    first, _ = run(stream, tmp_path)
    assert means_of(first)[:4] == pytest.approx(MEANS)
