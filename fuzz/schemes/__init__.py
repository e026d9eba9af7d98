"""The schemes by their definitions, one module each: random schemes in plain values, and the schemes they stand for.

A module of this package that is not private defines `DEFINITION`. It serves the fuzzer and, as `SPECIFICATIONS` and
`QUERIES`, the tests. Options are drawn freely, but aggregates and rules come from a short list, because each takes
seconds to compile.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import windrow as wr
from fuzz.definition import Definition, Frame, Length, Row, Settled, Spec, sometimes
from windrow.framing.schemes.rules.limits import LimitedScheme

DEFINITIONS: dict[str, Definition] = {
    definition.kind.__name__: definition
    for definition in (
        import_module(f"{__name__}.{module.name}").DEFINITION
        for module in iter_modules(__path__)
        if not module.name.startswith("_")
    )
}
SPECIFICATIONS = {definition.kind: definition.strategy() for definition in DEFINITIONS.values()}
"""Random specifications of each scheme, for Hypothesis."""
QUERIES = {name: scheme for definition in DEFINITIONS.values() for name, scheme in definition.queries().items()}
"""Schemes by name that every engine must frame alike."""


def draw(rng: random.Random, length: Length, *, runs: bool = False) -> dict[str, Any]:
    """Draw a scheme; `length` draws a duration. With `runs`, its frames are runs of one label."""
    weights = [each.weight_of_runs if runs else each.weight for each in DEFINITIONS.values()]
    definition = rng.choices(list(DEFINITIONS.values()), weights)[0]
    spec = definition.draw(rng, length, runs=runs)
    sometimes(rng, spec.options, "nulls", 0.4, lambda: rng.choice(definition.policies))
    sometimes(rng, spec.options, "max_gap", 0.3, lambda: length(rng))
    sometimes(rng, spec.options, "nulls", 0.03, lambda: "error")
    if issubclass(definition.kind, LimitedScheme):
        _draw_limits(rng, spec.options, length, runs=runs)
        definition.allow_limits(spec.options)
    return {"name": definition.kind.__name__, "args": spec.args, "options": spec.options}


def _draw_limits(rng: random.Random, options: dict[str, Any], length: Length, *, runs: bool) -> None:
    """Draw minimums and maximums; with `runs`, only those that Spark SQL can apply."""
    sometimes(rng, options, "min_count", 0.3, lambda: rng.randint(1, 4))
    has_maximum = rng.random() < 0.3 and not options.get("segments")
    if has_maximum:
        sometimes(rng, options, "max_count", 0.5, lambda: rng.randint(4, 8))
    if not (runs and has_maximum):
        sometimes(rng, options, "min_duration", 0.3, lambda: length(rng))
        sometimes(rng, options, "extent", 0.3, lambda: "half-open")
    if has_maximum and not runs:
        # The lengths may be texts, which do not compare: a minimum is at most itself.
        sometimes(rng, options, "max_duration", 0.5, lambda: options.get("min_duration") or length(rng))


def build(scheme: dict[str, Any]) -> wr.Scheme:
    """Build the scheme that plain values stand for."""
    return DEFINITIONS[scheme["name"]].build(_spec(scheme))


def conditions(scheme: dict[str, Any]) -> dict[str, str]:
    """Return the predicates that a scheme reads."""
    return DEFINITIONS[scheme["name"]].conditions(_spec(scheme))


def attributes(scheme: dict[str, Any]) -> list[str]:
    """Return the columns whose numbers a scheme reads."""
    return DEFINITIONS[scheme["name"]].attributes(_spec(scheme))


def labels(scheme: dict[str, Any]) -> list[str]:
    """Return the columns whose values label the rows."""
    return DEFINITIONS[scheme["name"]].labels(_spec(scheme))


def more_columns(scheme: dict[str, Any]) -> dict[str, tuple[str, Sequence[Any]]]:
    """Return further columns that a scheme needs: their types, and values to draw from."""
    return DEFINITIONS[scheme["name"]].more_columns(_spec(scheme))


def settle(scheme: dict[str, Any], rows: Sequence[Row], on: str) -> list[Settled]:
    """Return the rows that take part, according to the policy for nulls."""
    return DEFINITIONS[scheme["name"]].settle(_spec(scheme), rows, on)


def frames(scheme: dict[str, Any], rows: Sequence[Settled], length: Any) -> list[Frame]:
    """Return all frames in order of their numbers; `length` converts an option's duration to clock units."""
    return DEFINITIONS[scheme["name"]].all_frames(_spec(scheme), rows, length)


def _spec(scheme: dict[str, Any]) -> Spec:
    return Spec(scheme["args"], scheme["options"])
