"""`windrow.testing.framing` and `framing_properties`, compared with definitions by sets of rows and with kernels."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from itertools import chain, combinations
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow as wr
from streams import INTEGER, framed, traffic
from windrow.errors import SpecError
from windrow.framing.schemes.base import Property
from windrow.framing.theory.conditions import CONDITIONS
from windrow.testing import framing, framing_properties

Frame = tuple[int, int]
WAVE = [1.0, 3.0, 4.0, 6.0, 7.0, 7.0, 5.0, 2.0, 1.0, 0.0, 4.0, 9.0]
"""A curve that rises and falls, as in Figure 2 of "Frames" (2016)."""


# The definitions of section 3.1, written with sets of rows.


def rows_of(frame: Frame) -> frozenset[int]:
    return frozenset(range(frame[0], frame[1] + 1))


def union(frames: Collection[Frame]) -> frozenset[int]:
    return frozenset(chain.from_iterable(map(rows_of, frames)))


def disjoint(frames: Collection[Frame], candidates: Collection[Frame]) -> bool:
    return all(not rows_of(a) & rows_of(b) for a, b in combinations(frames, 2))


def maximal(frames: Collection[Frame], candidates: Collection[Frame]) -> bool:
    for frame in frames:
        earlier = union([f for f in frames if f[1] < frame[0]]) if disjoint(frames, candidates) else frozenset()
        if any(rows_of(c) > rows_of(frame) and not rows_of(c) & earlier for c in candidates):
            return False
    return True


def minimal(frames: Collection[Frame], candidates: Collection[Frame]) -> bool:
    apart = disjoint(frames, candidates)
    inside = [(c, f) for c in candidates for f in frames if rows_of(c) < rows_of(f)]
    return all(apart and c[0] != f[0] for c, f in inside)


def covering(frames: Collection[Frame], candidates: Collection[Frame]) -> bool:
    return union(candidates) <= union(frames)


def drained(frames: Collection[Frame], candidates: Collection[Frame]) -> bool:
    parts = ([f for f in frames if f != left_out] for left_out in frames)
    return covering(frames, candidates) and not any(covering(part, candidates) for part in parts)


def separated(frames: Collection[Frame], candidates: Collection[Frame]) -> bool:
    return all(max(a[0], b[0]) - min(a[1], b[1]) > 1 for a, b in combinations(frames, 2))


Definition = Callable[[Collection[Frame], Collection[Frame]], bool]
LIMITS: dict[str, Definition] = {"disjoint": disjoint, "maximal": maximal, "minimal": minimal}
DEFINED: dict[str, Definition] = {
    **LIMITS,
    "overlapping": lambda frames, candidates: not disjoint(frames, candidates),
    "covering": covering,
    "drained": drained,
    "separated": separated,
}


def defined_properties(frames: list[Frame], candidates: list[Frame]) -> set[str]:
    held = {name for name, definition in DEFINED.items() if definition(frames, candidates)}

    def saturated(some: list[Frame]) -> bool:
        larger = ([*some, c] for c in candidates if c not in some)
        return not any(all(LIMITS[name](more, candidates) for name in held & LIMITS.keys()) for more in larger)

    def has_them_all(some: list[Frame]) -> bool:
        return all(DEFINED[name](some, candidates) for name in held) and (not full or saturated(some))

    full = saturated(frames)
    subsets = chain.from_iterable(combinations(candidates, size) for size in range(len(candidates) + 1))
    unique = sum(has_them_all(list(subset)) for subset in subsets) == 1
    return held | ({"saturated"} if full else set()) | ({"unique"} if unique else set())


@st.composite
def candidate_sets(draw: st.DrawFn) -> list[Frame]:
    """Any intervals of four rows, or those that some interesting condition allows."""
    possible = [(i, j) for i in range(4) for j in range(i, 4)]
    return sorted(draw(st.sets(st.sampled_from(possible), max_size=7)))


@given(candidates=candidate_sets(), data=st.data())
def test_properties_are_those_of_the_definitions(candidates: list[Frame], data: st.DataObject) -> None:
    frames = sorted(data.draw(st.sets(st.sampled_from(candidates)))) if candidates else []
    assert framing_properties(frames, candidates) == defined_properties(frames, candidates)


@given(candidates=candidate_sets(), names=st.sets(st.sampled_from(sorted(CONDITIONS)), max_size=4))
def test_a_framing_has_the_properties_that_it_is_selected_by(candidates: list[Frame], names: set[str]) -> None:
    def local(extent: Sequence[int]) -> bool:
        return (extent[0], extent[-1]) in candidates

    try:
        frames = framing(range(4), local, names)
    except SpecError as error:
        assert str(error).startswith("conditions: expected conditions that one framing satisfies; ")  # noqa: PT017
    else:
        assert set(frames) <= set(candidates)
        assert names <= framing_properties(frames, candidates, rows=range(4))


@given(candidates=candidate_sets())
def test_without_conditions_all_candidates_are_returned(candidates: list[Frame]) -> None:
    assert framing(range(4), lambda extent: (extent[0], extent[-1]) in candidates) == candidates


def test_there_is_a_check_for_every_property_that_schemes_declare() -> None:
    assert set(get_args(Property)) == set(CONDITIONS)


# Framings that lack a property, next to one that has it.

ALL = [(0, 0), (0, 1), (1, 1), (2, 2), (2, 3), (3, 3)]
"""Two cells of two rows each, as candidates of boundary frames."""


@pytest.mark.parametrize(
    ("name", "having", "lacking"),
    [
        ("disjoint", [(0, 1), (2, 2)], [(0, 1), (1, 1)]),
        ("overlapping", [(0, 1), (1, 1)], [(0, 0), (1, 1)]),
        ("separated", [(0, 0), (2, 2)], [(0, 1), (2, 2)]),
        ("covering", [(0, 1), (2, 3)], [(0, 1), (2, 2)]),
        ("maximal", [(2, 3)], [(3, 3)]),
        ("maximal", [(0, 1), (2, 3)], [(0, 1), (2, 2), (3, 3)]),
        ("minimal", [(0, 0), (1, 1)], [(0, 1)]),
        ("drained", [(0, 0), (1, 1), (2, 3)], [(0, 0), (0, 1), (2, 3)]),
        ("drained", [(0, 1), (2, 3)], [(0, 1)]),
        ("saturated", [(0, 1), (2, 3)], [(0, 1)]),
        ("saturated", ALL, ALL[1:]),
        ("unique", [(0, 1), (2, 3)], [(0, 1)]),
        ("unique", [(0, 0), (1, 1), (2, 2), (3, 3)], [(0, 0), (1, 1), (2, 3)]),
        ("partitioning", [(0, 1), (2, 3)], [(0, 1), (3, 3)]),
        ("partitioning", [(0, 0), (1, 1), (2, 3)], [(0, 1), (1, 1), (2, 3)]),
    ],
)
def test_a_framing_that_lacks_a_property_is_rejected(name: str, having: list[Frame], lacking: list[Frame]) -> None:
    assert name in framing_properties(having, ALL, rows=range(4))
    assert name not in framing_properties(lacking, ALL, rows=range(4))


def test_partitioning_is_reported_only_of_given_rows() -> None:
    assert "partitioning" not in framing_properties([(0, 1), (2, 3)], ALL)
    assert "partitioning" not in framing_properties([(0, 1), (2, 3)], ALL, rows=range(5))


def test_frames_of_different_labels_do_not_compete() -> None:
    candidates = [(0, 0, "a"), (0, 1, "b")]
    assert {"maximal", "overlapping", "unique"} <= framing_properties(candidates, candidates)
    assert "maximal" not in framing_properties([(0, 0), (0, 1)], [(0, 0), (0, 1)])


# The schemes of the paper by their conditions.


def complete_frames(scheme: wr.Scheme, values: Sequence[float]) -> list[Frame]:
    """The frames of the kernel that are complete, as positions."""
    sample = traffic(range(len(values)), x=values, hit=[value > 3 for value in values])
    return [(int(row.start), int(row.end)) for row in framed(scheme, INTEGER, sample) if row.complete]


def span(extent: Sequence[float]) -> float:
    return max(extent) - min(extent)


SCHEMES: dict[str, tuple[wr.Scheme, Callable[[Sequence[float]], bool], set[str]]] = {
    "threshold": (wr.Threshold("hit"), lambda extent: min(extent) > 3, {"maximal", "covering", "separated"}),
    "long threshold": (
        wr.Threshold("hit", min_count=2),
        lambda extent: min(extent) > 3 and len(extent) >= 2,
        {"maximal", "covering", "unique", "drained"},
    ),
    "boundary": (
        wr.Boundary({"x": 3}),
        lambda extent: len({-(-x // 3) for x in extent}) == 1,
        {"maximal", "covering", "partitioning"},
    ),
    "maximal delta": (wr.Delta({"x": 4}), lambda extent: span(extent) <= 4, {"maximal", "disjoint"}),
    "minimal delta": (wr.Delta({"x": 4}, op=">"), lambda extent: span(extent) > 4, {"minimal", "disjoint"}),
    "maximal aggregate": (
        wr.Aggregate(wr.sum("x"), "<", 10),
        lambda extent: sum(extent) < 10,
        {"maximal", "disjoint", "covering", "drained", "unique"},
    ),
    "minimal aggregate": (
        wr.Aggregate(wr.sum("x"), ">=", 10),
        lambda extent: sum(extent) >= 10,
        {"minimal", "disjoint"},
    ),
}


@pytest.mark.parametrize(("scheme", "local", "conditions"), SCHEMES.values(), ids=SCHEMES)
@given(values=st.lists(st.integers(0, 12).map(float), max_size=9))
def test_the_conditions_of_the_paper_give_the_frames_of_the_kernel(
    scheme: wr.Scheme, local: Callable[[Sequence[float]], bool], conditions: set[str], values: list[float]
) -> None:
    assert framing(values, local, conditions) == complete_frames(scheme, values)


# Worked examples: definition 3, figure 2, and the remarks of section 3.


def test_speeds_below_40_for_at_least_five_minutes() -> None:
    readings = list(enumerate([50, 38, 36, 31, 30, 35, 39, 44, 39, 38, 52]))

    def slow(extent: Sequence[tuple[int, int]]) -> bool:
        return all(speed < 40 for _, speed in extent) and 60 * (extent[-1][0] - extent[0][0]) >= 300

    assert framing(readings, slow) == [(1, 6)]
    assert framing(readings, slow, {"maximal", "covering"}) == [(1, 6)]


@pytest.mark.parametrize(
    ("name", "frames"),
    [
        ("boundary", [(0, 1), (2, 3), (4, 5), (6, 6), (7, 8), (9, 9), (10, 10), (11, 11)]),
        ("threshold", [(2, 6), (10, 11)]),
        ("minimal aggregate", [(0, 3), (4, 5), (6, 10)]),
        ("minimal delta", [(0, 3), (4, 7), (8, 11)]),
    ],
)
def test_the_schemes_of_figure_2(name: str, frames: list[Frame]) -> None:
    _, local, conditions = SCHEMES[name]
    assert framing(WAVE, local, conditions) == frames


def test_maximal_and_drained_delta_frames_are_not_unique() -> None:
    with pytest.raises(SpecError, match=r"2 framings satisfy covering, drained, maximal, e\.g\. \[\(0, 1\), \(1, 2\)"):
        framing([0, 3, 6, 9, 12], lambda extent: span(extent) <= 4, {"maximal", "covering", "drained"})


def test_maximal_frames_may_overlap_without_union_closure() -> None:
    def small(extent: Sequence[float]) -> bool:
        return span(extent) <= 4

    frames = framing([0, 3, 6], small, {"maximal", "covering"})
    assert frames == [(0, 1), (1, 2)]
    assert framing_properties(frames, framing([0, 3, 6], small)) >= {"overlapping", "maximal", "saturated", "unique"}


def test_double_boundary_frames_are_saturated_but_not_drained() -> None:
    cells = [1, 2, 3]
    candidates = [
        (i, j, n) for i in range(3) for j in range(i, 3) for n in range(4) if set(cells[i : j + 1]) <= {n, n + 1}
    ]
    frames = [(0, 0, 0), (0, 1, 1), (1, 2, 2), (2, 2, 3)]
    held = framing_properties(frames, candidates)
    assert held == {"covering", "maximal", "overlapping", "saturated", "unique"}
    assert all(sum(i <= row <= j for i, j, _ in frames) == 2 for row in range(3))


# Mistakes.


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: framing([1], lambda e: True, "maximal"), r"conditions: expected a set of names .*, got 'maximal'"),
        (
            lambda: framing([1], lambda e: True, {"largest"}),
            r"conditions: expected some of covering, .*; got 'largest'",
        ),
        (lambda: framing([1], lambda e: e, {"maximal"}), r"local: expected a function that returns True or False, got"),
        (lambda: framing([1, 2], lambda e: len(e) == 1, {"maximal", "overlapping"}), r"no framing satisfies maximal, "),
        (
            lambda: framing([2, 1], lambda e: e[0] == 1, {"partitioning", "maximal"}),
            r"\[\(1, 1\)\] is not partitioning",
        ),
        (lambda: framing([1, 2], lambda e: True, {"disjoint"}), r"2 framings satisfy disjoint, e\.g\."),
        (lambda: framing_properties([(1, 0)], []), r"frames: expected pairs of the positions .*; got \(1, 0\)"),
        (lambda: framing_properties([], [3]), r"candidates: expected pairs of the positions .*; got 3"),
        (lambda: framing_properties([(0, 1)], [(0, 0)]), r"frames: expected frames that are candidates, got \(0, 1\)"),
        (
            lambda: framing(range(8), lambda e: True, {"drained", "overlapping"}),
            r"candidates: expected few enough that at most 100,000 framings have to be tried",
        ),
    ],
)
def test_mistakes_are_reported(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        call()
