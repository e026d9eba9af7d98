"""Tables on stdout: numbers right-aligned, short times, no wider than the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any, TypeAlias

from rich import box
from rich.console import Console, JustifyMethod
from rich.measure import Measurement
from rich.table import Table as RichTable
from rich.text import Text

Column: TypeAlias = Sequence[Any]
ENDLESS = 100_000
WIDEST_TEXT = 48
HIDDEN_FIRST = ("closed_at", "complete")
"""The columns to hide first if the terminal is too narrow."""


@dataclass(frozen=True)
class Table:
    """Named columns of equal length, and the number of further rows that they omit."""

    columns: Mapping[str, Column]
    more: int = 0
    title: str | None = None

    @property
    def rows(self) -> int:
        """The number of rows that can be shown."""
        return len(next(iter(self.columns.values()), ()))


def print_table(table: Table, console: Console | None = None) -> None:
    """Print a table that fits the terminal; in a pipe or a file its width is unlimited."""
    console = console or Console(highlight=False)
    if not console.is_terminal:
        console.width = ENDLESS
    shown, hidden = fitting(table, console)
    console.print(shown)
    if table.more:
        console.print(f"… and {table.more:,} more row{'s' if table.more > 1 else ''}", style="dim", soft_wrap=True)
    if hidden:
        console.print(f"columns that do not fit: {', '.join(hidden)}", style="dim", soft_wrap=True)


def fitting(table: Table, console: Console) -> tuple[RichTable, list[str]]:
    """Return a table with as many columns as fit, and the names of the others."""
    names, hidden = list(table.columns), list[str]()
    while True:
        shown = _rendered(table, names, WIDEST_TEXT if console.is_terminal else None)
        if len(names) == 1 or _width(shown, console) <= console.width:
            return shown, hidden
        least = next((name for name in HIDDEN_FIRST if name in names), names[-1])
        names.remove(least)
        hidden.append(least)


def _rendered(table: Table, names: Sequence[str], widest: int | None) -> RichTable:
    shown = RichTable(box=box.SIMPLE_HEAD, title=table.title, title_justify="left", title_style="bold", pad_edge=False)
    cells = []
    for name in names:
        values = table.columns[name]
        justify: JustifyMethod = "right" if is_numeric(values) else "left"
        shown.add_column(Text(name), justify=justify, no_wrap=True, max_width=widest)
        cells.append([Text(text) for text in as_texts(values)])
    for row in zip(*cells, strict=True):
        shown.add_row(*row)
    return shown


def _width(shown: RichTable, console: Console) -> int:
    return Measurement.get(console, console.options.update(max_width=ENDLESS), shown).maximum


def is_numeric(values: Column) -> bool:
    """Return whether a column contains only numbers, apart from nulls."""
    present = [value for value in values if value is not None]
    return bool(present) and all(isinstance(v, int | float | Decimal) and not isinstance(v, bool) for v in present)


def as_texts(values: Column) -> list[str]:
    """Format the values of a column in one style.

    >>> as_texts([1.5, None, 1234567.25])
    ['1.5', '', '1234567']
    >>> as_texts([datetime(2024, 3, 5, 7, 12, 20), datetime(2024, 3, 5, 9, 0)])
    ['2024-03-05 07:12:20', '2024-03-05 09:00:00']
    >>> as_texts(
    ...     [datetime.fromisoformat("2024-03-05 07:12:20+01:00")]
    ... )  # an instant has its offset from UTC
    ['2024-03-05 07:12:20+01:00']
    """
    return [_as_text(value, _time_format(values)) for value in values]


def _time_format(values: Column) -> str:
    times = [value for value in values if isinstance(value, datetime)]
    return "milliseconds" if any(time.microsecond for time in times) else "seconds"


def _as_text(value: Any, timespec: str) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:.0f}" if 1e6 <= abs(value) < 1e15 else f"{value:.6g}"
    if isinstance(value, datetime):
        return value.isoformat(" ", timespec)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, timedelta):
        return as_duration(value)
    return " ".join(str(value).split())


def as_duration(value: timedelta) -> str:
    """Format a duration for people.

    >>> as_duration(timedelta(hours=1, minutes=5, seconds=20))
    '1 h 05 min'
    >>> as_duration(timedelta(minutes=4, seconds=20))
    '4 min 20 s'
    """
    seconds = round(value.total_seconds())
    if seconds >= 3600:
        return f"{seconds // 3600} h {seconds % 3600 // 60:02d} min"
    return f"{seconds // 60} min {seconds % 60:02d} s" if seconds >= 60 else f"{seconds} s"
