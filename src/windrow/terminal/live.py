"""Live rows: a self-updating table of the newest rows on a terminal, one line per row elsewhere."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from windrow.terminal.tables import Column, Table, as_texts, fitting

LINES_AROUND = 6
"""Lines of a live table other than its rows: header, status and spacing."""


class LiveRows:
    """A live view of rows with a status line.

    On a terminal, the newest rows are on top, as many as fit. In a pipe or a file, a line of column names is followed
    by one tab-separated line per row.
    """

    def __init__(self, limit: int, console: Console | None = None) -> None:
        self._console = console or Console(highlight=False)
        self._newest: deque[tuple[Any, ...]] = deque(maxlen=limit)
        self._names: list[str] = []
        self._status = ""
        self._live = Live(console=self._console, auto_refresh=False) if self._console.is_terminal else None

    def __enter__(self) -> Self:
        if self._live:
            self._live.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._live:
            self.set_status("")
            self._live.stop()

    def add(self, columns: Mapping[str, Column]) -> None:
        """Show more rows, the newest last."""
        rows = list(zip(*columns.values(), strict=True))
        if not self._live:
            self._print(list(columns), rows)
            return
        self._names = list(columns)
        self._newest.extendleft(rows)
        self._renew()

    def set_status(self, status: str) -> None:
        """Show a status below the table until the view closes; only on a terminal."""
        if self._live and status != self._status:
            self._status = status
            self._renew()

    def _print(self, names: list[str], rows: Sequence[tuple[Any, ...]]) -> None:
        if rows and names != self._names:
            self._names = names
            print("\t".join(names))
        texts = [as_texts(values) for values in zip(*rows, strict=True)]
        for line in zip(*texts, strict=True):
            print("\t".join(line))
        sys.stdout.flush()

    def _renew(self) -> None:
        assert self._live is not None
        parts: list[Any] = []
        shown = list(self._newest)[: max(1, self._console.height - LINES_AROUND)]
        if shown:
            columns = dict(zip(self._names, zip(*shown, strict=True), strict=True))
            parts.append(fitting(Table(columns), self._console)[0])
        if self._status:
            parts.append(Text(self._status, style="dim"))
        self._live.update(Group(*parts), refresh=True)
