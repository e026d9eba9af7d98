"""Print catalogue.md: schemes, aggregates, windows and synopses as their classes declare them."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator
from dataclasses import MISSING, Field, fields
from typing import Any

import pyarrow as pa

from windrow.aggregates import BUILTIN, AggregateFunction
from windrow.framing.schemes import SCHEMES
from windrow.synopses import SYNOPSES, Accuracy, Retention, Synopsis
from windrow.testing import example_aggregate
from windrow.windows import WINDOWS

AGGREGATE_COLUMNS = [
    "aggregate",
    "what it is",
    "bounded",
    "state",
    "values needed",
    "removes",
    "duplicates count",
    "robust",
    "monotonic",
    "order counts",
    "over integers",
    "source",
]

SYNOPSIS_COLUMNS = ["synopsis", "what it is", "retention", "answers", "time", "space", "error", "aggregates", "source"]
LIKELY = Accuracy(eps=0.1, delta=0.01)
"""An accuracy that approximate synopses can guarantee; exact ones accept any."""
KINDS = ("exact", "approximate, deterministic", "approximate, randomised")
UNITS = {"time": "time", "rows": "tuples", "times": "distinct times"}


def main() -> None:
    """Print the whole page."""
    print("\n".join(page()))


def page() -> Iterator[str]:
    """Yield the lines of the page."""
    yield "# Catalogue"
    yield "\nMade by `make catalogue` from the classes; do not edit.\n"
    yield "## Schemes\n"
    yield "Every scheme takes a tuple in constant time and keeps a constant state a group.\n"
    yield "| scheme | closed under | framings are | native plan | source |"
    yield "| --- | --- | --- | --- | --- |"
    for example in (example for scheme in SCHEMES for example in scheme.examples()):
        cells = [
            f"`{example!r}`",
            listed(example.closure),
            listed(example.properties),
            "yes" if example.is_run else "no",
        ]
        yield row([*cells, example.source])
    for scheme in SCHEMES:
        yield f"\n### {scheme.__name__}\n"
        yield f"{first_line(scheme)}\n"
        yield "| option | default |"
        yield "| --- | --- |"
        yield from (row([f"`{item.name}`", default(item)]) for item in fields(scheme))
    yield "\n## Aggregates\n"
    yield (
        "Bounded ones keep a state of one size: they add a value, merge two states and finish in time by that size.\n"
        "Holistic ones keep every different value with how often it came: they add one in amortised logarithmic time\n"
        "and finish in time by the number of different values. A robust one sums up all values, any other gives one\n"
        "or some of them. A monotonic one never falls with one more value: always, or if no value is negative.\n"
    )
    yield row(AGGREGATE_COLUMNS)
    yield row(["---"] * len(AGGREGATE_COLUMNS))
    yield from (row(aggregate_cells(aggregate)) for aggregate in BUILTIN)
    yield from windows()
    yield from synopses()
    yield from taxonomy()


def windows() -> Iterator[str]:
    """Yield the lines about windows."""
    yield "\n## Windows\n"
    yield row(["window", "what it is", "counted in", "options"])
    yield row(["---"] * 4)
    for window in WINDOWS:
        options = ", ".join(f"`{item.name}`" for item in fields(window))
        yield row([f"`{window.__name__}`", first_line(window), UNITS[window.unit], options])


def synopses() -> Iterator[str]:
    """Yield the lines about synopses."""
    yield "\n## Synopses\n"
    yield (
        "What is kept of a sliding window of R elements. A partial is the state of an aggregate; k is the size of a\n"
        "sample, ε⁻²·log₂(1/(εδ)) unless another is given. The window is a number of elements (count) or a length of\n"
        "time. A rank is the place of a value in the window in the order of values.\n"
    )
    yield row(SYNOPSIS_COLUMNS)
    yield row(["---"] * len(SYNOPSIS_COLUMNS))
    for synopsis in SYNOPSES:
        kept = [repr(example_aggregate(aggregate)) for aggregate in BUILTIN if keeps(synopsis, aggregate)]
        yield row(
            [
                f"`{synopsis.__name__}`",
                first_line(synopsis),
                listed(frozenset(synopsis.retentions)),
                kind_of(synopsis),
                synopsis.time,
                synopsis.space,
                synopsis.error,
                ", ".join(f"`{call.partition('(')[0]}`" for call in kept),
                synopsis.source,
            ]
        )


def taxonomy() -> Iterator[str]:
    """Yield the lines that classify the synopses: as in the thesis' section 4.8, and by aggregate."""
    yield "\n### Taxonomy\n"
    for heading, retention in (("Fixed number of elements", "count"), ("Variable number of elements", "time")):
        yield f"- {heading} (retention by {retention})"
        for kind in KINDS:
            yield f"  - {kind}: {names(s for s in SYNOPSES if retention in s.retentions and kind_of(s) == kind)}"
    yield f"- All elements since the start (no retention): {names(s for s in SYNOPSES if not s.retentions)}"
    yield "\nWhich synopses tell an aggregate:\n"
    yield row(["aggregate", *KINDS])
    yield row(["---"] * (1 + len(KINDS)))
    for aggregate in BUILTIN:
        telling = [synopsis for synopsis in SYNOPSES if keeps(synopsis, aggregate)]
        kinds = [names(s for s in telling if kind_of(s) == kind) for kind in KINDS]
        yield row([f"`{example_aggregate(aggregate)!r}`", *kinds])


