"""The channel between `wr.frames` and `wr.fill` on streams: punctuation about frames that are still open.

`wr.fill` buffers each row until no frame that is yet to arrive can contain it. The watermark alone cannot tell: a frame
is emitted only when it closes, so one that started long before the watermark may still be open. The framing operator
knows these frames. With punctuation, each of its buckets therefore sends, along with its frames, a table in the column
`open`: the keys of every group that has an open frame of which nothing has been emitted yet, and the least `start` of
these frames. The table is complete and replaces the bucket's previous one. Any other unknown frame starts after the
watermark, so `wr.fill` drops a row once it is before the watermark and before the `start` of its group. Fragments need
no punctuation: they show how far their frame reaches.

A streaming DataFrame has no place for such data, so the channel is an attribute of the Python object:

1. `wr.frames` attaches a `FrameStream` to the DataFrame that it returns (`streams/operator.py`). Windows have none.
2. `wr.widen` attaches a copy to its own result, with the distances by which it moved starts and ends.
3. `wr.fill` reads it (`streams/fill_operator.py`). It does not use the plan of the DataFrame. It calls
   `with_punctuation` to build the framing operator again, and moves starts and ends itself.

Every other method of a DataFrame returns an object without the attribute, so it is present only on the unmodified
result of `wr.frames` or `wr.widen`. `wr.fill` rejects any other stream framed in the same query, and requires a
watermark on `start` for a stream of frames from elsewhere, such as a topic.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from pyspark.sql import DataFrame

from windrow.framing.stream import StreamPlan

_MADE_OF = "_windrow_punctuated"


@dataclass(frozen=True)
class FrameStream:
    """The recipe of a stream of frames: how to build its framing operator again, this time with punctuation."""

    plan: StreamPlan
    buckets: int
    with_punctuation: Callable[[], DataFrame]
    """Builds the framing operator again, with punctuation."""
    before: int | float = 0
    """How far `wr.widen` moved the starts back, in the unit of the clock."""
    after: int | float = 0
    """How far `wr.widen` moved the ends forward."""

    def widened(self, before: int | float, after: int | float) -> FrameStream:
        """Return the recipe of the same frames, widened further."""
        return replace(self, before=self.before + before, after=self.after + after)

    def is_of(self, frames: DataFrame) -> None:
        """Attach this recipe to the stream it produced, for `wr.fill`."""
        frames.__dict__[_MADE_OF] = self

    @classmethod
    def of(cls, frames: DataFrame) -> FrameStream | None:
        """Return the recipe of a stream, or None if it is not the unmodified result of `wr.frames` or `wr.widen`."""
        return frames.__dict__.get(_MADE_OF)
