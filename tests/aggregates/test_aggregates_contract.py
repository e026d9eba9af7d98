"""`windrow.testing.check_aggregate` lets right aggregates pass, and says what is wrong with others."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import pyarrow as pa
import pytest

import windrow as wr
from streams import Span, Trail
from windrow.aggregates import BUILTIN
from windrow.aggregates.text import _example, as_aggregate
from windrow.errors import SpecError
from windrow.testing import check_aggregate, example_aggregate


class Product(wr.AggregateFunction):
    """A user's aggregate with everything right."""

    @staticmethod
    def zero():
        return (1.0,)

    @staticmethod
    def add(s, x):
        return (s[0] * x,)

    @staticmethod
    def merge(a, b):
        return (a[0] * b[0],)

    @staticmethod
    def finish(s):
        return s[0]


@dataclass(frozen=True, repr=False)
class Distance(wr.AggregateFunction):
    """A user's aggregate of two columns, with an option."""

    other: str = "y"
    power: float = 2.0

    reads: ClassVar[int] = 2
    has_options: ClassVar[bool] = True

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column, self.other)

    def options(self, integral: bool) -> Any:
        import numpy as np

        return np.array([self.power])

    @staticmethod
    def zero():
        return (0.0,)

    @staticmethod
    def add(s, x, y, options):
        return (s[0] + abs(x - y) ** options[0],)

    @staticmethod
    def merge(a, b, options):
        return (a[0] + b[0],)

    @staticmethod
    def finish(s, options):
        return s[0] ** (1 / options[0])


@pytest.mark.parametrize("kind", BUILTIN, ids=lambda kind: kind.__name__)
def test_every_aggregate_of_the_package_passes(kind: type[wr.AggregateFunction]) -> None:
    check_aggregate(example_aggregate(kind))


def test_aggregates_of_ones_own_pass() -> None:
    check_aggregate(Product("x"), [1.5, -2.0, 0.5, 4.0])
    check_aggregate(Span("x"))
    check_aggregate(Trail("x"))
    check_aggregate(Distance("x"))
    check_aggregate(Distance("x", power=1.0), [(1, 2), (3, 3), (5, -1)])


def test_an_aggregate_of_ones_own_may_read_two_columns_and_take_options() -> None:
    assert Distance("x", "z", 1.0).compute([1, 2, None], [4, 2, 9]) == 3.0
    assert repr(Distance("x", "z", 1.0)) == "distance('x', other='z', power=1.0)"


def broken(**changed: Any) -> wr.AggregateFunction:
    """The product, with something wrong."""
    functions = {n: staticmethod(f) if callable(f) else f for n, f in changed.items()}
    kind: Any = type("Odd", (Product,), functions)
    return kind("x")  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"merge": lambda a, b: (a[0] + b[0],)}, r"odd\('x'\): merge: values split at 0 give"),
        ({"zero": lambda: (2.0,)}, r"zero must be neutral"),
        ({"merge": lambda a, b: (a[0] * b[0] if a[0] > 4 else b[0],)}, r"merge: values split at 1 give"),
        ({"remove": lambda s, x: (s[0] - x,)}, r"remove does not undo add: the state \(1\.0,\), with \(3\.0,\)"),
        ({"add": lambda s, x: (s[0] * x + 0.5,)}, r"merge: values split at"),
        ({"add": lambda s, x: (float(str(x)),)}, r"does not compile"),
        ({"monotonic": "always"}, r"it is declared monotonic='always', but falls from"),
        ({"monotonic": "falling"}, r"it is declared monotonic='falling', but rises from"),
        ({"duplicate_sensitive": False}, r"each value twice gives .*: declare duplicate_sensitive = True"),
    ],
)
def test_the_violation_is_named(changed: dict[str, Any], message: str) -> None:
    values = [3.0, -1.0, 0.5, 3.0, 2.0] if "monotonic" in changed else [3.0, 1.5, 0.5, 3.0, 2.0]
    with pytest.raises(AssertionError, match=message):
        check_aggregate(broken(**changed), values)


@pytest.mark.parametrize("values", [None, [3.0, -1.0, 2.0, 3.0]], ids=["usual", "of equal ends"])
def test_an_undeclared_first_or_last_value_is_reported(values: list[float] | None) -> None:
    class Oldest(wr.last):
        order_sensitive = False
        builtin = False

    class Newest(wr.first):
        order_sensitive = False
        builtin = False

    for kind in (Oldest, Newest):
        with pytest.raises(AssertionError, match="declare order_sensitive = True"):
            check_aggregate(kind("x"), *([values] if values else []))


