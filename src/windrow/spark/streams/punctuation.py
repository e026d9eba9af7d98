"""The channel between `wr.frames` and `wr.fill` on streams: punctuation about frames that are still open.

`wr.fill` buffers each row until no frame that is yet to arrive can contain it. The watermark alone cannot tell: a frame
is emitted only when it closes, so one that started long before the watermark may still be open. The framing operator
knows these frames. With punctuation, each of its buckets therefore sends, along with its frames, a table in the column
`open`: the keys of every group that has an open frame of which nothing has been emitted yet, and the least `start` of
these frames. The table is complete and replaces the bucket's previous one. Any other unknown frame starts after the
watermark, so `wr.fill` drops a row once it is before the watermark and before the `start` of its group. Fragments need
no punctuation: they show how far their frame reaches.

A streaming DataFrame has no place for such data, so the channel is outside of it:

1. `wr.frames` attaches a `FrameStream` to the DataFrame that it returns (`streams/operator.py`), and keeps it under the
   id that its columns have in their marks (`streams/lineage.py`). Windows have none.
2. `wr.widen` attaches a copy to its own result, with the distances by which it moved starts and ends. It also notes
   them in the marks.
3. `wr.fill` reads it (`streams/fill_operator.py`). If the attribute is there, the stream is unmodified: `wr.fill` does
   not use the plan of the DataFrame, but calls `with_punctuation` to build the framing operator again, and moves starts
   and ends itself.
4. Every other method of a DataFrame returns an object without the attribute. If rows and columns were only selected or
   renamed, the marks lead to the `FrameStream`. `wr.fill` then takes the frames from the DataFrame, and the punctuation
   from a second framing operator over the same rows, which costs as much as the first.

`wr.fill` rejects any other stream framed in the same query, and requires a watermark on `start` for a stream of frames
from elsewhere, such as a topic.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from pyspark.sql import DataFrame

from windrow.framing.stream import StreamPlan
from windrow.spark.streams.lineage import is_selection, mark_of

_MADE_OF = "_windrow_punctuated"
_MOST = 1_000
"""How many recipes are kept; the oldest are dropped."""
_recipes: dict[str, FrameStream] = {}


@dataclass(frozen=True)
class FrameStream:
    """The recipe of a stream of frames: how to build its framing operator again, this time with punctuation."""

    plan: StreamPlan
    buckets: int | None
    with_punctuation: Callable[[bool], DataFrame]
    """Builds the framing operator again, with punctuation; the argument says whether the query has the first, too."""
    stream: str
    """The id of the stream in the marks of its columns."""
    before: int | float = 0
    """How far `wr.widen` moved the starts back, in the unit of the clock."""
    after: int | float = 0
    """How far `wr.widen` moved the ends forward."""
    selected: bool = False
    """Whether rows or columns of the stream were selected or renamed, so that its own plan is needed."""

    def widened(self, before: int | float, after: int | float) -> FrameStream:
        """Return the recipe of the same frames, widened further."""
        return replace(self, before=self.before + before, after=self.after + after)

    def is_of(self, frames: DataFrame) -> None:
        """Attach this recipe to the stream it produced, for `wr.fill`."""
        frames.__dict__[_MADE_OF] = self
        if self.stream not in _recipes:
            _recipes[self.stream] = self
            for oldest in list(_recipes)[:-_MOST]:
                del _recipes[oldest]

    @classmethod
    def of(cls, frames: DataFrame) -> FrameStream | None:
        """Return the recipe of a stream, or None if it is not the unmodified result of `wr.frames` or `wr.widen`."""
        return frames.__dict__.get(_MADE_OF)

    @classmethod
    def behind(cls, frames: DataFrame, start: str, end: str) -> FrameStream | None:
        """Return the recipe of a stream, or of the stream that its rows and columns were selected from, or None."""
        recipe = cls.of(frames)
        if recipe is not None:
            return recipe
        first, last = (mark_of(frames.schema[name], role) for name, role in ((start, "start"), (end, "end")))
        if not first or not last or first["stream"] != last["stream"]:
            return None
        recipe = _recipes.get(first["stream"])
        if recipe is None or not is_selection(frames):
            return None
        return replace(recipe, before=-first["moved"], after=last["moved"], selected=True)

    def framed_by(self, frames: DataFrame) -> tuple[str, ...]:
        """Return the columns that the stream was framed by, under their present names, as far as they exist."""
        marks = {field.name: mark_of(field, "by") for field in frames.schema.fields}
        places = {mark["place"]: name for name, mark in marks.items() if mark and mark["stream"] == self.stream}
        return tuple(places[place] for place in sorted(places))
