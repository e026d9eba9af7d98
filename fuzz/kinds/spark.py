"""Plans on Spark: native, shuffle, ranges and scan, for many groups at a time, in zones with clock changes."""

from __future__ import annotations

import random
from typing import Any

import windrow as wr
from fuzz import schemes, sliding, windows
from fuzz.case import Kind, Mismatch, NotACase
from fuzz.draw import seconds
from fuzz.kinds import predicates
from fuzz.predicates import evaluate
from fuzz.queries import ExpectedFrames, draw_query, in_order, table_of
from fuzz.results import aggregate
from fuzz.session import draw_settings, folder, settings, write
from fuzz.tables import table
from windrow.errors import WindrowError
from windrow.tuning import tuned

CLOCKS = ("timestamp",) * 4 + ("timestamp_ntz", "date", "bigint", "int", "smallint", "tinyint", "double", "float")
PLANS = ("native", "shuffle", "ranges", "scan")


def without_undecided(parts: dict[str, Any]) -> tuple[dict[str, Any], ExpectedFrames]:
    """Return the case without the groups whose frames depend on rounding."""
    expected = ExpectedFrames(parts)
    while expected.undecided and not expected.fails:
        gone = {key for key, frames in expected.frames.items() if frames is None}
        places = [list(parts["types"]).index(name) for name in parts["by"]]
        rows = [row for row in parts["rows"] if tuple(row[i] for i in places) not in gone]
        parts = parts | {"rows": rows}
        expected = ExpectedFrames(parts)
    return parts, expected


class SparkFrames(Kind):
    """`wr.frames` by each plan that applies."""

    name = "spark-frames"
    share = 3.0
    spark = True

    def draw(self, rng: random.Random) -> dict[str, Any]:
        groups = rng.choice((1, 4, 60, 60, 200))
        runs = rng.random() < 0.7
        parts = draw_query(rng, rows=max(60, groups * 6), groups=groups, clocks=CLOCKS, runs=runs)
        chance = {"native": 1.0 if runs else 0.2, "shuffle": 0.5, "ranges": 0.3, "scan": 0.5}
        plans = [plan for plan in PLANS if rng.random() < chance[plan]] or ["shuffle"]
        layout = {"files": rng.choice((1, 3)), "group": rng.choice((5, 40, 1000)), "seed": rng.randint(0, 999)}
        return parts | draw_settings(rng) | layout | {"plans": plans}

    def check(self, parts: dict[str, Any]) -> int:
        parts, expected = without_undecided(parts)
        if not parts["rows"]:
            raise NotACase
        with settings(parts) as session, folder() as place:
            shuffled = random.Random(parts["seed"]).sample(parts["rows"], len(parts["rows"]))
            write(table_of(parts, shuffled), f"{place}/any", parts["files"], parts["group"])
            write(table_of(parts, in_order(parts)), f"{place}/log", parts["files"], parts["group"])
            any_order = wr.parquet(session, f"{place}/any").df
            log = wr.parquet(session, f"{place}/log")
            compared = 0
            for plan in parts["plans"]:
                compared += self._compare(parts, expected, plan, log if plan == "scan" else any_order)
            return compared

    def _compare(self, parts: dict[str, Any], expected: ExpectedFrames, plan: str, source: Any) -> int:
        agg = {f"a{i}": aggregate(name) for i, name in enumerate(parts["agg"])}
        arguments: dict[str, Any] = {
            "on": "t",
            "by": parts["by"] or None,
            "agg": agg,
            "order_by": parts["order_by"] or None,
        }
        scheme = schemes.build(parts["scheme"])
        if plan == "native" and "native" not in str(self._explained(source, scheme, arguments)):
            return 0
        with tuned(by_ranges=plan == "ranges"):
            try:
                table = wr.frames(source, scheme, **arguments, plan="shuffle" if plan == "ranges" else plan).toArrow()
            except Exception as error:
                if expected.fails:
                    return 1
                raise Mismatch(f"{plan}: {_named(error)}", str(error)[-3000:]) from None
        if expected.fails:
            raise Mismatch(f"{plan}: does not fail", "by the definition the query must fail")
        return expected.compare([table], f"{plan}: ")

    @staticmethod
    def _explained(source: Any, scheme: Any, arguments: dict[str, Any]) -> str:
        try:
            return wr.explain(source, scheme, **arguments, plan="native").plan
        except WindrowError:
            return ""


class SparkClocks(SparkFrames):
    """`wr.frames` across clock changes: durations of minutes and hours that the native plan must measure."""

    name = "spark-clocks"
    share = 1.0

    def draw(self, rng: random.Random) -> dict[str, Any]:
        while True:
            parts = draw_query(rng, rows=400, groups=100, clocks=("timestamp", "timestamp", "timestamp_ntz"), runs=True)
            if self._has_long_durations(parts["scheme"]):
                break
        layout = {"files": 1, "group": 1000, "seed": 0}
        return parts | draw_settings(rng) | layout | {"cores": 2, "plans": ["native"]}

    @staticmethod
    def _has_long_durations(scheme: dict[str, Any]) -> bool:
        parts = [scheme, *(scheme["args"] if scheme["name"] == "Conjunction" else [])]
        lengths = [part["options"].get(name) for part in parts for name in ("max_gap", "min_duration")]
        lengths += [argument for part in parts for argument in part["args"]]
        microseconds = [seconds(length) for length in lengths if isinstance(length, str) and "microseconds" in length]
        return any(600_000_000 <= length <= 36_000_000_000 for length in microseconds)


