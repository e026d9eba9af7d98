"""What `wr.frames` attaches to the stream it returns, for `wr.fill`: which groups have a frame under way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from pyspark.sql import DataFrame

from windrow.framing.stream import StreamPlan

_MADE_OF = "_windrow_punctuated"


@dataclass(frozen=True)
class FrameStream:
    """What a stream of frames is made of: pieces of Arrow by bucket, with the frames that are under way in `open`."""

    plan: StreamPlan
    buckets: int
    found: Callable[[], DataFrame]
    before: int | float = 0
    """How far the starts of the frames were moved back …"""
    after: int | float = 0
    """… and how far their ends were moved on."""

    def widened(self, before: int | float, after: int | float) -> FrameStream:
        """The same frames, moved further."""
        return replace(self, before=self.before + before, after=self.after + after)

    def is_of(self, frames: DataFrame) -> None:
        """Let it be known that these frames are made of it."""
        frames.__dict__[_MADE_OF] = self

    @classmethod
    def of(cls, frames: DataFrame) -> FrameStream | None:
        """What a stream of frames is made of; None if it is not, or no longer, just what `wr.frames` gave."""
        return frames.__dict__.get(_MADE_OF)
