"""The contract of a framing scheme: a small deterministic automaton over the ordered rows of one group.

A scheme is a frozen dataclass that specifies frames and is validated before any data is read. Bound to the column types
of a stream, it becomes an `Automaton`: a compiled kernel and the shape of its state. It knows nothing about Spark,
files or watermarks. It takes columns and state, and returns frames and state.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from typing import Any, ClassVar, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.arrays import Array, Values, is_number
from windrow.errors import SpecError, TypeMismatchError, is_one_of, quoted
from windrow.framing.records import Batch, Groups, Records
from windrow.framing.schemes.native import NativeRun
from windrow.framing.schemes.rules.labels import LabelColumn, check_labels
from windrow.framing.schemes.text import TextOption, duration_option, text_option
from windrow.framing.theory.intervals import Label
from windrow.framing.theory.local import Stream
from windrow.rows.checks import check_duration
from windrow.rows.clock import Clock
from windrow.rows.duration import Duration

Closure: TypeAlias = Literal["union", "sub-interval", "super-interval"]
Property: TypeAlias = Literal[
    "unique",
    "drained",
    "saturated",
    "maximal",
    "minimal",
    "separated",
    "partitioning",
    "covering",
    "disjoint",
    "overlapping",
]
"""A property of a framing, as `windrow.testing.framing_properties` checks it (see `theory.conditions`)."""
FRAME_COLUMNS = ("frame", "start", "end", "closed_at", "count", "complete")
"""The columns of every frame."""
MARKS = ("fragment", "final")
"""The columns that fragments have in addition."""
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
    searches: bool = False
    """Whether the kernel searches for frames from the left, so that rows of undecided frames are held."""


class NullRule(NamedTuple):
    """What happens to rows in which one of some inputs is null or NaN."""

    policy: str
    inputs: tuple[str, ...]
    hit: str | None = None
    """A predicate among the inputs. Rows that are skipped for other reasons end frames unless it holds."""
    mask: str | None = None
    """The input that marks the rows that are skipped; without it, they are left out."""


NULLS = text_option("null attributes: skip, break or error; --threshold also takes false", "POLICY")


@dataclass(frozen=True)
class Scheme(ABC):
    """The base of all schemes: a longest gap, a policy for null attributes, and what a scheme declares about itself.

    A subclass implements `bind`. Everything else has a default. Declared by a subclass, it serves several readers:

    - `text_option` in the metadata of fields: the options of `windrow frames`, the table function `<name>_frames`
    - `examples`, `closure`, `properties`, `source`: the catalogue
    - `is_run` and `native_run`: the native plan
    - `local_condition` and `lemma`: the brute force that the kernel is tested against
    """

    _: KW_ONLY
    max_gap: Duration | None = field(
        default=None,
        metadata=duration_option("rows further apart are never in one frame"),
    )
    nulls: str = field(default="skip", metadata=NULLS)

    closure: ClassVar[frozenset[Closure]] = frozenset()
    """The changes under which a candidate frame remains a candidate (definition 5)."""
    source: ClassVar[str] = ""
    """The paper and sections that define the scheme."""
    policies: ClassVar[tuple[str, ...]] = ("skip", "break", "error")
    lemma: ClassVar[Literal[1, 2]] = 1
    """The lemma that selects final frames among the candidates: 1, the maximal ones; 2, each from where the last ended,
    the longest or, unless `is_maximal`, the shortest."""

    def __post_init__(self) -> None:
        if not is_one_of(self.nulls, self.policies):
            raise SpecError(f"nulls: expected one of {', '.join(self.policies)}, got {quoted(self.nulls)}")
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

    def __and__(self, other: Any) -> Scheme:
        """Return the scheme whose frames satisfy the conditions of both."""
        from windrow.framing.schemes.conjunction import Conjunction  # a scheme itself

        return Conjunction((self, other))

    @classmethod
    def name(cls) -> str:
        """Return the name of the scheme on the command line and in SQL.

        >>> from windrow.framing.schemes import DoubleBoundary
        >>> DoubleBoundary.name()
        'double_boundary'
        """
        return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", cls.__name__).lower()

    @classmethod
    def text_options(cls) -> dict[str, TextOption]:
        """Return the options that can be written as text, by name."""
        return {item.name: item.metadata["text"] for item in fields(cls) if "text" in item.metadata}

    @classmethod
    def required(cls) -> list[str]:
        """Return the names of the options without a default."""
        return [item.name for item in fields(cls) if not item.kw_only]

    @classmethod
    def main_option(cls) -> TextOption | None:
        """Return how the scheme is written after its own flag; None if it is not on the command line and in SQL."""
        required, declared = cls.required(), cls.text_options()
        return declared[required[0]] if required and declared.keys() >= set(required) else None

    @classmethod
    def parse_main(cls, text: str, option: str) -> dict[str, Any]:
        """Parse the text after the scheme's own flag into the options that have no default."""
        name = cls.required()[0]
        return {name: cls.text_options()[name].parse(text, option)}

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> Scheme:
        """Return the scheme that the arguments of its table function describe."""
        return cls(**options)

    @classmethod
    def examples(cls) -> tuple[Scheme, ...]:
        """Return an example of each variant, for the catalogue."""
        return ()

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
    def conjuncts(self) -> tuple[Scheme, ...]:
        """The parts of a conjunction; any other scheme is its own only part."""
        return (self,)

    @property
    def null_rules(self) -> tuple[NullRule, ...]:
        """What happens to rows that lack a value: by default, one policy for all inputs."""
        return (NullRule(self.nulls, (*self.predicates, *self.attributes, *self.label_columns)),)

    @property
    def masks(self) -> tuple[str, ...]:
        """The inputs that mark skipped rows: see `NullRule`."""
        return ()

    @property
    def is_cut(self) -> bool:
        """Whether a gap or a missing attribute can end a frame, and not only the condition."""
        return self.max_gap is not None or self.nulls == "break"

    @property
    def is_run(self) -> bool:
        """Whether frames are maximal runs of rows with the same label, so that plain SQL can compute them."""
        return False

    @property
    def has_heads(self) -> bool:
        """Whether the first run of a chunk can be joined to what came before as if it were one row: see `heads.py`."""
        return self.is_run

    @property
    def is_maximal(self) -> bool:
        """Whether frames are maximal rather than minimal under the condition."""
        return True

    @property
    def outside_label(self) -> Label | None:
        """The label of the intervals outside all other frames, if these are frames too."""
        return None

    @property
    def needs_closing_row(self) -> bool:
        """Whether the row that ends a frame decides whether it is one, so that a watermark alone cannot end it."""
        return False

    @property
    def labels_change(self) -> bool:
        """Whether the columns that the scheme adds may change while a frame grows."""
        return False

    def native_run(self, inputs: Mapping[str, str]) -> NativeRun:
        """Return the runs in Spark SQL, if `is_run`; `inputs` are the names in SQL of predicates and attributes."""
        return NativeRun()

    def limited(self, run: NativeRun) -> NativeRun:
        """Return runs in Spark SQL with the scheme's limits, if it has any."""
        return run

    def local_condition(self, extent: Stream) -> Iterable[Label]:
        """Return the labels under which rows are a candidate frame: none, one or more (definition 3).

        This is the definition in plain Python, which the brute force tries on every interval of a stream.
        """
        raise NotImplementedError(f"{type(self).__name__} declares no local condition")

    @property
    def predicates(self) -> dict[str, Any]:
        """The SQL predicates that the kernel reads, keyed by the kernel's names for them."""
        return {}

    @property
    def attributes(self) -> tuple[str, ...]:
        """The framing attributes: the numeric columns that the kernel reads."""
        return ()

    @property
    def label_columns(self) -> Mapping[str, LabelColumn]:
        """The columns of any type whose values label the rows, keyed by the kernel's names for them.

        The values of a frame are columns of the result, with the same names.
        """
        return {}

    @property
    def added_columns(self) -> tuple[str, ...]:
        """The names of the columns that the scheme adds to each frame: `extras`, and values that label the rows."""
        return (*self.extras, *(label.column for label in self.label_columns.values()))

    def extra_places(self, types: Mapping[str, pa.DataType]) -> Iterable[int]:
        """Return where the values of the `extras` are among the labels of a record."""
        return range(len(self.extras))

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
                    f"{type(self).__name__}: expected a numeric column, got {name!r} of type {types[name]}"
                )
        check_labels(self.label_columns, types, type(self).__name__)
        self.bind(clock, types)


def is_missing(values: Values) -> npt.NDArray[np.bool_] | None:
    """Return which values of an attribute are null or NaN, or None if none is."""
    missing = None if values.valid.all() else ~values.valid
    if values.numbers.dtype == np.float64:
        nan = np.isnan(values.numbers)
        if nan.any():
            missing = nan if missing is None else missing | nan
    return missing
