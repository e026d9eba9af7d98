"""A path means one place, for Spark and for pyarrow alike, whatever characters are in it and wherever one goes."""

from __future__ import annotations

import shutil

import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq
import pytest

import windrow as wr
from windrow.cli.main import main
from windrow.errors import SourceError
from windrow.spark.sources.paths import list_files, settle_path

pytestmark = pytest.mark.spark

HIT = wr.Threshold("x > 0.5")
TABLE = pa.table({"t": [1, 2, 3], "x": [1.0, 0.0, 2.0]})
ODD_NAMES = ["a[1]", "a*b", "a?b", "{a,b}", "a{", "a\\b", "a%20 #b"]


def counts(source: wr.ParquetSource, plan: str) -> list[int]:
    return [row["count"] for row in wr.frames(source, HIT, on="t", plan=plan).collect()]


@pytest.mark.parametrize("name", ODD_NAMES)
def test_a_folder_and_a_file_of_any_name_are_that_folder_and_that_file(spark, tmp_path, name):
    for twin in ("ab", "a1", "axb", "a*b"):  # what a pattern would match as well
        (tmp_path / twin).mkdir()
        pq.write_table(TABLE, tmp_path / twin / "part.parquet")
    (tmp_path / name).mkdir(exist_ok=True)
    pq.write_table(TABLE, tmp_path / name / f"{name}.parquet")
    (tmp_path / name / "part.parquet").unlink(missing_ok=True)
    for path in (tmp_path / name, tmp_path / name / f"{name}.parquet"):
        source = wr.parquet(spark, path)
        assert wr.explain(source, HIT, on="t").plan == "scan"
        assert counts(source, "auto") == counts(source, "native") == [1, 1]


def test_a_pattern_that_names_nothing_is_what_spark_makes_of_it(spark, tmp_path, monkeypatch):
    for i in (1, 2):
        (tmp_path / f"day{i}").mkdir()
        pq.write_table(TABLE, tmp_path / f"day{i}" / "part.parquet")
    monkeypatch.chdir(tmp_path)
    for path in (f"{tmp_path}/day*", f"{tmp_path}/day{{1,2}}", f"file:{tmp_path}/day[12]", "day?"):
        source = wr.parquet(spark, path)
        assert counts(source, "auto") == counts(source, "native") == [2, 2]
    with pytest.raises(SourceError, match="no such file or folder"):
        wr.parquet(spark, f"{tmp_path}/night*")


def test_a_relative_path_stays_where_it_was(spark, tmp_path, monkeypatch):
    for place, table in (("here", TABLE), ("there", TABLE.slice(0, 1))):
        (tmp_path / place).mkdir()
        pq.write_table(table, tmp_path / place / "loops.parquet")
    monkeypatch.chdir(tmp_path / "here")
    source = wr.parquet(spark, "loops.parquet")
    assert source.path == str(tmp_path / "here" / "loops.parquet")
    monkeypatch.chdir(tmp_path / "there")
    for plan in ("auto", "native"):
        assert counts(source, plan) == [1, 1]
    shutil.rmtree(tmp_path / "there")


def test_a_path_that_is_nowhere_here_is_left_to_spark():
    assert settle_path("nowhere/at/all") == ("nowhere/at/all", "nowhere/at/all")
    assert settle_path("s3a://bucket/[1]") == ("s3a://bucket/[1]", "s3a://bucket/[1]")


def test_an_address_is_read_as_spark_reads_it(spark, tmp_path):
    for name, table in (("a%20b", TABLE), ("a b", TABLE.slice(0, 1))):
        (tmp_path / name).mkdir()
        pq.write_table(table, tmp_path / name / "part.parquet")
    source = wr.parquet(spark, f"file://{tmp_path}/a%20b")
    assert wr.explain(source, HIT, on="t").plan == "scan"
    assert counts(source, "auto") == counts(source, "native") == [1, 1]


@pytest.mark.parametrize("form", ["csv", "json"])
def test_the_command_line_reads_text_files_of_odd_names_too(spark, tmp_path, capsys, form):
    lines = "t,x\n1,1.0\n2,0.0\n" if form == "csv" else '{"t": 1, "x": 1.0}\n{"t": 2, "x": 0.0}\n'
    (tmp_path / f"a[1].{form}").write_text(lines)
    out = tmp_path / f"out[1].{form}"
    line = ["frames", str(tmp_path / f"a[1].{form}"), "--on", "t", "--threshold", "x > 0.5"]
    assert main([*line, "--out", str(out)]) == 0
    assert "wrote 1 frames" in capsys.readouterr().err
    assert out.is_file()


class Counted:
    """A file system of pyarrow's that counts how often a folder is listed."""

    def __init__(self) -> None:
        self.system, self.listed = pafs.LocalFileSystem(), 0

    def get_file_info(self, what):
        self.listed += isinstance(what, pafs.FileSelector)
        return self.system.get_file_info(what)


def test_a_folder_is_listed_once(tmp_path, monkeypatch):
    counted = Counted()
    monkeypatch.setattr("windrow.spark.sources.paths.file_system", lambda path: (counted, path))
    pq.write_table(TABLE, tmp_path / "part.parquet")
    (tmp_path / "_SUCCESS").touch()
    (tmp_path / ".hidden").mkdir()
    listing = list_files(str(tmp_path))
    assert (listing.files, listing.has_folders) == ([str(tmp_path / "part.parquet")], False)
    assert counted.listed == 1


def test_folders_that_name_a_column_are_data_as_they_are_for_spark(spark, tmp_path):
    pq.write_table(TABLE, tmp_path / "part.parquet")
    (tmp_path / "_road=7").mkdir()
    pq.write_table(TABLE, tmp_path / "_road=7" / "part.parquet")
    assert list_files(str(tmp_path)).has_folders


def test_a_file_name_that_spark_cannot_read_is_refused_by_name(tmp_path):
    pq.write_table(TABLE, tmp_path / "12:30.parquet")
    with pytest.raises(SourceError, match=r"12:30\.parquet': Spark cannot read a local file with ':' in its name"):
        settle_path(str(tmp_path / "12:30.parquet"))
    (tmp_path / "12:30").mkdir()
    assert settle_path(str(tmp_path / "12:30"))[0] == str(tmp_path / "12:30")
