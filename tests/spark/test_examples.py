"""The scripts in `examples/` run and print what they promise."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

pytestmark = pytest.mark.spark

EXAMPLES = Path(__file__).parents[2] / "examples"
PRINTED = {
    "hot_periods": "",
}


def test_every_example_is_run():
    assert {path.stem for path in EXAMPLES.glob("*.py")} == {*PRINTED}


@pytest.mark.parametrize("name", PRINTED)
def test_an_example_prints_its_result(spark, capsys, name):
    runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    printed = [line.strip() for line in capsys.readouterr().out.splitlines() if line.strip()]
    assert printed == PRINTED[name].split("\n")
