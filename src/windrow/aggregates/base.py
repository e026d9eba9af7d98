"""The contract of an aggregate: a small algebra over the values of one column, or of several read side by side.

An aggregate consists of four pure functions over a state, which is a tuple of numbers:

    zero()         the state of no values
    add(s, x)      the state after one more value
    merge(a, b)    the state of the values behind `a` followed by those behind `b`
    finish(s)      the result

and, if values can be removed again, `remove(s, x)`. `merge` is associative but need not be commutative: `first` and
`last` are aggregates too. `add` never receives nulls. An aggregate of two columns has `add(s, x, y)` and skips rows
with a null in either column. All functions, built-in and user-defined, are compiled with numba, so they are limited to
numbers, tuples and `math`. The class declares what the aggregate can do; nothing is guessed from its name.

Two more forms serve aggregates whose state is not a fixed tuple. In the form `"row"`, the state is a row of numbers
whose length depends on the aggregate's options; `add(row, x, options)` and `merge(row, other, options)` change it in
place. In the form `"values"`, the state is the sorted distinct values with their counts. It grows, all aggregates share
`add` and `merge`, and each defines only `finish((values, counts), options)`.

A user-defined aggregate may also keep a state of any Arrow type, such as a list or a string, which it declares as
`state`. Its functions then run as plain Python. They take and return states in the form of Arrow's `to_pylist`, and
change none in place.

The class also declares everything else that others need to know: an example for tests and documents, a definition in
plain Python, and the Spark SQL of the same meaning, with which Catalyst aggregates without the kernel.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import MISSING, dataclass, fields
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.aggregates.engine.signature import check_shape, check_spark_sql
from windrow.aggregates.engine.tags import tag_of
from windrow.errors import SpecError, quoted

Kind: TypeAlias = Literal["distributive", "algebraic", "holistic"]
Form: TypeAlias = Literal["numbers", "row", "values", "objects"]
Gives: TypeAlias = Literal["number", "list", "counted list"]
Options: TypeAlias = npt.NDArray[Any]
Counted: TypeAlias = tuple[npt.NDArray[Any], npt.NDArray[np.int64]]
"""The state of form `"values"`: the distinct values in order, and the count of each."""

MOST_VALUES = 10_000_000
"""The default limit of distinct values in a state of form `"values"`: up to 320 MB."""
FUNCTIONS = ("zero", "add", "merge", "finish")
THESIS = "On a design space for sliding windows (2011), table 3.1"


@dataclass(frozen=True, repr=False)
class AggregateFunction:
    """An aggregate of the non-null values of one column; subclass it to define your own.

    Parameters
    ----------
    column
        The column to aggregate.

    Examples
    --------
    A user-defined aggregate, the range of a column:

    >>> import math
    >>> import windrow as wr
    >>> class Range(wr.AggregateFunction):
    ...     @staticmethod
    ...     def zero():
    ...         return (math.inf, -math.inf)
    ...
    ...     @staticmethod
    ...     def add(s, x):
    ...         return (min(s[0], x), max(s[1], x))
    ...
    ...     @staticmethod
    ...     def merge(a, b):
    ...         return (min(a[0], b[0]), max(a[1], b[1]))
    ...
    ...     @staticmethod
    ...     def finish(s):
    ...         return s[1] - s[0]
    >>> Range("speed")
    range('speed')
    >>> Range("speed").compute([3.0, 9.0, 4.0])
    6.0

    The state starts as `zero()`, its numbers are floats, and a frame without non-null values returns null. If `state`
    declares another type, the functions are not compiled, and the values may have any Arrow type:

    >>> import pyarrow as pa
    >>> class Route(wr.AggregateFunction):
    ...     state = pa.list_(pa.string())
    ...     order_sensitive = True
    ...
    ...     def result_type(self, values):
    ...         return pa.string()
    ...
    ...     @staticmethod
    ...     def zero():
    ...         return []
    ...
    ...     @staticmethod
    ...     def add(s, x):
    ...         return s if s and s[-1] == x else [*s, x]
    ...
    ...     @staticmethod
    ...     def merge(a, b):
    ...         return a + b[1:] if a and b and a[-1] == b[0] else a + b
    ...
    ...     @staticmethod
    ...     def finish(s):
    ...         return " > ".join(s)
    >>> Route("place").compute(["quay", "quay", None, "sea", "quay"])
    'quay > sea > quay'
    """

    column: str

    kind: ClassVar[Kind] = "algebraic"
    """How the result follows from the results of parts; the state of a holistic aggregate is unbounded."""
    state: ClassVar[pa.DataType | None] = None
    """The Arrow type of a state that is not a tuple of numbers; the functions are then not compiled."""
    form: ClassVar[Form] = "numbers"
    """The form of the state: a tuple of numbers, a row of numbers whose length depends on the options, the values
    themselves, or an object of the type that `state` declares."""
    gives: ClassVar[Gives] = "number"
    """The form of the result: a number, a list of numbers, or a list of values with their counts."""
    reads: ClassVar[int] = 1
    """The number of columns that a value consists of."""
    has_options: ClassVar[bool] = False
    """Whether the functions take the numbers that `options` returns as their last argument."""
    needs: ClassVar[int] = 1
    """The least number of non-null values for which the result is defined; with fewer it is null."""
    keeps_integers: ClassVar[bool] = False
    """Whether the state over integers consists of exact 64-bit integers; `zero` then takes this as an argument."""
    accepts_instants: ClassVar[bool] = False
    """Whether timestamps and dates can be aggregated in addition to numbers."""
    only_compares: ClassVar[bool] = False
    """Whether the functions only compare and select values, so that text, binary values, Booleans and decimals can be
    aggregated too. They are then codes in the order of the values."""
    value_at: ClassVar[int | None] = None
    """The place of the value in a state of numbers that holds one; for aggregates with `only_compares`."""
    monotonic: ClassVar[Literal["always", "non-negative", "falling", "never"]] = "never"
    """Whether one more value, at any place, can only raise the result: always, or if no value is negative. The result
    is `"falling"` if one more value can only lower it. `"never"` promises nothing."""
    duplicate_sensitive: ClassVar[bool] = True
    """Whether a value that is added twice counts twice."""
    robust: ClassVar[bool] = True
    """Whether the result summarises all values, and so tolerates the loss of some, instead of selecting a few."""
    order_sensitive: ClassVar[bool] = False
    """Whether the result depends on the order of the values."""
    additive: ClassVar[bool] = False
    """Whether the state of several values is the elementwise sum of the states of each."""
    ranks_suffice: ClassVar[bool] = False
    """Whether states of form `"values"` may be summarised, as long as ranks stay within the aggregate's `eps`."""
    of_condition: ClassVar[bool] = False
    """Whether a condition takes the place of the column, as in `time_in("speed > 80")`."""
    timed: ClassVar[bool] = False
    """Whether `add` takes the `on` of a row after its value, and the result depends on where a frame ends."""
    takes_list: ClassVar[bool] = False
    """Whether the last option is a list. As text, it takes all remaining arguments: `histogram(speed, 0, 30, 60)`."""
    spark_sql: ClassVar[str | None] = None
    """The Spark SQL expression of the result, null for fewer than `needs` values; None if Spark has no equal.

    `{x}`, `{y}` and `{z}` stand for the columns, null in rows that the aggregate skips, and `{order}` for the place of
    the row: `"avg(CAST({x} AS DOUBLE))"`."""
    spark_sql_state: ClassVar[tuple[str, ...] | None] = None
    """One Spark SQL expression per number of the state; None if Spark cannot compute it.

    The columns are those of `spark_sql`, as floats or, if the state consists of integers, as 64-bit integers. Null
    stands for the number in the state of no values."""
    source: ClassVar[str] = "user-defined"
    """Where the aggregate is described."""
    builtin: ClassVar[bool] = False
    """Whether the class is part of Windrow, so that its compiled code may be cached on disk."""

    zero: ClassVar[Callable[..., tuple[float, ...]]]
    add: ClassVar[Callable[..., Any]]
    merge: ClassVar[Callable[..., Any]]
    finish: ClassVar[Callable[..., Any]]
    remove: ClassVar[Callable[..., tuple[float, ...]] | None] = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        # What is declared about functions is inherited only together with them.
        for declared, basis in (
            ("spark_sql", (*FUNCTIONS, "needs")),
            ("spark_sql_state", FUNCTIONS[:3]),
            ("additive", FUNCTIONS[:3]),
            ("only_compares", FUNCTIONS),
        ):
            if declared not in vars(cls) and any(name in vars(cls) for name in basis):
                setattr(cls, declared, getattr(AggregateFunction, declared))
        check_spark_sql(cls.__name__, (*([cls.spark_sql] if cls.spark_sql else ()), *(cls.spark_sql_state or ())))
        if cls.state is not None:
            cls.form = "objects"
        if cls.builtin:
            tag_of(cls, builtin=True)

    def __post_init__(self) -> None:
        name = name_of(type(self))
        for column in (self.column, *self.columns):
            if not isinstance(column, str) or not column:
                raise SpecError(f"{type(self).__name__} expects a column name, got {quoted(column)}")
            if column == "*" and self.columns:
                raise SpecError(f"{name}('*'): only count accepts '*'; use a column name, e.g. {name}('speed')")
        needed = {"values": ("finish",), "row": ("add", "merge", "finish")}.get(self.form, FUNCTIONS)
        for function in needed:
            if not callable(getattr(type(self), function, None)):
                raise SpecError(
                    f"the aggregate {type(self).__name__} has no {function}(); it must define {', '.join(needed)}"
                )
        if not self.builtin and self.form == "numbers":
            check_shape(type(self), self.last_arguments(integral=False))

    def __repr__(self) -> str:
        shown = []
        for i, option in enumerate(sorted(fields(self), key=lambda option: bool(option.kw_only))):
            value = getattr(self, option.name)
            if option.default is MISSING or i == 0:
                shown += [] if value == option.default else [repr(value)]
            elif value != option.default:
                shown.append(f"{option.name}={value!r}")
        return f"{name_of(type(self))}({', '.join(shown)})"

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the aggregate reads."""
        return (self.column,)

    @property
    def condition(self) -> str | None:
        """The condition whose truth per row is aggregated, instead of a column; None for most aggregates."""
        return self.column if self.of_condition else None

    @property
    def inputs(self) -> tuple[str | None, ...]:
        """What the aggregate reads of a row: its columns or its condition, or None if rows are counted."""
        return self.columns or (self.condition,)

    @property
    def invertible(self) -> bool:
        """Whether a value can be removed from the state again."""
        return type(self).remove is not None

    @property
    def bounded(self) -> bool:
        """Whether the size of the state is independent of the number of values."""
        return self.kind != "holistic"

    @property
    def rank_error(self) -> float:
        """The share of all values by which a rank in the state may be off; 0 if the state keeps all values."""
        return float(getattr(self, "eps", 0.0)) if self.ranks_suffice else 0.0

    @property
    def most_values(self) -> int | None:
        """The largest number of distinct values in a state; None if the state does not keep all values."""
        if self.form != "values" or self.rank_error:
            return None
        return int(getattr(self, "max_values", MOST_VALUES))

    @classmethod
    def compiled_as(cls) -> type[AggregateFunction]:
        """Return the class whose functions are compiled: classes that share all of them share the machine code."""
        return cls

    @classmethod
    def example(cls, column: str = "x", other: str = "y") -> AggregateFunction:
        """Return an example with options that suit small numbers; a class with required options overrides it.

        >>> import windrow as wr
        >>> wr.max_n.example("speed")
        max_n('speed', 2)
        """
        return cls(column)

    def definition(self, *columns: Sequence[Any]) -> Any:
        """Return the result by its definition, in plain Python, for columns of at least `needs` values without nulls.

        Tests compare all engines with it. It is optional; without one, it raises `NotImplementedError`.
        """
        raise NotImplementedError(f"{type(self).__name__} has no definition in plain Python")

    def spark_sql_over(self, *kinds: pa.DataType) -> str | None:
        """Return `spark_sql` for columns of these types; overridden where the expression depends on them."""
        return self.spark_sql

    def spark_sql_state_over(self, *kinds: pa.DataType) -> tuple[str, ...] | None:
        """Return `spark_sql_state` for columns of these types; overridden where the expressions depend on them."""
        return self.spark_sql_state

    def options(self, integral: bool) -> Options:
        """Return the numbers that the functions take as their last argument, for a state of integers or of floats."""
        return np.empty(0)

    def last_arguments(self, integral: bool) -> tuple[Options, ...]:
        """Return the trailing arguments of the functions: the options, or nothing."""
        return (self.options(integral),) if self.has_options else ()

    def result_type(self, values: pa.DataType) -> pa.DataType:
        """Return the Arrow type of the result over a column of the given type."""
        return pa.float64()

    def zero_state(self, integral: bool) -> tuple[Any, ...]:
        """Return the state of no values, over integers or over floats, as numbers or as a single object."""
        if self.form == "values":
            return ()
        if self.form == "objects":
            return (type(self).zero(),)
        return type(self).zero(integral) if self.keeps_integers else type(self).zero()

    def longest_list(self, seen: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return the length of the longest possible list per frame, given how many values each has seen."""
        return seen

    def undefined(self, seen: npt.NDArray[np.int64], numbers: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
        """Return which of these states, one per row, have no result, given how many values each has seen."""
        return seen < self.needs

    def check(self, numbers: npt.NDArray[Any]) -> None:
        """Raise if any of these states over integers, one per row, has no correct result."""

    def compute(self, *values: Any) -> Any:
        """Aggregate a plain sequence of values, or one sequence per column; None is a null and is skipped.

        >>> import windrow as wr
        >>> wr.mean("speed").compute([1, None, 4])
        2.5
        >>> wr.covariance("speed", "volume").compute([1, 2, 3], [2, 4, None])
        1.0
        """
        from windrow.aggregates.engine.accumulator import Accumulator

        columns = [pa.array(column) for column in values]
        if self.form != "objects":
            columns = [c.cast(pa.float64()) if pa.types.is_null(c.type) else c for c in columns]
        accumulator = Accumulator(self, *(column.type for column in columns))
        states = accumulator.empty(1)
        accumulator.accumulate(states, np.zeros((len(columns[0]), 1), np.int64), accumulator.read(*columns))
        return accumulator.finish(states)[0].as_py()


def name_of(kind: type[AggregateFunction]) -> str:
    """Return the public name of an aggregate class.

    >>> from windrow.aggregates import HeavyHitters
    >>> name_of(HeavyHitters)
    'heavy_hitters'
    """
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", kind.__name__).lower() if kind.builtin else kind.__name__.lower()
