"""Seams: putting chunks together that were framed without knowing what came before.

A chunk cannot know the state its predecessor will hand over, so it is run from the empty state. Afterwards the chunk is
replayed from the true state, side by side with a run from the empty state, only until both are in the same state: from
there on they agree for ever, and what the first run found stands. A group that nothing was open in needs no replay. A
group that never agrees is replayed to the chunk's end: nothing is ever wrong, only slower. The rule holds for any
scheme.

Where frames are runs of one label, both states agree as soon as the first run of the chunk is over. What happens
until then is known from that run's summary, its head, so these schemes are stitched without reading a tuple again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.framing.framer import Framer, Frames, State
from windrow.framing.parallel.heads import NO_HEAD, NOT_MET, extend_by_heads, read_heads
from windrow.framing.query import FrameQuery, frames_table
from windrow.framing.records import DROPPED, FINAL, Batch, Records
from windrow.framing.state import pack_frames, take_frames, unpack_frames, unpack_state
from windrow.rows.groups import Directory
from windrow.rows.query import RowBatch

Codes = npt.NDArray[np.int64]
Replay = Callable[[list[pa.Array]], Iterator[RowBatch]]
"""Reads a chunk's tuples again, given the `by` values of its groups 0, 1, …; other groups' tuples may be among them."""


@dataclass
class ChunkGuess:
    """What a chunk's run from the empty state found: by its own numbers for the groups, 0 to n - 1."""

    keys: list[pa.Array]
    frames: Frames
    state: State
    heads: pa.Table | None

    @classmethod
    def read(cls, framer: Framer, frames: list[pa.Table], tables: list[pa.Table], by: int) -> ChunkGuess:
        """From the pieces that were sent."""
        known, groups, open_frames, *heads = tables
        number = np.full(int(np.max(known["group"].to_numpy(), initial=-1)) + 1, -1, np.int64)
        number[known["group"].to_numpy()] = np.arange(known.num_rows)
        empty = pack_frames(
            Frames(framer.room(0), tuple(k.finish(k.empty(0)) for k in framer.accumulators), closed=True)
        )
        found = unpack_frames(pa.concat_tables([empty, *frames]), framer)
        found.records.group[:] = number[found.records.group]
        keys = [known[f"by{i}"].combine_chunks() for i in range(by)]
        return cls(keys, found, unpack_state([groups, open_frames], framer), heads[0] if heads else None)

    @property
    def groups(self) -> int:
        """How many groups there are."""
        return int(self.state.groups.next.size)


class Seams:
    """The true run over one bucket's groups, chunk by chunk."""

    def __init__(self, request: FrameQuery) -> None:
        self.request = request
        self.directory = Directory(request.by_types)
        self.framer = request.framer()
        self.framer.directory = self.directory

    def join(self, frames: list[pa.Table], tables: list[pa.Table], replay: Replay) -> Iterator[pa.Table]:
        """The true frames that close in the next chunk."""
        guess = ChunkGuess.read(self.framer, frames, tables, len(self.request.by))
        codes = self.directory.encode(guess.keys, guess.groups)
        self.framer.grow(len(self.directory))
        stands = ~self._is_busy(codes)
        book = SeamLedger(stands, np.zeros(guess.groups, np.int64), self.framer.groups.next[codes], [])
        if not stands.all():
            if guess.heads is not None:
                yield from map(self._table, self._stitch(guess.heads, codes, book))
            else:
                yield from map(self._table, self._replay(guess, codes, book, replay))
        yield self._table(self._standing(guess, codes, book))
        self._hand_over(guess, codes, book)

    def finish(self) -> pa.Table:
        """The frames that the end of the stream cuts."""
        return self._table(self.framer.finish())

    def _table(self, frames: Frames) -> pa.Table:
        return frames_table(self.request, self.directory.keys(), frames)

    def _is_busy(self, codes: Codes) -> npt.NDArray[np.bool_]:
        """Which groups come with a state that is not the empty one."""
        groups = self.framer.groups
        remembers = (groups.memo[codes] != self.framer.automaton.group_memo).any(axis=1)
        busy: npt.NDArray[np.bool_] = (groups.open[codes] >= 0).any(axis=1) | remembers
        return busy

    def _replay(self, guess: ChunkGuess, codes: Codes, book: SeamLedger, replay: Replay) -> Iterator[Frames]:
        """Run the groups that do not stand from both states until they agree; note what stands from there on."""
        again = self.request.framer()
        again.grow(guess.groups)
        active = ~book.stands
        for tuples in replay(guess.keys):
            mine = tuples.group < guess.groups
            mine[mine] = active[tuples.group[mine]]
            if not mine.any():
                continue
            replayed = tuples.where(mine)
            yield self.framer.process(RowBatch(codes[replayed.group], *replayed[1:]))
            again.process(replayed)
            looked_at = np.flatnonzero(active)
            agreed = looked_at[agree(self.framer, codes[looked_at], again, looked_at)]
            book.enter(agreed, self.framer.groups.next[codes[agreed]], again)
            active[agreed] = False
            if not active.any():
                return

    def _stitch(self, table: pa.Table, codes: Codes, book: SeamLedger) -> Iterator[Frames]:
        """Let the groups that do not stand go through the chunk's first run as if it were one tuple.

        A group without a tuple in the chunk stays as it is.
        """
        busy = np.flatnonzero(~book.stands & (table["status"].to_numpy() != NOT_MET))
        heads = read_heads(table.take(pa.array(busy)), self.framer)
        yield self.framer.advance(Batch(codes[busy], heads.on, heads.breaks), heads.inputs)
        in_run = heads.status != NO_HEAD
        extend_by_heads(self.framer, codes[busy[in_run]], heads, np.flatnonzero(in_run))
        over = (heads.status == FINAL) | (heads.status == DROPPED)
        yield self.framer.cut(codes[busy[over]], heads.closed[over])
        settled = busy[over | ~in_run]
        book.stands[settled] = True
        book.first[busy] = heads.status == FINAL
        book.shift[settled] = self.framer.groups.next[codes[settled]] - book.first[settled]

    def _standing(self, guess: ChunkGuess, codes: Codes, book: SeamLedger) -> Frames:
        """The speculated frames that are true, under their true numbers."""
        frames = take_frames(guess.frames, np.flatnonzero(book.holds(guess.frames.records)))
        local = frames.records.group.copy()
        frames.records.number[:] += book.shift[local]
        frames.records.group[:] = codes[local]
        return frames

    def _hand_over(self, guess: ChunkGuess, codes: Codes, book: SeamLedger) -> None:
        """Let the groups that stand go on from the state in which the speculated run left them."""
        whole = self.request.framer()
        whole.adopt(np.arange(guess.groups), guess.state)
        local = np.flatnonzero(book.stands)
        state = whole.export(local)
        state.groups.next[:] += book.shift[local]
        numbered = state.records.number >= 0
        state.records.number[numbered] += book.shift[local][state.records.group[numbered]]
        self.framer.forget(codes[local])
        self.framer.adopt(codes[local], state)


