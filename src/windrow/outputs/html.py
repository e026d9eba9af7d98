"""Small pieces of HTML, with escaped text, for what notebooks show of results."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


def html_text(text: str) -> str:
    """Return a text as HTML that keeps its lines and spaces.

    >>> html_text("speed < 40")
    '<pre>speed &lt; 40</pre>'
    """
    return f"<pre>{escape(text)}</pre>"


def html_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return rows of texts as an HTML table; without a header if it is empty.

    >>> html_table(["op"], [["<"]])
    '<table><tr><th>op</th></tr><tr><td>&lt;</td></tr></table>'
    """
    lines = [_row("th", header)] if header else []
    return f"<table>{''.join([*lines, *(_row('td', row) for row in rows)])}</table>"


def _row(tag: str, cells: Sequence[str]) -> str:
    return f"<tr>{''.join(f'<{tag}>{escape(cell)}</{tag}>' for cell in cells)}</tr>"
