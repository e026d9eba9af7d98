"""The contract of an aggregate: a small algebra over the values of one column, or of several read side by side.

An aggregate is four pure functions over a state, a tuple of numbers:

    zero()         the state of no values
    add(s, x)      the state after one more value
    merge(a, b)    the state of the values behind `a` followed by those behind `b`
    finish(s)      the result

and, where values can be taken out again, `remove(s, x)`. `merge` is associative but need not commute: `first` and
`last` are aggregates too. Nulls never reach `add`; one that reads two columns has `add(s, x, y)`, and a row with a null
in either is skipped. The functions are compiled with numba, built-in and user-defined alike, so they keep to numbers,
tuples and `math`. What an aggregate can do is declared on its class, never guessed from its name.

Two more forms of state serve aggregates whose state is no fixed tuple. In the form `"row"` it is a row of numbers as
long as the aggregate's options say, which `add(row, x, options)` and `merge(row, other, options)` change in place. In
the form `"values"` it is all values in order, each once, with how often it came; it grows, adding and merging are the
same for all, and only `finish((values, counts), options)` is the aggregate's own.

A user's aggregate may also keep a state of any Arrow type, a list or a text say, which it declares as `state`. Its
functions then run as plain Python. They take and give states as Arrow's `to_pylist` does, and change none in place.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.aggregates.engine.signature import check_shape
from windrow.aggregates.engine.tags import tag_of
from windrow.errors import SpecError, quoted

Kind: TypeAlias = Literal["distributive", "algebraic", "holistic"]
Form: TypeAlias = Literal["numbers", "row", "values", "objects"]
Gives: TypeAlias = Literal["number", "list", "counted list"]
Options: TypeAlias = npt.NDArray[Any]
Counted: TypeAlias = tuple[npt.NDArray[Any], npt.NDArray[np.int64]]
"""The state of form `"values"`: the different values in order, and how often each came."""

MOST_VALUES = 10_000_000
"""How many different values a state of form `"values"` keeps unless the aggregate says otherwise: up to 320 MB."""
THESIS = "On a design space for sliding windows (2011), table 3.1"


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

    The state starts as `zero()`, its numbers are floats, and a frame without a non-null value gives null. With a state
    of another type the functions are not compiled, and the values may be anything that Arrow knows:

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
    """How the aggregate of a whole follows from those of its parts; the state of a holistic one is not bounded."""
    state: ClassVar[pa.DataType | None] = None
    """The Arrow type of a state that is no tuple of numbers; the functions are not compiled then."""
    form: ClassVar[Form] = "numbers"
    """What the state is: a tuple of numbers, a row of numbers as long as the options say, the values themselves, or
    whatever `state` declares."""
    gives: ClassVar[Gives] = "number"
    """What the result is: a number, a list of numbers, or a list of values with how often each came."""
    reads: ClassVar[int] = 1
    """How many columns a value is made of."""
    has_options: ClassVar[bool] = False
    """Whether the functions take, as a last argument, the numbers that `options` gives."""
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
    robust: ClassVar[bool] = True
    """Whether the result sums up all values, and so bears the loss of some, rather than being one or some of them."""
    order_sensitive: ClassVar[bool] = False
    """Whether the result depends on the order of the values."""
    ranks_suffice: ClassVar[bool] = False
    """Whether values in the form `"values"` may be summarised, if their ranks stay within the aggregate's `eps`."""
    source: ClassVar[str] = "user-defined"
    """Where the aggregate is described."""
    builtin: ClassVar[bool] = False
    """Whether the class is part of Windrow, so that its compiled code may be kept on disk."""

    zero: ClassVar[Callable[..., tuple[float, ...]]]
    add: ClassVar[Callable[..., Any]]
    merge: ClassVar[Callable[..., Any]]
    finish: ClassVar[Callable[..., Any]]
    remove: ClassVar[Callable[..., tuple[float, ...]] | None] = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if cls.state is not None:
            cls.form = "objects"
        if cls.builtin:
            tag_of(cls, builtin=True)

    def __post_init__(self) -> None:
        name = name_of(type(self))
        for column in (self.column, *self.columns):
            if not isinstance(column, str) or not column:
                raise SpecError(f"{type(self).__name__} wants the name of a column, not {quoted(column)}")
            if column == "*" and self.columns:
                raise SpecError(f"{name}('*'): only count takes '*'; give the name of a column, as in {name}('speed')")
        needed = ("finish",) if self.form == "values" else ("add", "merge", "finish")
        for function in ("zero", *needed) if self.form in ("numbers", "objects") else needed:
            if not callable(getattr(type(self), function, None)):
                raise SpecError(
                    f"the aggregate {type(self).__name__} has no {function}(): it needs zero, add, merge, finish"
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
    def invertible(self) -> bool:
        """Whether a value can be taken out of the state again."""
        return type(self).remove is not None

    @property
    def bounded(self) -> bool:
        """Whether the state is of one size, however many values there are."""
        return self.kind != "holistic"

    @property
    def rank_error(self) -> float:
        """By which share of all values a rank may be off in the state; 0 if all values are kept."""
        return float(getattr(self, "eps", 0.0)) if self.ranks_suffice else 0.0

    @property
    def most_values(self) -> int | None:
        """How many different values a state may keep; None if it does not keep all values."""
        if self.form != "values" or self.rank_error:
            return None
        return int(getattr(self, "max_values", MOST_VALUES))

    def options(self, integral: bool) -> Options:
        """The numbers that the functions take as their last argument, for a state in integers or in floats."""
        return np.empty(0)

    def last_arguments(self, integral: bool) -> tuple[Options, ...]:
        """What the functions take after all else: the options, or nothing."""
        return (self.options(integral),) if self.has_options else ()

    def result_type(self, values: pa.DataType) -> pa.DataType:
        """The Arrow type of the result over a column of the given type."""
        return pa.float64()

    def zero_state(self, integral: bool) -> tuple[Any, ...]:
        """The numbers of the state of no values, over integers or over floats; or the one object that it is."""
        if self.form == "values":
            return ()
        if self.form == "objects":
            return (type(self).zero(),)
        return type(self).zero(integral) if self.keeps_integers else type(self).zero()

    def longest_list(self, seen: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """How long the lists of frames can be that have seen so many values; for aggregates that give lists."""
        return seen

    def check(self, numbers: npt.NDArray[Any]) -> None:
        """Raise if any of these states over integers, one a row, cannot be finished truly."""

    def compute(self, *values: Any) -> Any:
        """Aggregate a plain sequence of values, or one a column; None is a null and is skipped.

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
    """The name by which an aggregate is called.

    >>> from windrow.aggregates import HeavyHitters
    >>> name_of(HeavyHitters)
    'heavy_hitters'
    """
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", kind.__name__).lower() if kind.builtin else kind.__name__.lower()
