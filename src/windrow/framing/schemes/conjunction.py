"""Conjunctions: frames that satisfy the conditions of several schemes. "Frames" (2016), 3.1: local conditions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, combinations, product
from typing import Any, ClassVar, Literal

import pyarrow as pa

from windrow.errors import SpecError, quoted
from windrow.framing.schemes.base import Closure, NullRule, Property, Scheme
from windrow.framing.schemes.gap import Gap
from windrow.framing.schemes.native import NativeRun
from windrow.framing.schemes.rules.both import Part, conjunction_of
from windrow.framing.schemes.rules.labels import LabelColumn
from windrow.framing.schemes.rules.limits import combined_limits
from windrow.framing.schemes.rules.loop import BoundRule, RuleScheme
from windrow.framing.schemes.rules.parts import (
    common_closure,
    free_name,
    is_skipped_with,
    judges_rows,
    reads_columns,
    skips_rows,
)
from windrow.framing.schemes.text import TextOption
from windrow.framing.schemes.threshold import Threshold
from windrow.framing.theory.intervals import Label
from windrow.framing.theory.local import Stream
from windrow.rows.clock import Clock


@dataclass(frozen=True, init=False, repr=False)
class Conjunction(RuleScheme):
    """Frames that satisfy the conditions of several schemes at once: what `a & b` returns.

    Frames are found from the left. A row joins a frame if it joins by every part, and starts one if it could start one
    by every part. A row that fails one part ends the frame. The result has the additional columns of all parts, in
    their order.

    The limits of the parts apply to the frame as a whole: the largest `min_count` and `min_duration`, the smallest
    `max_count`, `max_duration` and `max_gap`. All parts with a `min_duration` must have the same `extent`.

    Each part has its own `nulls`. A row that some part skips is not in a frame. It still ends the frame if it breaks
    or fails another part.

    Parameters
    ----------
    parts
        Two or more schemes with maximal frames: `Threshold` (without `segments`), `Boundary`, `Change`, `Gap`, and
        `Delta` and `Aggregate` with `<` or `<=`.

    Examples
    --------
    >>> import windrow as wr
    >>> wr.Threshold("x > 0.2") & wr.Delta({"x": 0.05}, min_count=3)
    Threshold('x > 0.2') & Delta({'x': 0.05}, min_count=3)
    """

    parts: tuple[RuleScheme, ...]

    source: ClassVar[str] = "Frames (2016), 3.1"
    lemma: ClassVar[Literal[1, 2]] = 2
    policies: ClassVar[tuple[str, ...]] = ("skip", "false", "break", "error", "mixed")

    def __init__(self, parts: Sequence[Scheme]) -> None:
        if not isinstance(parts, tuple | list) or len(parts) < 2:
            raise SpecError(f"Conjunction: expected two or more schemes, got {quoted(parts)}")
        flat = tuple(chain.from_iterable(map(_checked, parts)))
        policies = {part.nulls for part in flat if reads_columns(part)}
        whole = {
            "parts": flat,
            "nulls": policies.pop() if len(policies) == 1 else "mixed" if policies else "skip",
            **combined_limits(flat),
        }
        for name, value in whole.items():
            object.__setattr__(self, name, value)
        self.__post_init__()

    def __post_init__(self) -> None:
        super().__post_init__()
        for one, other in combinations(self.parts, 2):
            for name in set(one.added_columns) & set(other.added_columns):
                raise SpecError(f"{one!r} & {other!r}: both add the column {name!r}; frames can have only one of them")

    def __hash__(self) -> int:
        return hash((type(self), self.parts))

    def __repr__(self) -> str:
        return " & ".join(map(repr, self.parts))

    @classmethod
    def examples(cls) -> tuple[Scheme, ...]:
        """Return a condition on rows together with one on the frame."""
        from windrow.framing.schemes.delta import Delta

        return (Threshold("x > 0.2") & Delta({"x": 0.05}),)

    @classmethod
    def required(cls) -> list[str]:
        """Return nothing: in SQL, any two schemes make a conjunction."""
        return []

    @classmethod
    def main_option(cls) -> TextOption | None:
        """Return None: `windrow frames` has no flag for conjunctions, only those of the parts."""
        return None

    @classmethod
    def text_options(cls) -> dict[str, TextOption]:
        """Return an option per scheme, with its name, and the options of all these schemes."""
        kinds = _kinds_of_parts()
        main = {name: option for name, kind in kinds.items() if (option := kind.main_option()) is not None}
        return main | {
            name: option
            for kind in kinds.values()
            for name, option in kind.text_options().items()
            if name not in kind.required()
        }

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> Scheme:
        """Return the conjunction of the schemes that are named; options that several of them have apply to each."""
        kinds = {name: kind for name, kind in _kinds_of_parts().items() if name in options}
        if len(kinds) < 2:
            example = "threshold => 'x > 0.2', delta => map('x', 0.05)"
            raise SpecError(f"conjunction_frames requires two or more schemes, e.g. {example}")
        for name in options.keys() - kinds.keys():
            if not any(name in kind.text_options() for kind in kinds.values()):
                raise SpecError(f"{name}: expected an option of {' or '.join(kinds)}")
        return cls([kind(**_options_of(name, kind, options)) for name, kind in kinds.items()])

    @property
    def conjuncts(self) -> tuple[RuleScheme, ...]:
        """The parts."""
        return self.parts

    @property
    def fingerprint(self) -> str:
        """The parts as text, equal for all spellings of their predicates."""
        return " & ".join(part.fingerprint for part in self.parts)

    @property
    def is_cut(self) -> bool:
        """Whether a gap or a missing attribute can end a frame."""
        return any(part.is_cut for part in self.parts)

    @property
    def closure(self) -> frozenset[Closure]:  # type: ignore[override]
        """The closures that all parts have; rows that are skipped leave holes in the intervals."""
        return frozenset() if self.masks else self.closure_within_limits(common_closure(self.parts))

    @property
    def properties(self) -> frozenset[Property]:
        """Lemma 1 or 2, by the closure."""
        by_lemma: set[Property] = {"unique", "drained", "maximal", "covering"} if self.closure else set()
        return self.properties_within_limits(frozenset(by_lemma | {"disjoint"}))

    @property
    def drops_runs(self) -> bool:  # type: ignore[override]
        """Whether all parts are runs of one label."""
        return all(part.drops_runs for part in self.parts)

    @property
    def is_run(self) -> bool:
        """Whether Spark SQL can apply conditions and limits; each row must show by itself whether it is skipped."""
        is_mixed = bool(self.extras and self.label_columns)
        return self.is_cut_in_sql and not self.masks and not is_mixed and all(part.is_run for part in self.parts)

    def native_run(self, inputs: Mapping[str, str]) -> NativeRun:
        """Return the runs of equal labels of all parts in which all conditions hold."""
        runs = [
            part.native_run({own: inputs[name] for own, name in names.items()})
            for part, names in zip(self.parts, self.names, strict=True)
        ]
        labels = tuple(chain.from_iterable(run.labels for run in runs))
        return NativeRun(labels, " AND ".join(f"({run.hit})" for run in runs))

    def local_condition(self, extent: Stream) -> Iterable[Label]:
        """Combine the labels of all parts, if all conditions hold."""
        if any(row.skipped_by for row in extent):
            return ()
        labels = (self.labels_of_part(j, extent) for j in range(len(self.parts)))
        return [tuple(chain.from_iterable(chosen)) for chosen in product(*labels)]

    def labels_of_part(self, j: int, extent: Stream) -> list[Label]:
        """Return the labels under which the rows satisfy the condition of one part."""
        part, names = self.parts[j], self.names[j]
        columns = {label.column: label.column for label in part.label_columns.values()}
        inputs = {mine: at for mine, at in names.items() if mine not in part.label_columns} | columns
        own = [row._replace(values={mine: row.values[at] for mine, at in inputs.items()}) for row in extent]
        return list(part.local_condition(own))

    @property
    def predicates(self) -> dict[str, Any]:
        """The predicates of all parts, renamed where two have the same name."""
        return {
            names[own]: predicate
            for part, names in zip(self.parts, self.names, strict=True)
            for own, predicate in part.predicates.items()
        }

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes of all parts."""
        return tuple(dict.fromkeys(chain.from_iterable(part.attributes for part in self.parts)))

    @property
    def label_columns(self) -> dict[str, LabelColumn]:
        """The columns whose values label the rows, renamed where two parts have the same name for one."""
        return {
            names[own]: label
            for part, names in zip(self.parts, self.names, strict=True)
            for own, label in part.label_columns.items()
        }

    @property
    def added_columns(self) -> tuple[str, ...]:
        """The columns that the parts add, in their order."""
        return tuple(chain.from_iterable(part.added_columns for part in self.parts))

    def extra_places(self, types: Mapping[str, pa.DataType]) -> Iterable[int]:
        """Return where the values of the `extras` are, after the labels of the parts before."""
        begin = 0
        for part in self.parts:
            yield from (begin + place for place in part.extra_places(types))
            begin += part.rule(types).labels

    @property
    def extras(self) -> dict[str, pa.DataType]:
        """The columns that the parts add."""
        return {name: kind for part in self.parts for name, kind in part.extras.items()}

    @cached_property
    def names(self) -> list[dict[str, str]]:
        """Per part, its inputs by the part's own names for them."""
        taken = set(self.attributes)
        names = []
        for part in self.parts:
            own = {name: free_name(name, taken) for name in (*part.predicates, *part.label_columns)}
            names.append(own | {name: name for name in part.attributes})
        return names

    @property
    def null_rules(self) -> tuple[NullRule, ...]:
        """The policies of the parts, each for its own inputs."""
        masks = iter(self.masks)
        return tuple(
            NullRule(
                part.nulls,
                tuple(names.values()),
                names.get("hit") if judges_rows(part) else None,
                next(masks) if self.masks and skips_rows(part) else None,
            )
            for part, names in zip(self.parts, self.names, strict=True)
        )

    @cached_property
    def masks(self) -> tuple[str, ...]:
        """The inputs that mark the rows a part skips, one per part that skips any.

        They are needed if a row that one part skips may or may not end a frame, depending on the frame.
        """
        pairs = ((one, other) for one in self.parts if skips_rows(one) for other in self.parts if other is not one)
        if all(judges_rows(other) or is_skipped_with(one, other) for one, other in pairs):
            return ()
        taken = {*self.attributes, *self.predicates}
        return tuple(free_name("missing", taken) for _ in filter(skips_rows, self.parts))

    def longest_gap(self, clock: Clock) -> int | float:
        """Return the smallest gap of the parts."""
        return min(part.longest_gap(clock) for part in self.parts)

    def check(self, clock: Clock, types: Mapping[str, pa.DataType]) -> None:
        """Reject a stream that a part cannot frame, and limits that exclude each other."""
        for part in self.parts:
            part.check(clock, types)
        self.bind(clock, types)

    def rule(self, types: Mapping[str, pa.DataType]) -> BoundRule:
        """Return the rules of all parts, side by side; a gap is a limit of the whole."""
        parts = [
            Part(part.rule(types), names, rule.mask)
            for part, names, rule in zip(self.parts, self.names, self.null_rules, strict=True)
            if not isinstance(part, Gap)
        ]
        return conjunction_of(parts) if parts else self.parts[0].rule(types)


