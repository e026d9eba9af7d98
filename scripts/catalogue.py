"""Print catalogue.md: schemes, aggregates, windows and synopses as their classes declare them."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator
from dataclasses import MISSING, Field, fields
from typing import Any

import pyarrow as pa

from windrow.aggregates import BUILTIN, TIMED, AggregateFunction
from windrow.aggregates.base import name_of
from windrow.framing.schemes import SCHEMES
from windrow.synopses import SYNOPSES, Accuracy, Retention, Synopsis
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
    "native",
    "over integers",
    "source",
]

SYNOPSIS_COLUMNS = [
    "synopsis",
    "what it is",
    "retention",
    "answers",
    "time",
    "space",
    "error",
    "cost terms",
    "aggregates",
    "source",
]
LIKELY = Accuracy(eps=0.1, delta=0.01)
"""An accuracy that approximate synopses can guarantee; exact ones accept any."""
KINDS = ("exact", "approximate, deterministic", "approximate, randomised")
UNITS = {"time": "time", "rows": "rows", "times": "distinct times"}


def main() -> None:
    """Print the whole page."""
    print("\n".join(page()))


def page() -> Iterator[str]:
    """Yield the lines of the page."""
    yield "# Catalogue"
    yield "\nGenerated from the classes by `make catalogue`; do not edit.\n"
    yield "## Schemes\n"
    yield (
        "Every scheme processes a row in constant time and keeps a state of constant size per group, apart from the "
        "frames of a `Custom` that wait for their numbers.\n"
    )
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
        "The state of a bounded aggregate has a fixed size, which determines the time to add a value, to merge two\n"
        "states and to finish. A holistic one stores every distinct value with its count: it adds a value in\n"
        "amortised logarithmic time and finishes in time linear in the number of distinct values. A robust aggregate\n"
        "summarises all values; any other selects one or some of them. The result of a monotonic one never falls with\n"
        "another value: always, or if no value is negative; a falling one never rises. A native one runs inside Spark\n"
        "SQL: for frames, windows, or both.\n"
    )
    yield row(AGGREGATE_COLUMNS)
    yield row(["---"] * len(AGGREGATE_COLUMNS))
    yield from (row(aggregate_cells(aggregate)) for aggregate in (*BUILTIN, *TIMED))
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
        "What is stored of a sliding window of R values. A partial is the state of an aggregate; k is the size of a\n"
        "sample, ε⁻²·log₂(1/(εδ)) by default. A window holds a number of values (count) or the values of a length of\n"
        "time. The rank of a value is its position among all values in the window, sorted by size. The columns time,\n"
        "space and error summarise the papers; the cost terms are those that the planner's model weighs: per value,\n"
        "per answer, and for the memory.\n"
    )
    yield row(SYNOPSIS_COLUMNS)
    yield row(["---"] * len(SYNOPSIS_COLUMNS))
    for synopsis in SYNOPSES:
        answered = [aggregate for aggregate in BUILTIN if answers(synopsis, aggregate)]
        yield row(
            [
                f"`{synopsis.__name__}`",
                first_line(synopsis),
                listed(frozenset(synopsis.retentions)),
                kind_of(synopsis),
                synopsis.time,
                synopsis.space,
                synopsis.error,
                cost_terms(synopsis),
                ", ".join(f"`{name_of(aggregate)}`" for aggregate in answered),
                synopsis.source,
            ]
        )


def taxonomy() -> Iterator[str]:
    """Yield the lines that classify the synopses: as in the thesis' section 4.8, and by aggregate."""
    yield "\n### Taxonomy\n"
    for heading, retention in (("Fixed number of values", "count"), ("Variable number of values", "time")):
        yield f"- {heading} (retention by {retention})"
        for kind in KINDS:
            yield f"  - {kind}: {names(s for s in SYNOPSES if retention in s.retentions and kind_of(s) == kind)}"
    yield f"- All values since the start (no retention): {names(s for s in SYNOPSES if not s.retentions)}"
    yield "\nWhich synopses answer an aggregate:\n"
    yield row(["aggregate", *KINDS])
    yield row(["---"] * (1 + len(KINDS)))
    for aggregate in BUILTIN:
        answering = [synopsis for synopsis in SYNOPSES if answers(synopsis, aggregate)]
        kinds = [names(s for s in answering if kind_of(s) == kind) for kind in KINDS]
        yield row([f"`{aggregate.example()!r}`", *kinds])


def answers(synopsis: type[Synopsis], aggregate: type[AggregateFunction]) -> bool:
    """Return whether a synopsis answers an aggregate, over some retention or none."""
    retentions: list[Any] = [Retention(100, kind) for kind in synopsis.retentions] or [None]
    example = aggregate.example()
    return any(synopsis.why_not(example, retention, LIKELY) is None for retention in retentions)


def cost_terms(synopsis: type[Synopsis]) -> str:
    """Return the terms of the update, the query and the space for the aggregate of the synopsis' example."""
    costs = synopsis.costs(synopsis.example_aggregate)
    return "-" if costs is None else "; ".join(", ".join(terms) for terms in (costs.update, costs.query, costs.space))


def kind_of(synopsis: type[Synopsis]) -> str:
    """Return whether a synopsis is exact, and if not, whether its error bound is deterministic."""
    if synopsis.exact:
        return "exact"
    return f"approximate, {'deterministic' if synopsis.deterministic else 'randomised'}"


def names(synopses: Iterable[type[Synopsis]]) -> str:
    """Join the names of synopses."""
    return ", ".join(f"`{synopsis.__name__}`" for synopsis in synopses) or "-"


def aggregate_cells(aggregate: type[AggregateFunction]) -> list[str]:
    """Return the cells of one aggregate's row."""
    made = aggregate.example()
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
        native(aggregate),
        str(made.result_type(pa.int32())),
        aggregate.source,
    ]


def native(aggregate: type[AggregateFunction]) -> str:
    """Return where Spark SQL computes an aggregate."""
    places = {"frames": aggregate.spark_sql, "windows": aggregate.spark_sql_state}
    return ", ".join(place for place, sql in places.items() if sql is not None) or "-"


def state_of(aggregate: AggregateFunction) -> str:
    """Describe the state that an aggregate stores per frame."""
    size = len(aggregate.zero_state(False))
    if aggregate.form == "values":
        return "the distinct values and their counts" + ("; with eps a summary" if aggregate.ranks_suffice else "")
    return f"{size} number{'s' if size > 1 else ''}" + (", depending on options" if aggregate.form == "row" else "")


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
    return "`{}`" if item.default_factory is not MISSING else "required"


def yes(truth: bool) -> str:
    """Return "yes" or "no"."""
    return "yes" if truth else "no"


def row(cells: list[str]) -> str:
    """Return one row of a table."""
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


if __name__ == "__main__":
    main()
