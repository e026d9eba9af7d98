"""Blocks with all the room that they need, and their way to bytes and back."""

from __future__ import annotations

from windrow.state.checks import reading
from windrow.synopses.arasu_manku.check import check_blocks
from windrow.synopses.arasu_manku.cover import FIRST, LAST, Cover, empty_cover, update_cover
from windrow.synopses.arasu_manku.layout import NEWEST, Blocks, Terms
from windrow.synopses.arasu_manku.room import with_room
from windrow.synopses.arasu_manku.update import Work, take
from windrow.synopses.base import Instants
from windrow.synopses.saved import pack_arrays, unpack_arrays
from windrow.synopses.total_order import Keys

VERSION = 1


class BlockKeeper:
    """Blocks with the room that they need: more is made whenever a kernel stops for want of it."""

    def __init__(self, terms: Terms) -> None:
        self.terms = terms
        self.blocks = Blocks.make(terms)
        self._make_work()

    def take(self, on: Instants, keys: Keys) -> None:
        """Take in elements."""
        at = 0
        while (at := take(self.terms, self.blocks, on, keys, at, keys.size, self.work)) < keys.size:
            self.grow()

    def advance(self, now: int) -> None:
        """Let time go on: blocks whose first element has left are not answered from, and dropped sometime later."""
        self.blocks.cursors[NEWEST] = now

    def cover(self) -> Cover | None:
        """Blocks that cover the window; None if it is empty."""
        cover = empty_cover()
        update_cover(self.terms, self.blocks, cover)
        return cover if cover.span[FIRST] < cover.span[LAST] else None

    def grow(self) -> None:
        """Make the room that was wanted."""
        self.blocks = with_room(self.terms, self.blocks)
        self._make_work()

    def save(self, kind: str) -> bytes:
        """The state as bytes."""
        return pack_arrays(kind, VERSION, self.terms._asdict(), self.blocks.plain())

    def load(self, kind: str, data: bytes) -> None:
        """Go on from a saved state."""
        arrays = unpack_arrays(data, kind, VERSION, self.terms._asdict(), Blocks.make(self.terms).plain())
        with reading():
            blocks = self.blocks.of_plain(arrays)
            check_blocks(self.terms, blocks)
        self.blocks = blocks
        self._make_work()

    def _make_work(self) -> None:
        self.work = Work.make(self.blocks)

    @property
    def newest(self) -> int:
        """The newest `on` or moment that time went on to, or the newest position if the retention is of a count."""
        return int(self.blocks.cursors[NEWEST])

    @property
    def nbytes(self) -> int:
        """The memory that the state takes."""
        return sum(part.nbytes for part in (*self.blocks, *self.work))