@dataclass
class SeamLedger:
    """For each group of a chunk: whether its speculated run stands, from which frame on, how far numbers are off."""

    stands: npt.NDArray[np.bool_]
    first: Codes
    shift: Codes
    still_open: list[Codes]

    def enter(self, groups: Codes, true_next: Codes, guess: Framer) -> None:
        """Both runs of these groups are in the same state now; frames that are open count as not yet found."""
        self.stands[groups] = True
        self.first[groups] = guess.groups.next[groups]
        self.shift[groups] = true_next - guess.groups.next[groups]
        numbered = self.stands[guess.records.group] & (guess.records.number >= 0)
        self.still_open.append(_pair(guess.records.group[numbered], guess.records.number[numbered]))

    def holds(self, records: Records) -> npt.NDArray[np.bool_]:
        """Which of the speculated frames stand."""
        later = records.number >= self.first[records.group]
        if self.still_open:
            later |= np.isin(_pair(records.group, records.number), np.concatenate(self.still_open))
        held: npt.NDArray[np.bool_] = self.stands[records.group] & later
        return held


def _pair(group: Codes, number: Codes) -> Codes:
    return group << 40 | number


def agree(truth: Framer, codes: Codes, guess: Framer, groups: Codes) -> npt.NDArray[np.bool_]:
    """Which groups are in the same state in both runs, but for the numbers of their frames."""
    same: npt.NDArray[np.bool_] = (truth.groups.memo[codes] == guess.groups.memo[groups]).all(axis=1)
    shift = truth.groups.next[codes] - guess.groups.next[groups]
    for w in range(truth.automaton.width):
        mine, theirs = truth.groups.open[codes, w], guess.groups.open[groups, w]
        same &= (mine >= 0) == (theirs >= 0)
        both = np.flatnonzero(same & (mine >= 0))
        same[both] = _same_records(truth, mine[both], guess, theirs[both], shift[both])
    return same


def _same_records(truth: Framer, mine: Codes, guess: Framer, theirs: Codes, shift: Codes) -> npt.NDArray[np.bool_]:
    a, b = truth.records.take(mine), guess.records.take(theirs)
    same: npt.NDArray[np.bool_] = (a.start == b.start) & (a.end == b.end) & (a.count == b.count)
    same &= np.where(b.number >= 0, a.number == b.number + shift, a.number < 0)
    same &= (a.label == b.label).all(axis=1)
    same &= ((a.memo == b.memo) | (np.isnan(a.memo) & np.isnan(b.memo))).all(axis=1)
    return same
