"""What is loaded when: `import windrow` and `windrow --help` load nothing that takes long."""

from __future__ import annotations

import ast
import json
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import windrow as wr
import windrow.aggregates
import windrow.planner
import windrow.spark
import windrow.terminal

HEAVY = ("numba", "numpy", "pandas", "pyarrow", "pyspark", "sqlglot", "scipy", "statsmodels", "matplotlib", "sympy",
         "datasketches", "rich", "redis")  # fmt: skip


def loaded_by(code: str) -> set[str]:
    report = f"{code}\nimport json, sys\nprint(json.dumps([m for m in {HEAVY!r} if m in sys.modules]), file=sys.stderr)"
    ran = subprocess.run([sys.executable, "-c", report], capture_output=True, text=True, check=True)
    return set(json.loads(ran.stderr.splitlines()[-1]))


@pytest.mark.parametrize(
    "code",
    [
        "import windrow",
        "import windrow as wr; dir(wr); wr.__version__, wr.SpecError",
        "from windrow.cli.main import main; assert main(['--help']) == 0",
        "from windrow.cli.main import main; assert main(['--version']) == 0",
        "from windrow.cli.main import main; assert main(['frame']) == 2",
    ],
)
def test_nothing_that_takes_long_is_loaded(code: str) -> None:
    assert loaded_by(code) == set()


def test_kernels_need_no_spark_and_advice_no_regression() -> None:
    assert loaded_by("import windrow as wr; wr.Gap(5), wr.sum('x')") & {"pyspark", "statsmodels", "matplotlib"} == set()
    assert "statsmodels" not in loaded_by("import windrow as wr; wr.advise(wr.sum('x'), retention=100, slide=10)")


def test_no_public_name_is_the_name_of_a_module() -> None:
    for package in (wr, windrow.aggregates, windrow.planner, windrow.spark):
        modules = {module.name for module in pkgutil.iter_modules(package.__path__)}
        assert modules & set(getattr(package, "__all__", ())) == set(), package.__name__
    loaded_by(
        "import windrow.framing.schemes.delta as d, windrow as wr; assert wr.Delta is d.Delta and callable(wr.frames)"
    )


@pytest.mark.parametrize("package", [wr, windrow.spark, windrow.terminal])
def test_names_are_declared_for_type_checkers_as_they_are_loaded(package: object) -> None:
    tree = ast.parse(Path(package.__file__).read_text())
    typed = next(node for node in tree.body if isinstance(node, ast.If))
    homes = {alias.name: node.module for node in typed.body for alias in node.names}
    assert {*homes} == {*package.__all__} - {"__version__"}
    for name, module in homes.items():
        assert getattr(package, name) is getattr(sys.modules[module], name)
    assert {*dir(package)} >= {*package.__all__}


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'windrow' has no attribute 'frame'"):
        _ = wr.frame


def test_a_renamed_name_suggests_the_new_one() -> None:
    with pytest.raises(
        AttributeError, match="module 'windrow' has no attribute 'register'; it is now called 'register_sql'"
    ):
        _ = wr.register
