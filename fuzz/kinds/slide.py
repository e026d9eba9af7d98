"""Windows: over rows in batches or panes in any order, with or without a synopsis."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import Any

import pyarrow as pa

from fuzz.case import Kind, NotACase
from fuzz.queries import in_order, table_of
from fuzz.sliding import ExpectedWindows, draw_slide, is_refusal, layout_of, run, slide_of
from windrow.errors import UnsupportedError, WindrowError
from windrow.rows.ordering import read_in_order
from windrow.rows.query import Reader
from windrow.windows.gather import Gatherer
from windrow.windows.pane_table import panes_table
from windrow.windows.slider import Slider


class Slide(Kind):
    """`Gatherer` and `Slider`: ordered rows in batches, or partial panes in any order."""

    name = "slide"
    share = 1.5
    with_synopsis = False

    def draw(self, rng: random.Random) -> dict[str, Any]:
        parts = draw_slide(
            rng, rows=rng.choice((3, 15, 40, 80)), groups=rng.choice((1, 2, 5)), with_synopsis=self.with_synopsis
        )
        n = len(parts["rows"])
        cuts = sorted(rng.randint(0, n) for _ in range(rng.choice((0, 1, 3))))
        return parts | {"cuts": cuts, "panes": rng.random() < 0.4}

    def check(self, parts: dict[str, Any]) -> int:
        if not parts["windows"] or not parts["agg"]:
            raise NotACase
        slide = slide_of(parts)
        try:
            slide.check()
        except WindrowError as error:
            if isinstance(error, UnsupportedError) or is_refusal(error):
                raise NotACase from None
            raise
        engine = self._panes if parts["panes"] and slide.commutes else self._batches
        return run(ExpectedWindows(parts), lambda: engine(parts))

    def _batches(self, parts: dict[str, Any]) -> list[pa.Table]:
        """Process ordered rows; a batch ends between two instants."""
        slide, rows, tables = slide_of(parts), in_order(parts), []
        t = list(parts["types"]).index("t")
        reader = Reader(slide, layout_of(slide))
        slider = Slider(slide, reader.directory)
        gatherer = Gatherer(slide, slider.synopsis_windows)
        cuts = [c for c in sorted(parts["cuts"]) if 0 < c < len(rows) and rows[c - 1][t] < rows[c][t]]
        for a, b in pairwise([0, *cuts, len(rows)]):
            slider.add(*gatherer.gather(read_in_order(reader, table_of(parts, rows[a:b]))))
            tables += slider.report(gatherer.past(slider.latest()))
        return [*tables, *slider.report(gatherer.past(slider.latest()), final=True)]

    def _panes(self, parts: dict[str, Any]) -> list[pa.Table]:
        """Process the panes of several tasks, as the tasks send them."""
        slide, rows = slide_of(parts), parts["rows"]
        sent = []
        for a, b in pairwise([0, *(min(c, len(rows)) for c in sorted(parts["cuts"])), len(rows)]):
            reader = Reader(slide, layout_of(slide))
            panes = Gatherer(slide).gather(reader.read(table_of(parts, rows[a:b])))
            sent.append(panes_table(reader.directory, *panes))
        together = pa.concat_tables(sent).sort_by("pane")
        slider = Slider(slide, Reader(slide, layout_of(slide)).directory)
        tables: list[pa.Table] = []
        for begin in range(0, len(together), 7):
            slider.add_table(together.slice(begin, 7))
            tables += slider.report(slider.latest())
        return [*tables, *slider.report(slider.latest(), final=True)]


class Kept(Slide):
    """Windows stored by a synopsis."""

    name = "kept"
    with_synopsis = True