def test_an_order_that_is_not_declared_is_named() -> None:
    class Newest(wr.AggregateFunction):
        @staticmethod
        def zero():
            return (0.0, 0.0)

        @staticmethod
        def add(s, x):
            return (1.0, x)

        @staticmethod
        def merge(a, b):
            return b if b[0] > 0 else a

        @staticmethod
        def finish(s):
            return s[1]

    with pytest.raises(AssertionError, match=r"backwards give 3\.0, not 4\.0: declare order_sensitive = True"):
        check_aggregate(Newest("x"), [3.0, 1.0, 4.0])


@pytest.mark.parametrize("values", [[], [1.0], [(1.0, 2.0), (3.0, 4.0)]])
def test_values_that_do_not_fit_are_refused(values: list[Any]) -> None:
    with pytest.raises(SpecError, match=r"values: expected at least two values of 1 number\(s\) each, one per column"):
        check_aggregate(wr.sum("x"), values)


class Letters(wr.AggregateFunction):
    """A state that its declared type does not hold."""

    state = pa.int64()

    @staticmethod
    def zero():
        return ""

    @staticmethod
    def add(s, x):
        return s + str(x)

    @staticmethod
    def merge(a, b):
        return a + b

    @staticmethod
    def finish(s):
        return float(len(s))


def test_a_state_that_is_not_what_it_is_declared_to_be():
    with pytest.raises(AssertionError, match=r"state: the state of 0 value\(s\) does not fit the type int64"):
        check_aggregate(Letters("x"))


def test_a_state_of_any_arrow_type_takes_values_of_any_type():
    check_aggregate(Letters2("place"), ["quay", "sea", "quay", "a", "b"])


class Letters2(Letters):
    """The same, declared as it is."""

    state = pa.string()


def test_an_aggregate_of_the_user_that_divides_by_zero_is_named():
    class Inverse(wr.AggregateFunction):
        zero = staticmethod(lambda: (0.0,))
        add = staticmethod(lambda s, x: (s[0] + 1 / x,))
        merge = staticmethod(lambda a, b: (a[0] + b[0],))
        finish = staticmethod(lambda s: s[0])

    with pytest.raises(wr.DataError, match=r"inverse\('x'\): a function failed on a value: ZeroDivisionError"):
        Inverse("x").compute([2.0, 0.0])


class Midrange(wr.AggregateFunction):
    """An aggregate that declares everything: an example, a definition, and the Spark SQL of its result and state."""

    spark_sql = "(CAST(min({x}) AS DOUBLE) + max({x})) / 2"
    spark_sql_state = ("min({x})", "max({x})")

    @classmethod
    def example(cls, column: str = "x", other: str = "y") -> wr.AggregateFunction:
        return cls(column)

    def definition(self, *columns: Any) -> float:
        return (min(columns[0]) + max(columns[0])) / 2

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
        return (s[0] + s[1]) / 2


class WrongMidrange(Midrange):
    @staticmethod
    def finish(s):
        return s[0]


def test_an_aggregate_is_compared_with_its_definition():
    check_aggregate(Midrange("x"))
    with pytest.raises(AssertionError, match=r"definition: 2 value\(s\) give -1\.0, but 1\.0 by definition"):
        check_aggregate(WrongMidrange("x"))
    with pytest.raises(NotImplementedError, match="Product has no definition in plain Python"):
        Product("x").definition([1.0])


def test_spark_sql_is_inherited_only_with_the_functions_that_it_stands_for():
    assert (WrongMidrange.spark_sql, WrongMidrange.spark_sql_state) == (None, Midrange.spark_sql_state)
    assert type("Odd", (Midrange,), {"add": Midrange.merge}).spark_sql_state is None
    assert type("Odd", (Midrange,), {"needs": 2}).spark_sql is None
    assert type("Odd", (Midrange,), {"source": "here"}).spark_sql == Midrange.spark_sql
    assert type("Odd", (wr.sum,), {"finish": wr.count.finish})("x").spark_sql_over(pa.int64()) is None


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        (
            {"spark_sql": "max({w})"},
            r"the aggregate Odd: 'max\({w}\)' refers to {w}; available: {x}, {y}, {z}, {order}",
        ),
        ({"spark_sql_state": ("max({})",)}, r"'max\({}\)' refers to {}"),
        ({"spark_sql": "max({x)"}, r"the aggregate Odd: 'max\({x\)' is not a template"),
    ],
)
def test_spark_sql_over_anything_else_is_refused(declared: dict[str, Any], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        type("Odd", (Product,), declared)


@pytest.mark.parametrize("kind", BUILTIN, ids=lambda kind: kind.__name__)
def test_the_example_of_an_aggregate_can_be_written_as_a_call(kind: type[wr.AggregateFunction]) -> None:
    assert as_aggregate(_example(kind), "--agg") == kind.example()
    assert kind.example("v", "w").columns == (("v", "w") if kind.reads > 1 else ("v",))
