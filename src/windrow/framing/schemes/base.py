"""The contract of a framing scheme: a small deterministic automaton over the ordered rows of one group.

A scheme is a frozen dataclass that specifies frames and is validated before any data is read. Bound to the column types
of a stream, it becomes an `Automaton`: a compiled kernel and the shape of its state. It knows nothing about Spark,
files or watermarks. It takes columns and state, and returns frames and state.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.arrays import Array, Values, is_number
from windrow.errors import SpecError, TypeMismatchError, is_one_of, quoted
from windrow.framing.records import Batch, Groups, Records
from windrow.rows.checks import check_duration
from windrow.rows.clock import Clock
from windrow.rows.duration import Duration

Closure: TypeAlias = Literal["union", "sub-interval", "super-interval"]
Property: TypeAlias = Literal[
    "unique", "drained", "saturated", "maximal", "minimal", "separated", "partitioning", "covering", "overlapping"
]
"""A property of a framing. Delta and aggregate frames are maximal or minimal among the candidates that start with the
same row, as in lemma 2 (see `theory`); frames of other schemes are so among all candidates."""
Kernel: TypeAlias = Callable[[Batch, Mapping[str, Array], Groups, Records, int, npt.NDArray[np.int64]], int]


@dataclass(frozen=True)
class Automaton:
    """A scheme bound to a stream; `kernel(batch, inputs, groups, records, used, slots)` returns the new count `used`.

    A row is in at most `width` frames and opens at most that many. `labels`, `memo` and `group_memo` define how many
    numbers the scheme stores per record and per group.
    """

    kernel: Kernel
    width: int = 1
    labels: int = 0
    memo: int = 0
    memo_type: Any = np.float64
    group_memo: Array = field(default_factory=lambda: np.empty(0, np.float64))


@dataclass(frozen=True)
class Scheme(ABC):
    """The base of all schemes: a longest gap, a policy for null attributes, and declared properties."""

    _: KW_ONLY
    max_gap: Duration | None = None
    nulls: str = "skip"

    closure: ClassVar[frozenset[Closure]] = frozenset()
    """The changes under which a candidate frame remains a candidate (definition 5)."""
    source: ClassVar[str] = ""
    """The paper and sections that define the scheme."""
    policies: ClassVar[tuple[str, ...]] = ("skip", "break", "error")

    def __post_init__(self) -> None:
        if not is_one_of(self.nulls, self.policies):
            raise SpecError(
                f"nulls: {quoted(self.nulls)} is not a policy; it must be one of {', '.join(self.policies)}"
            )
        check_duration(self.max_gap, "max_gap")

    def __repr__(self) -> str:
        shown = []
        for item in sorted(fields(self), key=lambda item: bool(item.kw_only)):
            value = getattr(self, item.name)
            # A Spark Column overloads ==, so only values of the default's type are compared with it.
            if item.kw_only and type(value) is type(item.default) and value == item.default:
                continue
            shown.append(f"{item.name}={value!r}" if item.kw_only else repr(value))
        return f"{type(self).__name__}({', '.join(shown)})"

    @classmethod
    def name(cls) -> str:
        """Return the name of the scheme on the command line and in SQL.

        >>> from windrow.framing.schemes import DoubleBoundary
        >>> DoubleBoundary.name()
        'double_boundary'
        """
        return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", cls.__name__).lower()

    @property
    def fingerprint(self) -> str:
        """The scheme as text, equal for all spellings of its predicates; saved states contain it."""
        from windrow.predicates.parse import canonical  # loads a parser, which kernels do not need

        texts = {text for text in self.predicates.values() if isinstance(text, str)}
        spelled = {item.name: getattr(self, item.name) for item in fields(self)}
        changes: dict[str, Any] = {
            name: canonical(text) for name, text in spelled.items() if isinstance(text, str) and text in texts
        }
        return repr(replace(self, **changes))

    @property
    def properties(self) -> frozenset[Property]:
        """The properties of every framing by this scheme, by the lemmas and propositions of the 2016 paper."""
        return frozenset()

    @property
    def is_cut(self) -> bool:
        """Whether something besides the condition can end a frame: a gap or a missing attribute."""
        return self.max_gap is not None or self.nulls == "break"

    @property
    def is_run(self) -> bool:
        """Whether frames are maximal runs of rows with the same label, so that plain SQL can compute them."""
        return False

    @property
    def predicates(self) -> dict[str, Any]:
        """The SQL predicates that the kernel reads, keyed by the kernel's names for them."""
        return {}

    @property
    def attributes(self) -> tuple[str, ...]:
        """The framing attributes: the numeric columns that the kernel reads."""
        return ()

    @property
    def extras(self) -> dict[str, pa.DataType]:
        """The columns that the scheme adds to each frame, in the order of its labels."""
        return {}

    def longest_gap(self, clock: Clock) -> int | float:
        """Return the largest distance allowed between neighbours in a frame, the clock's largest if unlimited."""
        return clock.at_most(self.max_gap, "max_gap")

    def is_sure(self, records: Records, clock: Clock) -> npt.NDArray[np.bool_]:
        """Return which of these open frames will qualify whatever follows: all, unless the scheme has minimums."""
        return np.ones(records.group.size, np.bool_)

    @abstractmethod
    def bind(self, clock: Clock, types: Mapping[str, pa.DataType]) -> Automaton:
        """Return the automaton over a stream whose attributes have the given types."""

    def check(self, clock: Clock, types: Mapping[str, pa.DataType]) -> None:
        """Reject a stream whose types the scheme cannot frame, before any work is done."""
        for name in self.attributes:
            if not is_number(types[name]):
                raise TypeMismatchError(
                    f"{type(self).__name__}: column {name!r} is of type {types[name]}; "
                    "a framing attribute must be a number"
                )
        self.bind(clock, types)


def is_missing(values: Values) -> npt.NDArray[np.bool_] | None:
    """Return which values of an attribute are null or NaN, or None if none is."""
    missing = None if values.valid.all() else ~values.valid
    if values.numbers.dtype == np.float64:
        nan = np.isnan(values.numbers)
        if nan.any():
            missing = nan if missing is None else missing | nan
    return missing
