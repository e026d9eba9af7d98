"""Hooks of the documentation's build: the catalogue page, made of the generated catalogue.md.

The tables of catalogue.md have up to twelve columns. On the site each wide table is split, so that every part fits a
page: schemes lose their sources to the sections that follow, aggregates are in two tables, what they compute and what
they declare, and each synopsis gets a short list.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
MARK = "<!-- catalogue -->"
MOST_COLUMNS = 6
DECLARED = ["bounded", "state", "removes", "duplicates count", "robust", "monotonic", "order counts", "native"]


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Replace the mark on the catalogue page by the catalogue."""
    if MARK not in markdown:
        return markdown
    lines = (ROOT / "catalogue.md").read_text().splitlines()
    return markdown.replace(MARK, "\n".join(readable(lines)))


def readable(lines: list[str]) -> Iterator[str]:
    """Return the lines of the catalogue from its first section on, with wide tables split."""
    at = next(i for i, line in enumerate(lines) if line.startswith("## "))
    sources: dict[str, str] = {}
    section = ""
    while at < len(lines):
        if not lines[at].startswith("|"):
            section = lines[at].removeprefix("### ") if lines[at].startswith("### ") else section
            yield lines[at]
            at += 1
            continue
        end = next((i for i in range(at, len(lines)) if not lines[i].startswith("|")), len(lines))
        header, rows = cells(lines[at]), [cells(text) for text in lines[at + 2 : end]]
        if header[0] == "scheme":
            sources = {row[0].strip("`").partition("(")[0]: row[-1] for row in rows}
            yield from columns(header, rows, header[:-1])
        elif header[0] == "aggregate" and len(header) > MOST_COLUMNS:
            yield from columns(header, rows, ["aggregate", "what it is", "over integers", "values needed"])
            yield "\nWhat they declare, and plans and synopses rely on:\n"
            yield from columns(header, rows, ["aggregate", *DECLARED])
        elif len(header) > MOST_COLUMNS:
            yield from entries(header, rows)
        else:
            yield from lines[at:end]
        if header[0] == "option" and section in sources:
            yield f"\nSource: {sources[section]}"
        at = end


def columns(header: list[str], rows: list[list[str]], chosen: list[str]) -> Iterator[str]:
    """Return some columns of a table; types, which have angle brackets, become code."""
    places = [header.index(name) for name in chosen]
    yield line(chosen)
    yield line(["---"] * len(chosen))
    for row in rows:
        yield line([f"`{row[place]}`" if header[place] == "over integers" else row[place] for place in places])


def entries(header: list[str], rows: list[list[str]]) -> Iterator[str]:
    """One entry for each row: what it is, and everything else as a list."""
    for name, what, *rest in rows:
        yield f"### {name.strip('`')}\n"
        yield f"{what}\n"
        yield from (f"- **{key}**: {value}" for key, value in zip(header[2:], rest, strict=True))
        yield ""


def cells(text: str) -> list[str]:
    """Return the cells of one row; an escaped bar is part of a cell."""
    inner = text.strip().strip("|").replace(r"\|", "\0")
    return [cell.strip().replace("\0", r"\|") for cell in inner.split("|")]


def line(row: list[str]) -> str:
    """One row of a table."""
    return f"| {' | '.join(row)} |"
