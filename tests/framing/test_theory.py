"""The definitions by brute force, and what each scheme declares of itself held to them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import windrow as wr
from fuzz.schemes import SPECIFICATIONS
from streams import Sample, samples
from windrow.errors import DataError
from windrow.framing.schemes import SCHEMES
from windrow.framing.theory.brute_force import Frame, candidate_frames, final_frames, settle_nulls
from windrow.framing.theory.intervals import (
    Framing,
    Interval,
    framings,
    has_sub_interval_closure,
    has_super_interval_closure,
    has_union_closure,
    is_covering,
    is_drained,
    is_maximal,
    is_maximal_from_the_left,
    is_minimal,
    is_minimal_from_the_left,
    is_overlapping,
    is_partitioning,
    is_saturated,
    is_separated,
    is_unique,
    possible_frames,
)
from windrow.framing.theory.local import StreamRow
from windrow.testing import framing, framing_properties


def intervals(*pairs: tuple[int, int]) -> list[Interval]:
    return [Interval(*pair) for pair in pairs]


def values(*numbers: float) -> list[StreamRow]:
    return [StreamRow(i, {"x": x}) for i, x in enumerate(numbers)]


# Definition 2 and the checkers, by hand.


def test_possible_frames_are_all_intervals_of_consecutive_tuples() -> None:
    assert possible_frames(3) == intervals((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))
    assert possible_frames(0) == []


@pytest.mark.parametrize(
    ("pairs", "union", "sub", "super_"),
    [
        ([], True, True, True),
        ([(0, 0), (0, 1), (1, 1)], True, True, False),
        ([(0, 1), (0, 2)], True, False, True),
        ([(0, 1), (1, 2)], False, False, False),
        ([(0, 0), (0, 1), (1, 1), (1, 2), (2, 2)], False, True, False),
        ([(0, 0), (2, 2)], True, True, False),
        ([(1, 1)], True, True, False),
    ],
)
def test_closures_of_three_tuples(pairs: list[tuple[int, int]], union: bool, sub: bool, super_: bool) -> None:
    candidates = intervals(*pairs)
    assert has_union_closure(candidates) == union
    assert has_sub_interval_closure(candidates) == sub
    assert has_super_interval_closure(candidates, 3) == super_


def test_labels_do_not_matter_to_closures() -> None:
    candidates = [Interval(0, 1, (1,)), Interval(1, 2, (2,)), Interval(0, 2, (3,))]
    assert has_union_closure(candidates)


def test_a_frame_is_maximal_unless_a_candidate_of_its_label_contains_it() -> None:
    candidates = [Interval(0, 1), Interval(1, 1), Interval(0, 3, (1,))]
    assert is_maximal([Interval(0, 1)], candidates)
    assert not is_maximal([Interval(0, 1), Interval(1, 1)], candidates)


def test_a_frame_is_minimal_unless_it_contains_a_candidate_of_its_label() -> None:
    candidates = [Interval(0, 1), Interval(1, 1), Interval(0, 0, (1,))]
    assert is_minimal([Interval(1, 1)], candidates)
    assert not is_minimal([Interval(0, 1)], candidates)


def test_from_the_left_candidates_that_overlap_an_earlier_frame_do_not_count() -> None:
    candidates = intervals((0, 0), (0, 2), (1, 2), (1, 1), (2, 2))
    assert is_maximal_from_the_left(intervals((0, 0), (1, 2)), [c for c in candidates if c != Interval(0, 2)])
    assert not is_maximal_from_the_left(intervals((0, 0), (1, 2)), candidates)
    assert not is_maximal_from_the_left(intervals((1, 2)), candidates)
    assert not is_maximal_from_the_left(intervals((0, 0), (2, 2)), candidates)


def test_from_the_left_a_minimal_frame_may_contain_a_candidate_that_starts_later() -> None:
    candidates = intervals((0, 2), (1, 2), (1, 1))
    assert is_minimal_from_the_left(intervals((0, 2)), candidates)
    assert not is_minimal_from_the_left(intervals((1, 2)), candidates)


def test_a_framing_covers_when_no_tuple_of_a_candidate_is_left_out() -> None:
    assert is_covering(intervals((0, 1), (2, 2)), intervals((1, 2)))
    assert not is_covering(intervals((0, 1)), intervals((1, 2)))


def test_a_framing_is_drained_when_every_frame_is_needed() -> None:
    def covers(framing: Framing) -> bool:
        return is_covering(framing, intervals((0, 3)))

    assert is_drained(intervals((0, 2), (2, 3)), covers)
    assert not is_drained(intervals((0, 2), (2, 3), (1, 1)), covers)
    assert not is_drained(intervals((0, 2)), covers)


def test_a_framing_is_saturated_when_no_candidate_can_be_added() -> None:
    candidates = intervals((0, 1), (1, 2), (3, 3))

    def is_disjoint(framing: Framing) -> bool:
        return not is_overlapping(framing)

    assert is_saturated(intervals((0, 1), (3, 3)), candidates, is_disjoint)
    assert not is_saturated(intervals((0, 1)), candidates, is_disjoint)
    assert not is_saturated(intervals((0, 1), (1, 2), (3, 3)), candidates, is_disjoint)


def test_separated_overlapping_and_partitioning() -> None:
    apart, touching, sharing = intervals((0, 0), (2, 3)), intervals((2, 3), (0, 1)), intervals((0, 2), (2, 3))
    assert [is_separated(framing) for framing in (apart, touching, sharing)] == [True, False, False]
    assert [is_overlapping(framing) for framing in (apart, touching, sharing)] == [False, False, True]
    assert [is_partitioning(framing, range(4)) for framing in (apart, touching, sharing)] == [False, True, False]
    assert is_partitioning(apart, [0, 2, 3])


def test_unique_means_that_exactly_one_framing_satisfies_the_conditions() -> None:
    candidates = intervals((0, 0), (0, 1), (1, 1))
    assert is_unique(candidates, lambda framing: is_covering(framing, candidates) and is_maximal(framing, candidates))
    assert not is_unique(candidates, lambda framing: is_covering(framing, candidates))
    assert not is_unique(candidates, lambda framing: len(framing) > 3)


# Lemma 2, read with care.


def test_among_all_candidates_maximal_delta_frames_overlap() -> None:
    candidates = candidate_frames(wr.Delta({"x": 4}), values(0, 3, 6))
    result = framings(candidates, lambda framing: is_maximal(framing, candidates) and is_covering(framing, candidates))
    assert list(result) == [tuple(intervals((0, 1), (1, 2)))]


def test_among_all_candidates_maximal_covering_drained_delta_frames_are_not_unique() -> None:
    candidates = candidate_frames(wr.Delta({"x": 4}), values(0, 3, 6, 9, 12))
    maximal = [candidate for candidate in candidates if is_maximal([candidate], candidates)]
    result = set(framings(maximal, lambda framing: is_drained(framing, lambda rest: is_covering(rest, candidates))))
    assert result == {tuple(intervals((0, 1), (1, 2), (3, 4))), tuple(intervals((0, 1), (2, 3), (3, 4)))}


def test_lemma_2_takes_the_first_possible_frame_and_then_the_next_from_where_it_ended() -> None:
    frames = final_frames(wr.Delta({"x": 4}), values(0, 3, 6, 9, 12))
    assert [frame.interval for frame in frames] == intervals((0, 1), (2, 3), (4, 4))
    frames = final_frames(wr.Delta({"x": 4}, op=">"), values(0, 3, 6, 9, 12))
    assert frames == [Frame((0, 1, 2), 2), Frame((3, 4), None, complete=False)]


# What each scheme declares.


@dataclass
class Case:
    """A stream framed by a scheme; what is reported as an incomplete frame counts as a candidate too."""

    scheme: wr.Scheme
    stream: list[StreamRow]

    def __post_init__(self) -> None:
        self.framing = [frame.interval for frame in final_frames(self.scheme, self.stream)]
        self.candidates = candidate_frames(self.scheme, self.stream)
        self.rows = [i for i, row in enumerate(self.stream) if not row.breaks]

    @property
    def properties(self) -> set[str]:
        """The properties that hold, by brute force."""
        held = framing_properties(self.framing, self.candidates | set(self.framing), rows=self.rows)
        return held if self.rows else held | {"overlapping"}


class Room(wr.AggregateFunction):
    """A falling aggregate: the number of rows, negative."""

    monotonic = "falling"

    @staticmethod
    def zero():
        return (0.0,)

    @staticmethod
    def add(s, x):
        return (s[0] - 1.0,)

    @staticmethod
    def merge(a, b):
        return (a[0] + b[0],)

    @staticmethod
    def finish(s):
        return s[0]


class Closeness(wr.AggregateFunction):
    """A falling aggregate that is undefined for few rows: two minus the range."""

    monotonic = "falling"
    needs = 3
    duplicate_sensitive = False

    @staticmethod
    def zero():
        return (math.inf, -math.inf)

    @staticmethod
    def add(s, x):
        return (min(s[0], x), max(s[1], x))

    @staticmethod
    def merge(a, b):
        return (min(a[0], b[0]), max(a[1], b[1]))

    @staticmethod
    def finish(s):
        return 2 + s[0] - s[1]


CLOSURES: dict[str, Callable[[Case], bool]] = {
    "union": lambda case: has_union_closure(case.candidates),
    "sub-interval": lambda case: has_sub_interval_closure(case.candidates),
    "super-interval": lambda case: has_super_interval_closure(case.candidates, len(case.stream)),
}

DEFINED = [kind for kind in SCHEMES if kind.local_condition is not wr.Scheme.local_condition]
"""The schemes that have candidate frames; `Custom` declares nothing."""


def drawn_case(kind: type[wr.Scheme], data: st.DataObject, max_size: int) -> Case:
    """A random scheme over a random stream that meets its assumptions: no negative terms where a sum must not fall."""
    scheme = data.draw(SPECIFICATIONS[kind])
    sample: Sample = data.draw(samples(scheme, max_size=max_size))
    if isinstance(scheme, wr.Aggregate) and scheme.aggregate.monotonic == "non-negative":
        sample = Sample(sample.on, {**sample.columns, "x": [x and abs(x) for x in sample.columns["x"]]})
    try:
        return Case(scheme, settle_nulls(scheme, sample.stream))
    except DataError:
        assume(False)
        raise


@pytest.mark.parametrize("kind", DEFINED, ids=lambda kind: kind.__name__)
@given(data=st.data())
def test_declared_closures_and_properties_hold(kind: type[wr.Scheme], data: st.DataObject) -> None:
    # Overlapping framings are many: the search for others doubles with every candidate.
    overlapping = any("overlapping" in scheme.properties for scheme in kind.examples())
    case = drawn_case(kind, data, max_size=6 if overlapping else 8)
    for closure in case.scheme.closure:
        assert CLOSURES[closure](case), closure
    assert case.scheme.properties <= case.properties


def trues(*flags: bool, step: int = 1) -> list[StreamRow]:
    return [StreamRow(i * step, {"hit": flag, "stop": not flag, "x": float(flag)}) for i, flag in enumerate(flags)]


NULL = StreamRow(1, {"x": None}, breaks=True)
TIED = [StreamRow(0, {"x": 0.0}), StreamRow(0, {"x": 2.0}), StreamRow(1, {"x": 0.0})]
BROKEN = [StreamRow(0, {"x": 0.0}), NULL, StreamRow(2, {"x": 3.0})]


@pytest.mark.parametrize(
    ("scheme", "closure", "stream"),
    [
        (wr.Threshold("hit", min_count=2), "sub-interval", trues(True, True)),
        (wr.Threshold("hit"), "super-interval", trues(True, False)),
        (wr.Boundary({"x": 1.0}), "super-interval", trues(True, False)),
        (wr.Gap(1), "super-interval", trues(True, True, step=2)),
        (wr.DoubleBoundary({"x": 1.0}), "union", values(1, 2, 3)),
        (wr.DoubleBoundary({"x": 1.0}), "super-interval", values(1, 2, 3)),
        (wr.Delta({"x": 2}), "union", values(0, 2, 4)),
        (wr.Delta({"x": 2}), "super-interval", values(0, 2, 4)),
        (wr.Delta({"x": 2}, op=">"), "sub-interval", values(0, 3)),
        (
            wr.Delta({"x": 2}, op=">=", max_gap=0),
            "super-interval",
            TIED,
        ),
        (wr.Delta({"x": 0}, op=">=", nulls="break"), "super-interval", BROKEN),
        (wr.Delta({"x": 2}, reference="first"), "sub-interval", values(2, 0, 4)),
        (wr.Delta({"x": 2}, op=">", reference="first"), "super-interval", values(2, 0, 3)),
        (wr.Aggregate(wr.sum("x"), "<=", 2), "union", values(1, 1, 1)),
        (wr.Aggregate(wr.sum("x"), ">=", 2), "sub-interval", values(1, 1, 1)),
        (wr.Aggregate(wr.sum("x"), ">=", 0, nulls="break"), "super-interval", BROKEN),
        (wr.Aggregate(wr.mean("x"), "<", 2), "sub-interval", values(0, 3)),
        (wr.Aggregate(wr.mean("x"), ">", 2), "super-interval", values(0, 3)),
        (wr.Aggregate(wr.min("x"), "<", 2), "sub-interval", values(1, 3)),
        (wr.Aggregate(wr.min("x"), "<", 2), "super-interval", values(3, 1)),
        (wr.Aggregate(wr.min("x"), ">", 2), "super-interval", values(3, 1)),
        (wr.Aggregate(Room("x"), ">=", -2), "union", values(0, 0, 0)),
        (wr.Aggregate(Closeness("x"), "<", 0), "union", values(0, 0, 0, 5)),
        (wr.Aggregate(Closeness("x"), ">", 0), "sub-interval", values(0, 0, 0)),
    ],
    ids=repr,
)
def test_a_closure_that_is_not_declared_has_a_counterexample(
    scheme: wr.Scheme, closure: str, stream: list[StreamRow]
) -> None:
    assert closure not in scheme.closure
    assert not CLOSURES[closure](Case(scheme, stream))


@pytest.mark.parametrize(
    ("scheme", "name", "stream"),
    [
        (wr.Threshold("hit", max_gap=1), "separated", trues(True, True, step=2)),
        (wr.Threshold("hit"), "partitioning", trues(True, False)),
        (wr.Threshold("hit", segments=True), "separated", trues(True, False)),
        (wr.Boundary({"x": 1.0}), "separated", values(1, 2)),
        (wr.Gap(1), "separated", trues(True, True, step=2)),
        (wr.DoubleBoundary({"x": 1.0}), "drained", values(1)),
        (wr.DoubleBoundary({"x": 1.0}), "partitioning", values(1)),
        (wr.Delta({"x": 2}), "separated", values(0, 3)),
        (wr.Delta({"x": 2}, reference="first"), "separated", values(0, 3)),
        (wr.Aggregate(wr.sum("x"), "<", 2), "partitioning", values(3, 1)),
        (wr.Aggregate(wr.mean("x"), "<", 2), "partitioning", values(3, 0)),
        (wr.Aggregate(wr.min("x"), "<", 2), "partitioning", values(3, 1)),
        (wr.Aggregate(wr.min("x"), ">", 2), "separated", values(3, 3)),
        (wr.DoubleBoundary({"x": 1.0}), "disjoint", values(1)),
        (wr.Aggregate(wr.variance("x"), "<", 2), "separated", values(0, 5)),
    ],
    ids=repr,
)
def test_a_property_that_is_not_declared_has_a_counterexample(
    scheme: wr.Scheme, name: str, stream: list[StreamRow]
) -> None:
    assert name not in scheme.properties
    assert name not in Case(scheme, stream).properties


def test_what_aggregate_frames_of_a_sum_declare_needs_terms_that_are_not_negative() -> None:
    case = Case(wr.Aggregate(wr.sum("x"), "<=", 2), values(2, -1, 3))
    assert not has_sub_interval_closure(case.candidates)
    assert not is_covering(case.framing, case.candidates)


@pytest.mark.parametrize("op", ["<", "<=", ">", ">="])
@pytest.mark.parametrize("aggregate", [wr.min("x"), Room("x"), Closeness("x")], ids=repr)
@given(data=st.data())
def test_closures_and_properties_of_falling_aggregates_hold(
    aggregate: wr.AggregateFunction, op: str, data: st.DataObject
) -> None:
    scheme = wr.Aggregate(aggregate, op, data.draw(st.integers(-4, 4)), max_gap=data.draw(st.sampled_from([None, 1])))
    case = Case(scheme, settle_nulls(scheme, data.draw(samples(scheme, max_size=8)).stream))
    assert "disjoint" in scheme.properties
    assert all(CLOSURES[closure](case) for closure in scheme.closure)
    assert scheme.properties <= case.properties


def test_lemma_1_applies_to_a_falling_aggregate_below_a_limit() -> None:
    scheme = wr.Aggregate(wr.min("x"), "<", 2)
    assert scheme.closure == {"union"}
    assert scheme.properties == {"unique", "drained", "maximal", "covering", "disjoint"}
    assert Case(scheme, values(3, 1, 3, 0, 5)).framing == intervals((1, 4))


def test_a_falling_aggregate_above_a_limit_has_single_rows_as_minimal_frames() -> None:
    scheme = wr.Aggregate(wr.min("x"), ">", 2)
    assert scheme.closure == {"sub-interval"}
    assert "unique" not in scheme.properties
    frames = final_frames(scheme, values(3, 3, 0, 3))
    assert frames == [Frame((0,), 0), Frame((1,), 1), Frame((2, 3), None, complete=False)]
    # By the conditions alone, the row in the incomplete frame would be a frame as well.
    assert framing([3, 3, 0, 3], lambda extent: min(extent) > 2, {"minimal", "disjoint"}) == [(0, 0), (1, 1), (3, 3)]


def test_the_maximal_frames_of_a_minimum_above_a_limit_are_threshold_frames() -> None:
    numbers = (3, 3, 0, 3)
    frames = framing(numbers, lambda extent: min(extent) > 2, {"maximal", "covering", "drained", "unique"})
    above = [StreamRow(i, {"hit": x > 2}) for i, x in enumerate(numbers)]
    assert frames == [frame.interval[:2] for frame in final_frames(wr.Threshold("x > 2"), above)]


@given(data=st.data())
def test_custom_frames_share_no_row_where_they_declare_so(data: st.DataObject) -> None:
    scheme = data.draw(SPECIFICATIONS[wr.Custom])
    sample: Sample = data.draw(samples(scheme, missing=False))
    members = [i for frame in final_frames(scheme, sample.stream) for i in frame.members]
    assert "disjoint" not in scheme.properties or len(members) == len(set(members))


def test_delta_frames_are_maximal_from_their_start_but_not_among_all_candidates() -> None:
    case = Case(wr.Delta({"x": 4}), values(0, 3, 6))
    assert is_maximal_from_the_left(case.framing, case.candidates)
    assert not is_maximal(case.framing, case.candidates)
    case = Case(wr.Delta({"x": 4}, op=">"), values(0, 0, 5))
    assert is_minimal_from_the_left(case.framing, case.candidates)
    assert not is_minimal(case.framing, case.candidates)


@given(data=st.data())
def test_every_tuple_is_in_exactly_two_double_boundary_frames(data: st.DataObject) -> None:
    case = drawn_case(wr.DoubleBoundary, data, max_size=8)
    assume("covering" in case.scheme.properties)
    assert all(sum(i in frame.extent for frame in case.framing) == 2 for i in case.rows)


def test_schemes_without_a_local_condition_have_no_candidates() -> None:
    def never(t, s):  # type: ignore[no-untyped-def]
        return False

    with pytest.raises(NotImplementedError, match="Custom"):
        candidate_frames(wr.Custom(["x"], open=never, close=never), values(1))
