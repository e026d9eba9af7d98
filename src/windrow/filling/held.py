"""What a bucket of `wr.fill` holds between the batches of a stream, and what releases it.

Frames and rows arrive independently, so each is held until nothing can match it any more. For a group with one open
frame, along `on`:

    frame     [===================>                           not final: a later fragment may extend it
    rows        x   x    x     x  |   o     o      o   |  ?    ?     ?
                matched, released |   behind           |  ahead
                                  reach                watermark

    held       contents                                           released when
    ahead      rows that the watermark has not passed             the watermark passes them: they move behind or go
    behind     passed rows that a frame may still contain         they are before `needed_from` of their group
    open       frames that may still receive rows                 they are final and the watermark has passed their end
    under_way  starts of frames of which nothing has arrived      the next punctuation of the frames replaces them

`needed_from` is the earliest `on` that a frame not completely known may contain. Per group, it is the least of

- the watermark, moved back by `before`: frames that nothing is known about start after it;
- the start of the first frame under way, as reported by the frames' punctuation;
- the reach of each open frame that is not final.

A frame that starts earlier is late: its rows may be gone, so it is dropped and counted. Fragments follow from the same
rules. Each extends the reach of its frame, so the rows up to there are matched and released while the frame stays open.

If the frames are a table, no row is held behind the watermark. If the rows are a table, a frame is released as soon as
it is final. Only groups with frames are stored; buffered rows carry their own keys.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from windrow.arrays import Array
from windrow.filling.open_frames import OpenFrames
from windrow.filling.plan import FillPlan
from windrow.filling.sweep import Indices, Placed
from windrow.rows.buffers.waiting import Shelf, TimedShelf, Waiting
from windrow.rows.groups import Directory


@dataclass
class BufferStats:
    """Statistics of the rows that a bucket holds, per step and per arriving frame: total and maximum.

    Saved states use the names of the fields.
    """

    steps: int = 0
    total: int = 0
    most: int = 0
    frames: int = 0
    total_at_frames: int = 0
    most_at_frames: int = 0

    def note(self, held: int, frames: int) -> None:
        """Record a step with `held` rows in which `frames` frames arrived."""
        self.steps, self.total, self.most = self.steps + 1, self.total + held, max(self.most, held)
        if frames:
            self.frames, self.total_at_frames = self.frames + frames, self.total_at_frames + frames * held
            self.most_at_frames = max(self.most_at_frames, held)


class ReadPiece(NamedTuple):
    """A piece of rows behind the watermark that was read in this step, and its rows."""

    piece: Waiting
    rows: pa.Table


class Held:
    """The rows and frames that a bucket holds between batches; see the drawing above."""

    def __init__(self, plan: FillPlan, shelf: Shelf) -> None:
        self.plan = plan
        self.directory = Directory(plan.key_types)
        self.watermark: int | None = None
        """Rows up to here are late; None before the first watermark."""
        self.ahead = TimedShelf(shelf, plan.clock, "on", 0, 2, tuning=plan.tuning)
        """Rows that the watermark has not passed."""
        self.behind = TimedShelf(shelf, plan.clock, "on", 1, 2, tuning=plan.tuning)
        """Rows that it has passed and that a frame may still contain."""
        self.open = OpenFrames(plan, self.directory)
        self.under_way = Placed(np.empty(0, np.int64), np.empty(0, plan.clock.dtype))
        """The groups with frames under way of which nothing has arrived, and the start of the first one per group."""
        self.stats = BufferStats()
        self.checked = 0
        """The number of rows behind the watermark when all of them were last checked."""

    @property
    def rows(self) -> int:
        """The number of rows held."""
        return self.ahead.rows + self.behind.rows

    def groups(self, table: pa.Table) -> Indices:
        """Return the group of each row of a table."""
        return self.directory.encode([table.column(key) for key in self.plan.keys], table.num_rows)

    def instants(self, table: pa.Table) -> Array:
        """Return the `on` of each row of a table."""
        return self.ahead.instants(table)

    def next_event(self) -> int | None:
        """Return the watermark at which work is due even if nothing arrives, or None."""
        events = [] if self.ahead.first is None else [self.ahead.first]
        spans = self.open.spans
        if spans.final.any():
            events.append(spans.reach[spans.final].min().item())
        return min(events, default=None)

    def needed_from(self) -> Array:
        """Return, per known group, the least `on` that a frame not completely known may contain."""
        clock, spans = self.plan.clock, self.open.spans
        needed = np.full(len(self.directory), self._unknown_from, clock.dtype)
        np.minimum.at(needed, self.under_way.group, self.under_way.on)
        may_extend = ~spans.final
        np.minimum.at(needed, spans.group[may_extend], clock.after(spans.reach[may_extend]))
        return needed

    @property
    def _unknown_from(self) -> Any:
        """The least start of an unknown frame, in a group with no frame open or under way."""
        clock = self.plan.clock
        return clock.lowest if self.watermark is None else clock.after(self.watermark - self.plan.before)

    def release(self, passed: Sequence[pa.Table], read: Sequence[ReadPiece]) -> None:
        """Release the rows that no frame can contain any more, and hold those of `passed` that one still may."""
        needed_from = self.needed_from()
        least = needed_from.min(initial=self._unknown_from)
        self.behind.drop([piece for piece in self.behind.pieces if piece.high < least])
        # All rows are checked once their number has doubled; otherwise only those already read.
        check_all = self.behind.rows > 2 * self.checked + self.plan.tuning.rows_per_piece
        still_needed = [self._needed(table, needed_from) for table in passed]
        already_read = dict(read)
        for piece in [piece for piece in self.behind.pieces if check_all or piece in already_read]:
            table = already_read[piece] if piece in already_read else self.behind.read(piece)
            needed = self._needed(table, needed_from)
            if check_all or len(needed) < len(table):
                self.behind.drop([piece])
                still_needed.append(needed)
        self.behind.keep(still_needed)
        if check_all:
            self.checked = self.behind.rows

    def _needed(self, table: pa.Table, needed_from: Array) -> pa.Table:
        group = self.groups(table)
        # Buffered rows may belong to groups that were forgotten because they have no frame.
        more = np.full(len(self.directory) - needed_from.size, self._unknown_from, needed_from.dtype)
        return table.filter(pa.array(self.instants(table) >= np.append(needed_from, more)[group]))

    def release_all(self) -> None:
        """Release all rows, at the end of the stream."""
        self.ahead.drop(self.ahead.pieces)
        self.behind.drop(self.behind.pieces)
