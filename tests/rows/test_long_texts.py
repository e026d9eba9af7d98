"""Texts of users: read in linear time, and quoted in part, wherever a text is parsed or an error quotes one."""

from __future__ import annotations

import pickle

import pandas as pd
import pytest

import windrow as wr
from windrow.aggregates.text import as_aggregate
from windrow.cli.main import main
from windrow.cli.options.texts import aggregates_of
from windrow.errors import LONGEST, QUOTED, DataError, SourceError, WindrowError, quoted
from windrow.framing.schemes.text import as_comparison, as_grid
from windrow.predicates.parse import parse_predicate
from windrow.predicates.types import Refused, number
from windrow.rows.duration import parse_duration
from windrow.spark.sources.redis.options import RedisOptions

N = 50_000
SPACES = " " * N


@pytest.mark.parametrize(
    "text",
    [
        "interval '" + SPACES, "interval" + SPACES + "'", "'" + SPACES + "1", "1" * N + " second", "1 " + "x" * N,
        "-" + SPACES + "1", "interval '" + "1:" * N + "' day to second", "1." + "1" * N + " seconds", SPACES + "x",
        "interval '" + " 1" * N + "'", "interval '1'" + SPACES + "x", "interval '1 " + "1 " * N + "' day to hour",
    ],
    ids=lambda text: text.strip()[:12],
)  # fmt: skip
def test_a_duration_that_never_ends_is_refused_at_once(text):
    with pytest.raises(wr.SpecError, match="expected a duration of fixed length") as caught:
        parse_duration(text)
    assert len(str(caught.value)) < 3 * QUOTED


@pytest.mark.parametrize(
    "text",
    ["1 day -2 hours", "interval '1 02:30:00.5' day to second", "interval  '-3'  minute", "- 3   minutes +  4 seconds"],
)
def test_durations_are_read_as_before(text):
    expected = {"1 ": 79_200_000_000, "in": None, "- ": -176_000_000}[text[:2]]
    found = parse_duration(text)
    assert found == expected if expected is not None else found in (95_400_500_000, -180_000_000)


@pytest.mark.parametrize("read", [as_comparison, as_aggregate])
@pytest.mark.parametrize(
    "text", ["sum(" + SPACES, "sum" + SPACES + "x", "sum(" + SPACES + "x" + SPACES, "s" * N, "sum(`" + "`` " * N]
)
def test_a_call_that_never_ends_is_refused_at_once(read, text):
    with pytest.raises(wr.SpecError, match=r"^agg: expected .*, e\.g\. 'sum\(volume\)") as caught:
        read(text, "agg")
    assert len(str(caught.value)) < 3 * QUOTED


def test_calls_are_read_as_before():
    assert as_aggregate(" quantile ( temp , 0.99 ) ", "agg") == wr.quantile("temp", 0.99)
    assert as_comparison(" sum ( volume ) >= 100 ", "agg") == {
        "aggregate": wr.sum("volume"),
        "op": ">=",
        "limit": 100.0,
    }
    assert aggregates_of(["n=count( )"]) == {"n": wr.count()}
    assert as_aggregate(" mean ( `a ``b``` ) ", "agg") == wr.mean("a `b`")
    assert as_aggregate("quantile(`a` , 0.9 )", "agg") == wr.quantile("a", 0.9)


@pytest.mark.parametrize("text", ["x < '" + "a" * N, "x < " + "a " * N, "(" * N, "x < 1;" + SPACES + "!"])
def test_a_long_predicate_is_quoted_in_part(text):
    with pytest.raises(wr.SpecError) as caught:
        parse_predicate(text)
    assert len(str(caught.value)) < 4 * QUOTED


def test_a_literal_of_many_digits_is_refused_at_once():
    with pytest.raises(Refused):
        number("1" * N + "e12345")


def test_options_are_quoted_in_part(capsys):
    for given in ({"url": "http:" + "//" * N}, {"stream": "a," * N}, {"startingOffsets": "9" * N}, {"epoch": "e" * N}):
        with pytest.raises(wr.SpecError) as caught:
            RedisOptions.read({"url": "redis://127.0.0.1", "stream": "s"} | given)
        assert len(str(caught.value)) < 3 * QUOTED
    with pytest.raises(wr.SpecError) as caught:
        as_grid("x=" + "y" * N, "--boundary")
    assert len(str(caught.value)) < 3 * QUOTED
    assert main(["advise", "sum(x)", "--retention", "9" * N, "--slide", "1"]) == 2
    assert len(capsys.readouterr().err) <= LONGEST + 100


@pytest.mark.parametrize("kind", [WindrowError, DataError, SourceError])
def test_no_message_is_longer_than_a_page_and_its_ends_are_kept(kind):
    error = kind("on: " + "1" * 100_000 + "; give a column")
    assert len(str(error)) <= LONGEST
    assert str(error).startswith("on: 111")
    assert str(error).endswith("; give a column")
    assert "characters left out" in str(error)
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
    assert str(kind("short")) == "short"


def test_a_value_too_large_to_show_is_described():
    assert quoted(10**5000) == "an object of type int that is too large to show"
    assert quoted(list(range(10_000))).endswith("...")
    assert quoted(pd.DataFrame({"x": [1, 2]})) == "x 0 1 1 2", "on one line"
    assert quoted(b"\0" * 1000).endswith("... (1,000 characters)")