def _named(error: Exception) -> str:
    """Return the error's name, and its Spark condition if it has one."""
    condition = getattr(error, "getCondition", lambda: None)()
    return f"{type(error).__name__} {condition or ''}".strip()


class SparkSlide(Kind):
    """`wr.slide` by each plan that applies."""

    name = "spark-slide"
    share = 2.0
    spark = True

    def draw(self, rng: random.Random) -> dict[str, Any]:
        groups = rng.choice((1, 4, 60))
        with_synopsis = rng.random() < 0.25
        clocks = ("timestamp", "timestamp", "timestamp_ntz", "date", "bigint", "int", "double", "smallint")
        parts = sliding.draw_slide(
            rng, rows=max(40, groups * 8), groups=groups, with_synopsis=with_synopsis, clocks=clocks
        )
        plans = [plan for plan in ("native", "shuffle", "scan") if rng.random() < 0.6] or ["native"]
        return (
            parts | draw_settings(rng) | {"files": rng.choice((1, 3)), "group": rng.choice((5, 1000)), "plans": plans}
        )

    def check(self, parts: dict[str, Any]) -> int:
        if not parts["windows"] or not parts["agg"] or not parts["rows"]:
            raise NotACase
        slide = sliding.slide_of(parts)
        try:
            slide.check()
        except WindrowError:
            raise NotACase from None
        expected = sliding.ExpectedWindows(parts)
        with settings(parts) as session, folder() as place:
            write(table_of(parts, in_order(parts)), f"{place}/log", parts["files"], parts["group"])
            source = wr.parquet(session, f"{place}/log")
            return sum(self._compare(parts, expected, plan, source) for plan in parts["plans"])

    def _compare(self, parts: dict[str, Any], expected: Any, plan: str, source: Any) -> int:
        agg = {f"a{i}": aggregate(name) for i, name in enumerate(parts["agg"])}
        using = {name: wr.Keep(*keep) for name, keep in parts["using"].items()} or None
        made = {name: windows.build(window) for name, window in parts["windows"].items()}
        try:
            table = wr.slide(
                source if plan == "scan" else source.df, made if len(made) > 1 else made["w0"], on="t",
                by=parts["by"] or None, agg=agg, order_by=parts["order_by"] or None, plan=plan, using=using,
                empty=parts["empty"], only_changed=parts["only_changed"],
            ).toArrow()  # fmt: skip
        except WindrowError as error:
            if "plan=" in str(error) or sliding.is_refusal(error) or expected.fails or expected.may_fail:
                return 0
            raise Mismatch(f"{plan}: {_named(error)}", str(error)[-3000:]) from None
        except Exception as error:
            if expected.fails or expected.may_fail or sliding.is_refusal(error):
                return 1
            raise Mismatch(f"{plan}: {_named(error)}", str(error)[-3000:]) from None
        if expected.fails:
            raise Mismatch(f"{plan}: does not fail", "by the definition the query must fail")
        by_window = [*parts["by"], *(["window"] if len(made) > 1 else [])]
        keys = [(name, "ascending") for name in (*by_window, "end", "start")]
        counted = any(window["name"] in ("Rows", "DistinctTimes") for window in parts["windows"].values())
        return int(expected.compare([table if counted else table.sort_by(keys)], f"{plan}: "))


class SparkPredicates(Kind):
    """Many conditions in one job: Spark's evaluation against the simple one, and thus against the compiled one."""

    name = "spark-predicates"
    share = 0.3
    spark = True

    def draw(self, rng: random.Random) -> dict[str, Any]:
        rows = [[predicates.value(rng, kind) for kind in predicates.TYPES.values()] for _ in range(20)]
        conditions = [predicates.condition(rng) for _ in range(60)]
        return {"conditions": conditions, "rows": rows} | draw_settings(rng)

    def check(self, parts: dict[str, Any]) -> int:
        if not parts["rows"] or not parts["conditions"]:
            raise NotACase
        with settings(parts) as session, folder() as place:
            write(table(predicates.TYPES, parts["rows"]), f"{place}/rows", 1, 1000)
            df = session.read.parquet(f"{place}/rows").coalesce(1)
            truths = df.selectExpr(*(f"({text}) as c{i}" for i, text in enumerate(parts["conditions"]))).toArrow()
        columns = [column.to_pylist() for column in truths.columns]
        for text, truths in zip(parts["conditions"], columns, strict=True):
            for row, truth in zip(parts["rows"], truths, strict=True):
                expected = evaluate(text, dict(zip(predicates.TYPES, row, strict=True)))
                if truth is not expected:
                    raise Mismatch("predicate: differs", f"{text} over {row}: Spark {truth}, expected {expected}")
        return len(columns)
