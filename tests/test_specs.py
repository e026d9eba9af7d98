"""A spec that cannot be right is refused when it is made, by an error that names what is wrong."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import numpy as np
import pytest

import windrow as wr
from bad_values import BAD
from fuzz.rules import RULES
from windrow.aggregates.base import name_of
from windrow.errors import SpecError, WindrowError
from windrow.synopses import Accuracy, BiasedReservoir, KLLPanes, Retention, TwoStacks
from windrow.testing import check_aggregate, example_aggregate
from windrow.windows import Keep

HUGE = 10**400


def rules(**changed: Any) -> dict[str, Any]:
    return {**RULES["highs"], **changed}


def incomplete_aggregate() -> wr.AggregateFunction:
    class Half(wr.AggregateFunction):
        zero = add = staticmethod(lambda *given: (0.0,))

    return Half("v")


def misshapen(**changed: Any) -> wr.AggregateFunction:
    """A sum, of which one function is not as it must be."""
    right: dict[str, Any] = {
        "zero": lambda: (0.0, 0.0),
        "add": lambda s, x: (s[0] + x, s[1]),
        "merge": lambda a, b: (a[0] + b[0], a[1]),
        "finish": lambda s: s[0],
    }
    functions = {name: staticmethod(function) for name, function in (right | changed).items()}
    kind: Any = type("Odd", (wr.AggregateFunction,), functions)
    return kind("v")  # type: ignore[no-any-return]


REFUSED: list[tuple[Callable[[], Any], list[str]]] = [
    # Every scheme: the policy for nulls, and the longest gap.
    (lambda: wr.Boundary({"x": 1}, origin={"y": 1}), ["origin", "'y'", "x"]),
    (lambda: wr.Boundary({"x": [1, 2]}, origin={"x": 1}), ["origin", "'x'", "break points"]),
    (lambda: wr.Boundary({"x": 1}, origin=5), ["origin", "5"]),
    (lambda: wr.DoubleBoundary({"x": 1}, origin={"x": math.nan}), ["origin of 'x'", "nan"]),
    (lambda: wr.Change([]), ["Change", "'state'", "[]"]),
    (lambda: wr.Change(5), ["Change", "'state'", "5"]),
    (lambda: wr.Change(["state", 5]), ["Change", "5"]),
    (lambda: wr.Change(["state", "state"]), ["Change", "'state'", "twice"]),
    (lambda: wr.Change("state", ignore=["OFF", None]), ["ignore", "None", "missing"]),
    (lambda: wr.Change("state", ignore=math.nan), ["ignore", "nan", "missing"]),
    (lambda: wr.Change("state", ignore=[["OFF"]]), ["ignore", "['OFF']"]),
    (lambda: wr.Change("state", nulls="false"), ["nulls", "'false'"]),
    (lambda: wr.Gap(5, min_count=3, max_count=2), ["min_count", "max_count=2", "3"]),
    (lambda: wr.Gap(5, max_count=0), ["max_count", "0"]),
    (lambda: wr.Delta({("x", "y"): 1}), ["('x', 'y')", "distance="]),
    (lambda: wr.Delta({("x", "y"): 1}, distance="manhattan"), ["distance", "'manhattan'", "euclidean"]),
    (lambda: wr.Delta({("x", "y"): 1}, distance="euclidean", reference="range"), ["reference", "'range'", "'first'"]),
    (lambda: wr.Delta({("x",): 1}, distance="great_circle"), ["great_circle", "longitude"]),
    (lambda: wr.Delta({("x", "x"): 1}, distance="euclidean"), ["different columns"]),
    (lambda: wr.Delta({"x": 1}, max_duration=-1), ["max_duration", "-1"]),
    (lambda: wr.Delta({"x": 1}, extent="open"), ["extent", "'open'", "half-open"]),
    (lambda: wr.Threshold("x > 1", segments=True, max_count=3), ["max_count", "3", "segments"]),
    (lambda: wr.Boundary({"x": 1}, nulls="ignore"), ["nulls", "'ignore'", "skip, break, error"]),
    (lambda: wr.Boundary({"x": 1}, nulls="false"), ["nulls", "'false'"]),
    (lambda: wr.Threshold("x > 1", nulls="drop"), ["nulls", "'drop'", "false, skip, break, error"]),
    (lambda: wr.Threshold("x > 1", nulls=None), ["nulls", "None"]),
    (lambda: wr.Delta({"x": 1}, nulls="ignore"), ["nulls", "'ignore'"]),
    (lambda: wr.DoubleBoundary({"x": 1}, nulls="ignore"), ["nulls", "'ignore'"]),
    (lambda: wr.Aggregate(wr.sum("x"), ">", 1, nulls="ignore"), ["nulls", "'ignore'"]),
    (lambda: wr.Custom(["x"], **rules(), nulls="ignore"), ["nulls", "'ignore'"]),
    (lambda: wr.Gap(1, nulls="ignore"), ["nulls", "'ignore'"]),
    (lambda: wr.Boundary({"x": 1}, max_gap=-1), ["max_gap", "-1"]),
    (lambda: wr.Boundary({"x": 1}, max_gap=math.inf), ["max_gap", "inf"]),
    (lambda: wr.Boundary({"x": 1}, max_gap=math.nan), ["max_gap", "nan"]),
    (lambda: wr.Boundary({"x": 1}, max_gap=HUGE), ["max_gap", "000"]),
    (lambda: wr.Boundary({"x": 1}, max_gap=True), ["max_gap", "True"]),
    (lambda: wr.Boundary({"x": 1}, max_gap=[3]), ["max_gap", "[3]"]),
    (lambda: wr.Boundary({"x": 1}, max_gap="soon"), ["'soon'"]),
    (lambda: wr.Boundary({"x": 1}, max_gap="-3 minutes"), ["max_gap", "'-3 minutes'"]),
    (lambda: wr.Boundary({"x": 1}, max_gap="2 months"), ["'2 months'"]),
    (lambda: wr.Boundary({"x": 1}, max_gap=timedelta(seconds=-1)), ["max_gap", "timedelta"]),
    # Threshold
    (lambda: wr.Threshold("x >"), ["'x >'"]),
    (lambda: wr.Threshold(""), ["''"]),
    (lambda: wr.Threshold(5), ["predicate", "5"]),
    (lambda: wr.Threshold(None), ["predicate", "None"]),
    (lambda: wr.Threshold("x > 1", close="x <"), ["close 'x <'"]),
    (lambda: wr.Threshold("x > 1", close=""), ["close ''", "is empty"]),
    (lambda: wr.Threshold("x > 1", close="x > 1;"), ["close 'x > 1;'", "semicolon"]),
    (lambda: wr.Threshold("x > 1", close="sum(x) > 1"), ["close 'sum(x) > 1'", "an aggregate"]),
    (lambda: wr.Threshold("x > 1", close=7), ["close", "7"]),
    (lambda: wr.Threshold("x > 1", min_count=0), ["min_count", "0"]),
    (lambda: wr.Threshold("x > 1", min_count=-2), ["min_count", "-2"]),
    (lambda: wr.Threshold("x > 1", min_count=1.5), ["min_count", "1.5"]),
    (lambda: wr.Threshold("x > 1", min_count=True), ["min_count", "True"]),
    (lambda: wr.Threshold("x > 1", min_count=None), ["min_count", "None"]),
    (lambda: wr.Threshold("x > 1", min_duration=-1), ["min_duration", "-1"]),
    (lambda: wr.Threshold("x > 1", min_duration="a while"), ["'a while'"]),
    (lambda: wr.Threshold("x > 1", min_duration=object), ["min_duration", "object"]),
    (lambda: wr.Threshold("x > 1", segments="yes"), ["segments", "'yes'"]),
    (lambda: wr.Threshold("x > 1", segments=1), ["segments", "1"]),
    # Boundary and DoubleBoundary
    (lambda: wr.Boundary({}), ["Boundary", "{}"]),
    (lambda: wr.Boundary(10), ["Boundary", "10"]),
    (lambda: wr.Boundary({"": 1}), ["Boundary", "''"]),
    (lambda: wr.Boundary({3: 1}), ["Boundary", "3"]),
    (lambda: wr.Boundary({"x": 0}), ["'x'", "0", "greater than zero"]),
    (lambda: wr.Boundary({"x": -2}), ["'x'", "-2"]),
    (lambda: wr.Boundary({"x": math.nan}), ["'x'", "nan"]),
    (lambda: wr.Boundary({"x": math.inf}), ["'x'", "inf"]),
    (lambda: wr.Boundary({"x": HUGE}), ["'x'", "expected a finite number"]),
    (lambda: wr.Boundary({"x": "wide"}), ["'x'", "'wide'"]),
    (lambda: wr.Boundary({"x": True}), ["'x'", "True"]),
    (lambda: wr.Boundary({"x": []}), ["'x'", "[]"]),
    (lambda: wr.Boundary({"x": [1, 1]}), ["'x'", "[1, 1]", "increasing"]),
    (lambda: wr.Boundary({"x": [2, 1]}), ["'x'", "[2, 1]", "increasing"]),
    (lambda: wr.Boundary({"x": [1, math.nan]}), ["'x'", "nan"]),
    (lambda: wr.Boundary({"x": [0, "1"]}), ["'x'", "'1'"]),
    (lambda: wr.DoubleBoundary({}), ["DoubleBoundary", "{}"]),
    (lambda: wr.DoubleBoundary({"x": 0}), ["DoubleBoundary", "'x'", "0"]),
    (lambda: wr.DoubleBoundary({"x": 1, "y": 2}), ["one attribute", "x, y"]),
    # Delta
    (lambda: wr.Delta({}), ["Delta", "{}"]),
    (lambda: wr.Delta(0.05), ["Delta", "0.05"]),
    (lambda: wr.Delta({"": 1}), ["Delta", "''"]),
    (lambda: wr.Delta({7: 1}), ["Delta", "7"]),
    (lambda: wr.Delta({"x": -1}), ["'x'", "-1"]),
    (lambda: wr.Delta({"x": 0}, op="<"), ["'x'", "0", "<"]),
    (lambda: wr.Delta({"x": math.inf}), ["'x'", "inf"]),
    (lambda: wr.Delta({"x": "far"}), ["'x'", "'far'"]),
    (lambda: wr.Delta({"x": 1}, op="=="), ["'=='", "<, <=, >, >="]),
    (lambda: wr.Delta({"x": 1}, op=None), ["None", "<, <=, >, >="]),
    (lambda: wr.Delta({"x": 1}, reference="last"), ["reference", "'last'", "'first'"]),
    # Aggregate
    (lambda: wr.Aggregate("sum(x)", ">", 1), ["Aggregate", "'sum(x)'"]),
    (lambda: wr.Aggregate(wr.sum, ">", 1), ["Aggregate", "wr.sum('volume')"]),
    (lambda: wr.Aggregate(wr.sum("x"), "=", 1), ["'='"]),
    (lambda: wr.Aggregate(wr.sum("x"), ">", math.nan), ["limit", "nan"]),
    (lambda: wr.Aggregate(wr.sum("x"), ">", "100"), ["limit", "'100'"]),
    (lambda: wr.Aggregate(wr.sum("x"), ">", None), ["limit", "None"]),
    (lambda: wr.Aggregate(wr.sum("x"), ">", HUGE), ["limit", "expected a finite number"]),
    # Gap
    (lambda: wr.Gap(None), ["Gap", "'30 minutes'"]),
    (lambda: wr.Gap(-1), ["gap", "-1"]),
    (lambda: wr.Gap("half an hour"), ["'half an hour'"]),
    (lambda: wr.Gap(False), ["gap", "False"]),
    # Custom
    (lambda: wr.Custom("x", **rules()), ["columns", "'x'"]),
    (lambda: wr.Custom(5, **rules()), ["columns", "5"]),
    (lambda: wr.Custom([""], **rules()), ["Custom", "''"]),
    (lambda: wr.Custom([5], **rules()), ["Custom", "5"]),
    (lambda: wr.Custom(["x", "x"], **rules()), ["columns", "'x', 'x'"]),
    (lambda: wr.Custom(["speed limit"], **rules()), ["'speed limit'", "rename"]),
    (lambda: wr.Custom(["on"], **rules()), ["'on'", "rename"]),
    (lambda: wr.Custom(["x"], **rules(open="x > 1")), ["open", "'x > 1'"]),
    (lambda: wr.Custom(["x"], **rules(close=None)), ["close", "None"]),
    (lambda: wr.Custom(["x"], **rules(update=3)), ["update", "3"]),
    (lambda: wr.Custom(["x"], **rules(state=5)), ["state", "5"]),
    (lambda: wr.Custom(["x"], **rules(state={"a b": 0})), ["'a b'"]),
    (lambda: wr.Custom(["x"], **rules(state={3: 0})), ["3"]),
    (lambda: wr.Custom(["x"], **rules(state={"high": "0"})), ["'high'", "'0'"]),
    (lambda: wr.Custom(["x"], **rules(state={"high": math.nan})), ["'high'", "nan"]),
    (
        lambda: wr.Custom(["x"], **rules(state={"high": 2**63})),
        ["'high'", "-2**63 to 2**63 - 1", "9223372036854775808"],
    ),
    (lambda: wr.Custom(["x"], **rules(record=5)), ["record", "5"]),
    (lambda: wr.Custom(["x"], **rules(labels=["kind"])), ["labels", "['kind']"]),
    (lambda: wr.Custom(["x"], **rules(labels={"kind": None})), ["labels", "'kind'", "None"]),
    (lambda: wr.Custom(["class"], **rules()), ["'class'", "rename"]),
    (lambda: wr.Custom(["x"], **rules(state={"class": 0})), ["state", "not a keyword", "'class'"]),
    (lambda: wr.Custom(["x"], **rules(record={"lambda": 0})), ["record", "not a keyword", "'lambda'"]),
    (lambda: wr.Custom(["x"], **rules(labels={"is": 0})), ["labels", "not a keyword", "'is'"]),
    (lambda: wr.Custom(["x"], **rules(record={"high": 0})), ["'high'", "state and record", "rename"]),
    (lambda: wr.Custom(["x"], **rules(labels={"high": 0})), ["'high'", "state and labels", "rename"]),
    (lambda: wr.Custom(["x"], **rules(record={"a": 0}, labels={"a": 0})), ["'a'", "record and labels", "rename"]),
    (lambda: wr.Custom(["x"], **rules(labels={"count": 0})), ["labels", "'count'", "column of the result"]),
    (lambda: wr.Custom(["x"], **rules(labels={"final": 0})), ["labels", "'final'", "column of the result"]),
    (lambda: wr.Custom(["x"], **rules(open=lambda t: True)), ["open", "(t, s) or (t, s, f)", "1 argument"]),
    (lambda: wr.Custom(["x"], **rules(close=lambda a, b, c, d: True)), ["close", "(t, s, f)", "4 arguments"]),
    (lambda: wr.Custom(["x"], **rules(update=lambda: True)), ["update", "(t, s, f)", "0 arguments"]),
    (lambda: wr.Custom(["x"], **rules(update=math.hypot)), ["update", "(t, s, f)", "hypot"]),
    (lambda: wr.Custom(["x"], **rules(open_frames=0)), ["open_frames", "from 1 to 100", "0"]),
    (lambda: wr.Custom(["x"], **rules(open_frames=101)), ["open_frames", "from 1 to 100", "101"]),
    (lambda: wr.Custom(["x"], **rules(open_frames=True)), ["open_frames", "from 1 to 100", "True"]),
    # Aggregates
    *((lambda kind=kind: example_aggregate(kind, ""), [kind.__name__, "''"]) for kind in wr.aggregates.BUILTIN),
    *((lambda kind=kind: example_aggregate(kind, 5), [kind.__name__, "5"]) for kind in wr.aggregates.BUILTIN),
    *(
        (
            lambda kind=kind: example_aggregate(kind, other=None),
            [kind.__name__, "expects a column name", "None"],
        )
        for kind in wr.aggregates.BUILTIN
        if kind.reads == 2
    ),
    *(
        (lambda kind=kind: example_aggregate(kind, "*"), [f"{name_of(kind)}('*')", "only count", "use a column name"])
        for kind in wr.aggregates.BUILTIN
        if kind is not wr.aggregates.Count
    ),
    (lambda: wr.mean(None), ["Mean", "None"]),
    *(
        (lambda kind=kind, n=n: kind("x", n), [kind.__name__, repr(n), "expected an integer from 1"])
        for kind in (wr.max_n, wr.min_n, wr.top_k)
        for n in (0, -1, 2.5, True, "3")
    ),
    *(
        (lambda q=q: wr.quantile("x", q), ["Quantile: q: ", repr(q), "a number from 0 to 1"])
        for q in (-0.1, 1.5, math.nan, "0.5", True)
    ),
    *(
        (lambda eps=eps: wr.quantile("x", 0.5, eps=eps), ["Quantile: eps: ", repr(eps), "at least 0 and below 1"])
        for eps in (-0.1, 1, math.nan)
    ),
    (lambda: wr.median("x", eps=2), ["Median: eps: ", "got 2"]),
    *(
        (lambda phi=phi: wr.heavy_hitters("x", phi), ["HeavyHitters: phi: ", repr(phi), "above 0 and up to 1"])
        for phi in (0, 1.5, math.nan, None)
    ),
    *(
        (lambda v=v: wr.rank("x", v), ["Rank: value: expected a number, got ", repr(v)])
        for v in (math.nan, "40", None, True)
    ),
    *(
        (lambda edges=edges: wr.histogram("x", edges), ["Histogram: edges: ", repr(edges), "ascending finite numbers"])
        for edges in ([], [1, 1], [2, 1], [0, math.inf], ["a"], "ab", 5, [True])
    ),
    *(
        (lambda kind=kind: wr.Aggregate(example_aggregate(kind), ">", 1), ["Aggregate: ", "a number", "fixed size"])
        for kind in wr.aggregates.BUILTIN
        if kind.form != "numbers"
    ),
    (incomplete_aggregate, ["Half", "merge()"]),
    (
        lambda: misshapen(zero=lambda: [0.0, 0.0]),
        ["Odd: zero() must return a tuple of numbers such as (0.0,), got [0.0, 0.0]"],
    ),
    (lambda: misshapen(zero=lambda: 0.0), ["Odd: zero() must return a tuple of numbers such as (0.0,), got 0.0"]),
    (lambda: misshapen(zero=lambda: ()), ["Odd: zero() must return a tuple of numbers", "got ()"]),
    (lambda: misshapen(zero=lambda: ("0", 0.0)), ["Odd: zero() must return a tuple of numbers", "got ('0', 0.0)"]),
    (
        lambda: misshapen(zero=lambda integral: (0.0, 0.0)),
        ["Odd: zero(integral) must be a static method that takes no arguments"],
    ),
    (
        lambda: misshapen(add=lambda s, x: s[0] + x),
        ["Odd: add(s, x) must return a tuple of numbers such as (0.0,), got 1.0"],
    ),
    (lambda: misshapen(add=lambda s, x: (s[0] + x,)), ["Odd: add(s, x) must return 2 number(s)", "got 1: "]),
    (lambda: misshapen(add=lambda s: s), ["Odd: add(s) must be a static method that takes the state and a value"]),
    (lambda: misshapen(merge=lambda a: a), ["Odd: merge(a) must be a static method that takes two states"]),
    (lambda: misshapen(merge=lambda a, b, c: a), ["Odd: merge(a, b, c) must be a static method that takes two states"]),
    (lambda: misshapen(merge=lambda a, b: None), ["Odd: merge(a, b) must return a tuple of numbers", "got None"]),
    (lambda: misshapen(merge=lambda a, b: (*a, *b)), ["Odd: merge(a, b) must return 2 number(s)", "got 4: "]),
    (lambda: misshapen(finish=lambda s, n: s), ["Odd: finish(s, n) must be a static method that takes the state"]),
    (lambda: misshapen(finish=lambda s: s), ["Odd: finish(s) must return a number, got (2.0, 0.0)"]),
    (lambda: misshapen(finish=lambda s: None), ["Odd: finish(s) must return a number, got None"]),
]


@pytest.mark.parametrize(("make", "named"), REFUSED, ids=[" ".join(named)[:60] for _, named in REFUSED])
def test_what_cannot_be_right_is_refused_by_name(make: Callable[[], Any], named: list[str]) -> None:
    with pytest.raises(SpecError) as refusal:
        make()
    message = str(refusal.value)
    assert all(part in message for part in named), message


def test_a_refusal_is_a_windrow_error_and_a_value_error() -> None:
    with pytest.raises(WindrowError):
        wr.Gap(-1)
    with pytest.raises(ValueError, match="gap: expected a finite duration of zero or more, got -1"):
        wr.Gap(-1)


@pytest.mark.parametrize(
    "make",
    [
        lambda: wr.Threshold("x > 1", min_count=1, min_duration=0, max_gap=0),
        lambda: wr.Threshold("x > 1", min_duration=timedelta(0), max_gap="0 seconds"),
        lambda: wr.Delta({"x": 0}),
        lambda: wr.Delta({"x": 0}, op=">="),
        lambda: wr.Aggregate(wr.sum("x"), "<", -5),
        lambda: wr.Boundary({"x": [0]}),
        lambda: wr.Boundary({"x": 5e-324}),
        lambda: wr.Gap(0),
        lambda: wr.Custom([], **rules()),
        lambda: wr.Custom(["x"], **rules(state={"high": -math.inf})),
        lambda: wr.Custom(["x"], **rules(state={"high": True}, record={"low": -(2**63)}, open_frames=100)),
    ],
)
def test_the_extremes_of_what_is_sensible_are_accepted(make: Callable[[], wr.Scheme]) -> None:
    assert isinstance(make(), wr.Scheme)


def test_numbers_are_kept_as_floats_and_sequences_as_tuples() -> None:
    assert wr.Boundary({"x": 10, "y": [0, 5]}).grid == {"x": 10.0, "y": (0.0, 5.0)}
    assert wr.Delta({"x": 1}).limits == {"x": 1.0}


def test_an_aggregate_that_cannot_stand_the_value_tried_is_not_refused_for_that() -> None:
    assert misshapen(add=lambda s, x: (s[0] + 1.0 / (x - 1.0), s[1])).compute([2.0, 3.0]) == 1.5
    assert misshapen().compute([2.0, 3.0]) == 5.0


def test_a_spec_does_not_follow_later_changes_of_what_it_was_made_from() -> None:
    grid = {"x": [1, 2]}
    scheme = wr.Boundary(grid)
    grid["x"].append(3)
    grid["y"] = [1]
    assert scheme == wr.Boundary({"x": [1, 2]})


def _always(t: Any, s: Any) -> bool:
    return True


PLACES: dict[str, Callable[[Any], Any]] = {
    "Threshold.predicate": lambda v: wr.Threshold(v),
    "Threshold.min_count": lambda v: wr.Threshold("x > 1", min_count=v),
    "Threshold.min_duration": lambda v: wr.Threshold("x > 1", min_duration=v),
    "Threshold.close": lambda v: wr.Threshold("x > 1", close=v),
    "Threshold.segments": lambda v: wr.Threshold("x > 1", segments=v),
    "Threshold.max_gap": lambda v: wr.Threshold("x > 1", max_gap=v),
    "Threshold.nulls": lambda v: wr.Threshold("x > 1", nulls=v),
    "Boundary": lambda v: wr.Boundary(v),
    "Boundary.width": lambda v: wr.Boundary({"x": v}),
    "DoubleBoundary": lambda v: wr.DoubleBoundary(v),
    "DoubleBoundary.width": lambda v: wr.DoubleBoundary({"x": v}),
    "Delta": lambda v: wr.Delta(v),
    "Delta.limit": lambda v: wr.Delta({"x": v}),
    "Delta.op": lambda v: wr.Delta({"x": 1}, op=v),
    "Delta.reference": lambda v: wr.Delta({"x": 1}, reference=v),
    "Aggregate.aggregate": lambda v: wr.Aggregate(v, ">", 1),
    "Aggregate.op": lambda v: wr.Aggregate(wr.sum("x"), v, 1),
    "Aggregate.limit": lambda v: wr.Aggregate(wr.sum("x"), ">", v),
    "Gap": lambda v: wr.Gap(v),
    "Custom.columns": lambda v: wr.Custom(v, open=_always, close=_always),
    "Custom.open": lambda v: wr.Custom(["x"], open=v, close=_always),
    "Custom.state": lambda v: wr.Custom(["x"], open=_always, close=_always, state=v),
    "Custom.record": lambda v: wr.Custom(["x"], open=_always, close=_always, record=v),
    "Custom.labels": lambda v: wr.Custom(["x"], open=_always, close=_always, labels=v),
    "Custom.open_frames": lambda v: wr.Custom(["x"], open=_always, close=_always, open_frames=v),
    "Custom.field": lambda v: wr.Custom(["x"], open=_always, close=_always, state={"x": v}),
    "Sliding.length": lambda v: wr.Sliding(v, every=1),
    "Sliding.every": lambda v: wr.Sliding(10, every=v),
    "Sliding.emit": lambda v: wr.Sliding(10, every=5, emit=v),
    "Tumbling": lambda v: wr.Tumbling(v),
    "Landmark": lambda v: wr.Landmark(v),
    "Rows.n": lambda v: wr.Rows(v),
    "Rows.every": lambda v: wr.Rows(10, every=v),
    "DistinctTimes": lambda v: wr.DistinctTimes(v),
    "quantile.q": lambda v: wr.quantile("x", v),
    "quantile.eps": lambda v: wr.quantile("x", 0.5, eps=v),
    "rank": lambda v: wr.rank("x", v),
    "top_k": lambda v: wr.top_k("x", v),
    "max_n": lambda v: wr.max_n("x", v),
    "heavy_hitters": lambda v: wr.heavy_hitters("x", v),
    "histogram": lambda v: wr.histogram("x", v),
    "covariance": lambda v: wr.covariance("x", v),
    "sum": lambda v: wr.sum(v),
    "Keep.synopsis": lambda v: Keep(v),
    "Keep.eps": lambda v: Keep("KLLPanes", eps=v),
    "Keep.seed": lambda v: Keep("KLLPanes", eps=0.1, seed=v),
    "Retention.length": lambda v: Retention(v),
    "Retention.kind": lambda v: Retention(10, v),
    "Accuracy": lambda v: Accuracy(v, 0.1),
    "synopsis.aggregate": lambda v: TwoStacks(v, Retention(10)),
    "synopsis.retention": lambda v: TwoStacks(wr.sum("x"), v),
    "synopsis.accuracy": lambda v: TwoStacks(wr.sum("x"), Retention(10), v),
    "synopsis.seed": lambda v: KLLPanes(wr.median("x"), Retention(10), Accuracy(0.1, 0.1), seed=v),
    "sample.size": lambda v: BiasedReservoir(wr.median("x"), Retention(10), Accuracy(0.1, 0.1), size=v),
    "roll.every": lambda v: list(TwoStacks(wr.sum("x"), Retention(10)).roll(np.arange(4), np.ones(4), v)),
    "check_aggregate": lambda v: check_aggregate(v),
    **{
        f"advise.{name}": lambda v, name=name: wr.advise(
            wr.median("x"), **{"retention": 100, "slide": 10, "delta": 0.1, name: v}
        )
        for name in (
            "retention", "slide", "eps", "delta", "groups", "prefer", "limit_bytes", "batch", "kind", "whole", "model",
        )
    },
}  # fmt: skip


@pytest.mark.parametrize("place", PLACES)
def test_whatever_is_put_in_place_of_an_argument_is_taken_or_refused_in_our_words(place):
    for name, value in BAD.items():
        try:
            made = PLACES[place](value)
        except WindrowError as refusal:
            made = str(refusal)
        except Exception as error:
            raise AssertionError(f"{place}: {name} raises {type(error).__name__}: {str(error)[:200]}") from error
        assert len(made if isinstance(made, str) else repr(made)) < 200_000, "what is made can be shown"