def _kinds_of_parts() -> dict[str, type[RuleScheme]]:
    """Return the schemes that can be parts and can be written as text, by name."""
    from windrow.framing.schemes import SCHEME_REGISTRY

    kinds = SCHEME_REGISTRY.classes().items()
    return {name: kind for name, kind in kinds if issubclass(kind, RuleScheme) and kind.main_option() is not None}


def _options_of(name: str, kind: type[RuleScheme], options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of one part; the text after its name may stand for several."""
    own = {each: options[each] for each in kind.text_options() if each in options}
    main = options[name]
    return own | (kind.parse_main(main, name) if isinstance(main, str) else {kind.required()[0]: main})


def _checked(part: Any) -> tuple[RuleScheme, ...]:
    """Return the parts of a part; reject frames that are not maximal, overlap, or are not given by a rule."""
    if isinstance(part, Conjunction):
        return part.parts
    if not isinstance(part, Scheme):
        raise SpecError(f"&: expected a scheme such as wr.Threshold('speed < 40'), got {quoted(part)}")
    if not isinstance(part, RuleScheme):
        raise SpecError(f"&: expected schemes whose frames are maximal and do not overlap, got {part!r}")
    if not part.is_maximal:
        raise SpecError(f"&: expected schemes with maximal frames (operators '<' and '<='), got {part!r}")
    if part.outside_label is not None:
        raise SpecError(f"&: expected a scheme without segments=True, got {part!r}")
    return (part,)
