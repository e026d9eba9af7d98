"""Sums of integers do not depend on the plan, on how partitions merge, or on ANSI mode."""

from __future__ import annotations

import random
from typing import Any

import pytest

import windrow as wr
from sweeps import long

pytestmark = pytest.mark.spark

LEAST, MOST = -(2**63), 2**63 - 1
AGG = {"s": wr.sum("v")}


def groups() -> dict[int, list[int | None]]:
    """Values of groups whose sums fit, though sums of some of them do not."""
    chance = random.Random(4)
    found: dict[int, list[int | None]] = {
        0: [MOST, 5, -10],
        1: [LEAST, -1, 1, None],
        2: [MOST] * 4 + [LEAST] * 4,
        3: [None],
    }
    for g in range(4, 12):
        values = [chance.randint(LEAST, MOST) for _ in range(20)]
        while not LEAST <= sum(values) <= MOST:
            values.append(max(LEAST, min(MOST, -sum(values))))
        found[g] = [*values]
    return found


def rows(values: dict[int, list[int | None]]) -> list[tuple[int, int, int | None]]:
    found = [(g, i, v) for g, several in values.items() for i, v in enumerate(several)]
    random.Random(5).shuffle(found)
    return found


@pytest.fixture(params=[pytest.param("true", id="ANSI"), long("false", id="not ANSI")])
def session(spark: Any, request: pytest.FixtureRequest) -> Any:
    before = spark.conf.get("spark.sql.ansi.enabled")
    spark.conf.set("spark.sql.ansi.enabled", request.param)
    yield spark
    spark.conf.set("spark.sql.ansi.enabled", before)


def results(df: Any, plan: str) -> list[dict[Any, int | None]]:
    """The sum of each group, by frames and by windows that have all its rows."""
    asked: dict[str, Any] = {"on": "t", "by": "g", "agg": AGG, "plan": plan}
    both = wr.frames(df, wr.Gap(10), **asked), wr.slide(df, wr.Tumbling(1000), **asked)
    return [{row["g"]: row["s"] for row in found.collect()} for found in both]


def test_sums_of_integers_bear_what_is_past_64_bits_on_the_way(session: Any) -> None:
    values = groups()
    df = session.createDataFrame(rows(values), "g long, t long, v long").repartition(5)
    wanted = {g: sum(v for v in several if v is not None) if any(several) else None for g, several in values.items()}
    for plan in ("native", "shuffle"):
        assert results(df, plan) == [wanted, wanted]


def test_sums_of_short_integers_are_exact(session: Any) -> None:
    df = session.createDataFrame([(1, i, 2**31 - 1 - i) for i in range(9)], "g long, t long, v int")
    for plan in ("native", "shuffle"):
        assert results(df, plan) == [{1: 9 * (2**31 - 1) - 36}] * 2


def test_sums_of_integers_that_do_not_fit_are_an_error(session: Any) -> None:
    for values in ([MOST, 1], [LEAST, -1], [MOST] * 9):
        df = session.createDataFrame(rows({1: values}), "g long, t long, v long").repartition(2)
        for plan in ("native", "shuffle"):
            asked: dict[str, Any] = {"on": "t", "by": "g", "agg": AGG, "plan": plan}
            with pytest.raises(Exception, match=r"sum\('v'\) exceeds 64 bits"):
                wr.frames(df, wr.Gap(10), **asked).collect()
            with pytest.raises(Exception, match=r"sum\('v'\) exceeds 64 bits"):
                wr.slide(df, wr.Tumbling(1000), **asked).collect()
