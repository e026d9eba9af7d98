"""The report of an accuracy study, for a terminal and for a file: the thesis' numbers next to ours, and a verdict."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import IO

from windrow.studies.accuracy import CANDIDATES, Finding
from windrow.studies.thesis.accuracy import HISTOGRAM, RESERVOIR, SKETCH, Observed, ThesisTable
from windrow.terminal import Table

FIELDS = (
    "table", "data", "synopsis", "deterministic", "minutes", "phi", "eps", "delta", "measurements",
    "average", "maximum", "observed_delta", "thesis_average", "thesis_maximum", "thesis_delta",
)  # fmt: skip

NOTES = {
    RESERVOIR: (
        "Table 6.9, 1 minute: the reservoir has 199,316 places and the window 19,200 values, so nine tenths of the "
        "values in the thesis' reservoir are older than the window. Its answer is the variance of all numbers, from "
        "which that of 19,200 uniform ones is usually √(0.8/19,200) = 0.0065 off, and more than 0.01 off in 12 of 100 "
        "windows. BiasedReservoir forgets what has left the window, PaneReservoirs draws from the window only.",
        "An item of age a is in a biased reservoir with probability exp(-a/size), so where the data drift (sorted, "
        "bursty) it represents the newest part of the window, unless it is far larger than that. PaneReservoirs is as "
        "likely to have any element of the window as any other, and so holds ε for quantiles of all data.",
        "The size ε⁻²·log₂(1/(εδ)) is one for quantiles. A variance needs about (κ-1)·(z/ε)² items, κ being the "
        "kurtosis and z = 3.89 for δ = 0.0001: for ε = 0.05 that is 4,844 of the 7,044 for uniform numbers, 12,109 "
        "for Gaussian ones, and the whole window for a heavy tail. VarianceHistogram (tables 6.10 and 6.11) holds "
        "ε = 0.05 and 0.01 on all of them, for certain.",
    ),
    HISTOGRAM: (
        "The thesis could not explain why its errors do not fall with ε. Those of 15 and 60 minutes do not look like "
        "the histogram's: they are what two windows of R uniform numbers differ by that share no element, 0.8·√(1.6/R) "
        "on average, 0.0019 and 0.0009. So the exact answers there seem to be of other elements.",
    ),
    SKETCH: (
        "KLLPanes is randomised, and draws bits of its own: its numbers differ a little from run to run. "
        "Greenwald-Khanna supports no retention, so it takes no part; Arasu-Manku's blocks consist of its summaries.",
    ),
}


def beside_thesis(table: ThesisTable, findings: Iterable[Finding]) -> Table | None:
    """Return the thesis' table with our numbers for the same synopsis; None without uniform data."""
    own = CANDIDATES[table.synopsis][0].name
    rows = [f for f in findings if f.table == table.number and f.synopsis == own and f.thesis is not None]
    if not rows:
        return None
    columns: dict[str, Sequence[object]] = {"minutes": [f.minutes for f in rows]}
    if table.what == "quantiles":
        columns["φ"] = [f"{f.phi:.2f}" for f in rows]
    for i, (name, shown) in enumerate((("avg", _error), ("max", _error), ("δ", _share))):
        columns[f"{name} theirs"] = [shown(f.thesis[i]) for f in rows if f.thesis]
        columns[f"{name} ours"] = [shown(f.observed[i]) for f in rows]
    return Table(columns, title=f"{_heading(table)}: {table.what}, {own}, uniform, N = {rows[0].measurements}")


def on_all_data(table: ThesisTable, findings: Iterable[Finding]) -> Table:
    """Return the worst result of each synopsis on each kind of data, over all quantiles, one column per retention."""
    mine = [f for f in findings if f.table == table.number]
    minutes = sorted({f.minutes for f in mine})
    kinds = list(dict.fromkeys((f.data, f.synopsis) for f in mine))
    worst = {
        (data, synopsis, length): _worst(f for f in mine if (f.data, f.synopsis, f.minutes) == (data, synopsis, length))
        for data, synopsis in kinds
        for length in minutes
    }
    columns: dict[str, Sequence[object]] = {
        "data": [data for data, _ in kinds],
        "synopsis": [synopsis for _, synopsis in kinds],
    }
    for length in minutes:
        columns[f"max {length}"] = [_error(worst[*kind, length].maximum) for kind in kinds]
    for length in minutes:
        columns[f"δ {length}"] = [_share(worst[*kind, length].delta) for kind in kinds]
    return Table(columns, title=f"{_heading(table)}: maximum error and δ, by minutes")


def notes(tables: Iterable[ThesisTable], findings: Iterable[Finding]) -> Iterator[str]:
    """Explain the numbers of measurements and the results."""
    times = {f.data: f.measurements for f in findings}
    if len(set(times.values())) > 1:
        counts = ", ".join(f"{n} on {data}" for data, n in times.items())
        yield f"Measurements: {counts} data. With --data KIND there are {max(times.values())} on any."
    for synopsis in dict.fromkeys(table.synopsis for table in tables):
        yield from NOTES[synopsis]


def exceptions(findings: Iterable[Finding]) -> Iterator[str]:
    """List the synopses that exceeded ε more often than δ, with the table, the data and the number of settings."""
    missed = Counter((f.synopsis, f.table, f.data) for f in findings if not f.holds)
    for what in sorted({(synopsis, table) for synopsis, table, _ in missed}, key=_in_order):
        data_counts = [f"{data} ({n})" for (*which, data), n in missed.items() if tuple(which) == what]
        yield f"{what[0]}, table {what[1]}: {', '.join(data_counts)}"


def verdict(findings: Sequence[Finding]) -> str:
    """Summarise whether deterministic synopses were always within ε, and randomised ones as often as promised."""
    certain = [f.holds for f in findings if f.deterministic]
    likely = [f.holds for f in findings if not f.deterministic]
    parts = []
    if certain:
        parts.append(f"deterministic synopses: within ε in {_of(certain)} settings")
    if likely:
        parts.append(f"randomised {'ones' if certain else 'synopses'}: observed δ ≤ δ in {_of(likely)}")
    return "; ".join(parts)


def write_csv(findings: Iterable[Finding], file: IO[str]) -> None:
    """Write one line per setting, with the thesis' numbers where available."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(FIELDS)
    for f in findings:
        workload = [f.table, f.data, f.synopsis, str(f.deterministic).lower(), f.minutes, f.phi, f.eps, f.delta]
        writer.writerow([*workload, f.measurements, *f.observed, *(f.thesis or (None,) * 3)])


def _worst(findings: Iterable[Finding]) -> Observed:
    return Observed(*map(max, zip(*(f.observed for f in findings), strict=True)))


def _in_order(what: tuple[str, str]) -> tuple[str, tuple[int, ...]]:
    """Sort by synopsis, then by table number."""
    return what[0], tuple(map(int, what[1].split(".")))


def _heading(table: ThesisTable) -> str:
    likely = f", δ {table.delta:g}" if table.delta else ""
    return f"Table {table.number} (ε {table.eps}{likely})"


def _error(value: float) -> str:
    """Format an error with as many digits as the thesis; large errors need fewer.

    >>> _error(0.0), _error(0.104999), _error(1316.80349)
    ('0.00000', '0.10500', '1316.8')
    """
    return f"{value:.5f}" if value < 1 else f"{value:.5g}"


def _share(value: float) -> str:
    """Format a share of all answers, with a plain 0 for none, so that the others stand out."""
    return _error(value) if value else "0"


def _of(holds: Sequence[bool]) -> str:
    return f"all {len(holds)}" if all(holds) else f"{sum(holds)} of {len(holds)}"
