"""Rows as they come: on a terminal a table of the newest ones that renews itself, elsewhere a line each."""

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
"""What a live table needs beside its rows: head, status and air."""


class LiveRows:
    """Shows rows while they come, and a line that says how things stand.

    On a terminal the newest rows are on top, no more than fit. In a pipe or a file there is a line of names, then a
    line for each row, with tabs between the values.
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
            self.tell("")
            self._live.stop()

    def add(self, columns: Mapping[str, Column]) -> None:
        """Show more rows; the last one is the newest."""
        rows = list(zip(*columns.values(), strict=True))
        if not self._live:
            self._print(list(columns), rows)
            return
        self._names = list(columns)
        self._newest.extendleft(rows)
        self._renew()

    def tell(self, status: str) -> None:
        """Say how things stand, below the table, until the end; only on a terminal."""
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
