"""What is generated is up to date, and what is public is named and explained."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import windrow as wr
from windrow.aggregates import BUILTIN
from windrow.synopses import SYNOPSES, Accuracy, Retention, Synopsis
from windrow.testing import example_aggregate

ROOT = Path(__file__).parents[1]


def test_the_catalogue_is_up_to_date():
    command = [sys.executable, str(ROOT / "scripts" / "catalogue.py")]
    made = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert (ROOT / "catalogue.md").read_text() == made, "run `make catalogue`"


@pytest.mark.parametrize("synopsis", SYNOPSES)
def test_a_synopsis_declares_its_kind(synopsis: type[Synopsis]):
    assert synopsis.retentions <= {"count", "time"}
    assert isinstance(synopsis.exact, bool)
    assert isinstance(synopsis.deterministic, bool)
    assert synopsis.deterministic or not synopsis.exact
    assert all((synopsis.time, synopsis.space, synopsis.error, synopsis.source))


@pytest.mark.parametrize("synopsis", [synopsis for synopsis in SYNOPSES if synopsis.retentions])
def test_a_synopsis_keeps_what_the_catalogue_says_and_nothing_else(synopsis: type[Synopsis]):
    retention, accuracy = Retention(100), Accuracy(eps=0.1, delta=0.01)
    for kind in BUILTIN:
        aggregate = example_aggregate(kind)
        if synopsis.why_not(aggregate, retention, accuracy) is None:
            assert synopsis(aggregate, retention, accuracy).aggregate == aggregate
        else:
            with pytest.raises(wr.UnsupportedError, match=synopsis.__name__):
                synopsis(aggregate, retention, accuracy)


def test_public_names_are_sorted_and_there():
    assert wr.__all__ == sorted(wr.__all__)
    assert len(set(wr.__all__)) == len(wr.__all__)
    for name in wr.__all__:
        assert inspect.getdoc(getattr(wr, name)), name


def test_every_public_name_has_an_entry_in_the_api_reference():
    page = (ROOT / "docs" / "reference" / "api.md").read_text()
    entries = re.findall(r"^::: windrow\.([\w.]+)$", page, re.MULTILINE)
    assert len(set(entries)) == len(entries)
    public = {name for name in wr.__all__ if name != "__version__"}
    assert {name for name in entries if "." not in name} == public
    assert {f"synopses.{synopsis.__name__}" for synopsis in SYNOPSES} <= set(entries)