def keeps(synopsis: type[Synopsis], aggregate: type[AggregateFunction]) -> bool:
    """Return whether a synopsis supports an aggregate, over some retention or none."""
    retentions: list[Any] = [Retention(100, kind) for kind in synopsis.retentions] or [None]
    made = example_aggregate(aggregate)
    return any(synopsis.why_not(made, retention, LIKELY) is None for retention in retentions)


def kind_of(synopsis: type[Synopsis]) -> str:
    """Return whether a synopsis is exact, and if not, whether its error bound is deterministic."""
    if synopsis.exact:
        return "exact"
    return f"approximate, {'deterministic' if synopsis.deterministic else 'randomised'}"


def names(found: Iterable[type[Synopsis]]) -> str:
    """Join the names of synopses."""
    return ", ".join(f"`{synopsis.__name__}`" for synopsis in found) or "-"


def aggregate_cells(aggregate: type[AggregateFunction]) -> list[str]:
    """Return the cells of one aggregate's row."""
    made = example_aggregate(aggregate)
    return [
        f"`{made!r}`",
        first_line(aggregate),
        f"{'yes' if made.bounded else 'no'}, {aggregate.kind}",
        state_of(made),
        str(aggregate.needs),
        yes(made.invertible),
        yes(aggregate.duplicate_sensitive),
        yes(aggregate.robust),
        aggregate.monotonic,
        yes(aggregate.order_sensitive),
        str(made.result_type(pa.int32())),
        aggregate.source,
    ]


def state_of(aggregate: AggregateFunction) -> str:
    """Describe the state that an aggregate stores per frame."""
    size = len(aggregate.zero_state(False))
    if aggregate.form == "values":
        return "the different values and their counts" + ("; with eps a summary" if aggregate.ranks_suffice else "")
    return f"{size} number{'s' if size > 1 else ''}" + (", by its options" if aggregate.form == "row" else "")


def listed(words: frozenset[str]) -> str:
    """Join words in alphabetical order."""
    return ", ".join(sorted(words)) or "-"


def first_line(cls: type) -> str:
    """Return the first line of a docstring."""
    return (inspect.getdoc(cls) or "").splitlines()[0]


def default(item: Field[object]) -> str:
    """Return the default of an option."""
    if item.default is not MISSING:
        return f"`{item.default!r}`"
    return "`{}`" if item.default_factory is not MISSING else "must be given"


def yes(truth: bool) -> str:
    """Return "yes" or "no"."""
    return "yes" if truth else "no"


def row(cells: list[str]) -> str:
    """Return one row of a table."""
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


if __name__ == "__main__":
    main()
