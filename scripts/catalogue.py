"""Prints catalogue.md: every scheme and aggregate with its declared properties, generated from the classes."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import MISSING, Field, fields

import pyarrow as pa

import windrow as wr
from windrow.aggregates import BUILTIN, AggregateFunction
from windrow.frames import SCHEMES
from windrow.testing import example_aggregate

EXAMPLES: tuple[wr.Scheme, ...] = (
    wr.Aggregate(wr.sum("volume"), "<=", 100),
    wr.Aggregate(wr.sum("volume"), ">", 100),
    wr.Boundary({"x": 10.0}),
    wr.Custom(["x"], open=lambda t, s: True, close=lambda t, s: False),
    wr.Delta({"dye": 0.05}),
    wr.Delta({"dye": 0.05}, op=">"),
    wr.Delta({"dye": 0.05}, reference="first"),
    wr.DoubleBoundary({"x": 10.0}),
    wr.Gap("30 minutes"),
    wr.Threshold("speed < 40"),
    wr.Threshold("speed < 40", close="speed > 50"),
    wr.Threshold("speed < 40", segments=True),
)


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


def main() -> None:
    """Print the whole page."""
    missing = {scheme.__name__ for scheme in SCHEMES} - {type(example).__name__ for example in EXAMPLES}
    if missing:
        raise SystemExit(f"schemes without an example: {', '.join(sorted(missing))}")
    print("\n".join(page()))


def page() -> Iterator[str]:
    """The lines of the page."""
    yield "# Catalogue"
    yield "\nMade by `make catalogue` from the classes; do not edit.\n"
    yield "## Schemes\n"
    yield "Every scheme takes a tuple in constant time and keeps a constant state a group.\n"
    yield "| scheme | closed under | framings are | native plan | source |"
    yield "| --- | --- | --- | --- | --- |"
    for example in EXAMPLES:
        shown = "Custom(…)" if isinstance(example, wr.Custom) else repr(example)
        cells = [f"`{shown}`", listed(example.closure), listed(example.properties), "yes" if example.is_run else "no"]
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


def aggregate_cells(aggregate: type[AggregateFunction]) -> list[str]:
    """The cells of one aggregate's row."""
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
    """What is kept of the values of a frame."""
    size = len(aggregate.zero_state(False))
    if aggregate.form == "values":
        return "the different values and their counts"
    return f"{size} number{'s' if size > 1 else ''}" + (", by its options" if aggregate.form == "row" else "")


def listed(words: frozenset[str]) -> str:
    """Words in alphabetical order."""
    return ", ".join(sorted(words)) or "-"


def first_line(cls: type) -> str:
    """The first sentence of a docstring."""
    return (inspect.getdoc(cls) or "").splitlines()[0]


def default(item: Field[object]) -> str:
    """What an option is if it is not given."""
    if item.default is not MISSING:
        return f"`{item.default!r}`"
    return "`{}`" if item.default_factory is not MISSING else "must be given"


def yes(truth: bool) -> str:
    """Yes or no."""
    return "yes" if truth else "no"


def row(cells: list[str]) -> str:
    """One row of a table."""
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


if __name__ == "__main__":
    main()
