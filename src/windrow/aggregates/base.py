"""The contract of an aggregate: a small algebra over the values of one column.

An aggregate is four pure functions over a state, a tuple of numbers:

    zero()         the state of no values
    add(s, x)      the state after one more value
    merge(a, b)    the state of the values behind `a` followed by those behind `b`
    finish(s)      the result

and, where values can be taken out again, `remove(s, x)`. `merge` is associative but need not commute: `first` and
`last` are aggregates too. Nulls never reach `add`. The functions are compiled with numba, built-in and user-defined
alike, so they keep to numbers, tuples and `math`. What an aggregate can do is declared on its class, never guessed
from its name.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.aggregates.shape import check_shape
from windrow.aggregates.tags import tag_of
from windrow.errors import SpecError

Kind: TypeAlias = Literal["distributive", "algebraic", "holistic"]


@dataclass(frozen=True, repr=False)
class AggregateFunction:
    """An aggregate of the non-null values of one column; subclass it to make your own.

    Parameters
    ----------
    column
        The column that is aggregated.

    Examples
    --------
    The range of a column, as an aggregate of one's own:

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

    The state starts as `zero()`, its numbers are floats, and a frame without a non-null value gives null.
    """

    column: str

    kind: ClassVar[Kind] = "algebraic"
    """How the aggregate of a whole follows from those of its parts."""
    needs: ClassVar[int] = 1
    """How many non-null values it takes for the result to be defined; fewer give null."""
    keeps_integers: ClassVar[bool] = False
    """Whether the state over integers is kept in 64-bit integers, exactly; `zero` then takes that as an argument."""
    accepts_instants: ClassVar[bool] = False
    """Whether timestamps and dates can be aggregated as well as numbers."""
    monotonic: ClassVar[Literal["always", "non-negative", "never"]] = "never"
    """Whether one more value, wherever it stands, can only raise the result: always, if none is negative, or never."""
    duplicate_sensitive: ClassVar[bool] = True
    """Whether the same value added twice counts twice."""
    order_sensitive: ClassVar[bool] = False
    """Whether the result depends on the order of the values."""
    source: ClassVar[str] = "user-defined"
    """Where the aggregate is described."""
    builtin: ClassVar[bool] = False
    """Whether the class is part of Windrow, so that its compiled code may be kept on disk."""

    zero: ClassVar[Callable[..., tuple[float, ...]]]
    add: ClassVar[Callable[..., tuple[float, ...]]]
    merge: ClassVar[Callable[..., tuple[float, ...]]]
    finish: ClassVar[Callable[..., float]]
    remove: ClassVar[Callable[..., tuple[float, ...]] | None] = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if cls.builtin:
            tag_of(cls, builtin=True)

    def __post_init__(self) -> None:
        if not isinstance(self.column, str) or not self.column:
            raise SpecError(f"{type(self).__name__} wants the name of a column, not {self.column!r}")
        if self.column == "*" and self.columns:
            named = type(self).__name__.lower()
            raise SpecError(f"{named}('*'): only count takes '*'; give the name of a column, as in {named}('speed')")
        for name in ("zero", "add", "merge", "finish"):
            if not callable(getattr(type(self), name, None)):
                raise SpecError(
                    f"the aggregate {type(self).__name__} has no {name}(): it needs zero, add, merge, finish"
                )
        if not self.builtin:
            check_shape(type(self))

    def __repr__(self) -> str:
        return f"{type(self).__name__.lower()}({', '.join(map(repr, self.columns))})"

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the aggregate reads."""
        return (self.column,)

    @property
    def invertible(self) -> bool:
        """Whether a value can be taken out of the state again."""
        return type(self).remove is not None

    def result_type(self, values: pa.DataType) -> pa.DataType:
        """The Arrow type of the result over a column of the given type."""
        return pa.float64()

    def zero_state(self, integral: bool) -> tuple[float, ...]:
        """The state of no values, over integers or over floats."""
        return type(self).zero(integral) if self.keeps_integers else type(self).zero()

    def check(self, numbers: npt.NDArray[Any]) -> None:
        """Raise if any of these states over integers, one a row, cannot be finished truly."""

    def compute(self, values: Any) -> Any:
        """Aggregate a plain sequence of values; None is a null and is skipped.

        >>> import windrow as wr
        >>> wr.mean("speed").compute([1, None, 4])
        2.5
        """
        from windrow.aggregates.keeper import Keeper

        column = pa.array(values)
        if pa.types.is_null(column.type):
            column = column.cast(pa.float64())
        keeper = Keeper(self, column.type)
        states = keeper.empty(1)
        keeper.accumulate(states, np.zeros((len(column), 1), np.int64), keeper.read(column))
        return keeper.finish(states)[0].as_py()
