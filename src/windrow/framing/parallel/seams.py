"""Seams: joins chunks that were framed without knowing what came before them.

A chunk cannot know the state that its predecessor will hand over, so it is framed from the empty state, in parallel
with all others. The result is a *guess*: frames, an outgoing state per group and, for some schemes, heads. `Seams` then
takes the chunks in order and compares each guess with the true incoming state, group by group:

    incoming state                        what is done
    empty                                 nothing: the whole guess stands
    not empty, the chunk sent heads       the head is *stitched* to the open frame; no row is read again
    not empty, any other scheme           rows are *replayed* until the true state equals the guessed one

Replaying runs the rows twice, from the true state and from the empty one. Once both runs are in the same state they
agree forever, so the rest of the guess stands, with its frame numbers shifted:

    rows of the chunk      ------------------------------------------>
    guess, from empty      [ 0  ][ 1   ][  2    ][  3  ][  4   ][  5 ...
    truth               ...7  ][   8    ][   9  ][ 10  ][  11  ][ 12 ...
                           |<---- replayed ---->||<----- stands ------->
                                                 ^
                                                 same state: first = 3, shift = 10 - 3

An error in a frame of the guess, such as a sum that is too large, is raised only if the frame stands.

A group that never agrees is replayed to the end of the chunk. The result is never wrong, only slower, for any
deterministic scheme.

Stitching is for schemes whose frames are runs of one label. Their states agree when the first run of the chunk, its
*head*, is over, and a summary of the head determines everything before that point. The head passes through the true run
as if it were one row. It either extends the open frame or ends it and starts a frame of its own; every frame after the
head stands:

    guess                  [ head ][  1  ][  2 ...
    truth, same label   [ 7       ][  8  ][  9 ...        the head is the rest of frame 7
    truth, other label  [7][  8   ][  9  ][ 10 ...        the head is frame 8

A group whose head is still open at the end of the chunk keeps the stitched state and takes nothing from the guess.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.aggregates.over_time.carrying import CARRIED, IS_CARRIED, NOTHING, ROW
from windrow.arrays import Array
from windrow.errors import DataError
from windrow.framing.framer import Framer, Frames, State
from windrow.framing.parallel.heads import NO_HEAD, NOT_MET, extend_by_heads, read_heads
from windrow.framing.query import FrameQuery, frames_table
from windrow.framing.records import DROPPED, FINAL, WAITING, Batch, Records
from windrow.framing.state import pack_frames, take_frames, unpack_frames, unpack_state
from windrow.rows import wire
from windrow.rows.groups import Directory
from windrow.rows.query import RowBatch

Codes = npt.NDArray[np.int64]
Replay = Callable[[list[pa.Array]], Iterator[RowBatch]]
"""Reads a chunk's rows again, given the `by` values of its groups 0, 1, …; rows of other groups may be included."""


@dataclass
class ChunkGuess:
    """The result of framing a chunk from the empty state, with the chunk's own group numbers 0 to n - 1."""

    keys: list[pa.Array]
    frames: Frames
    state: State
    heads: pa.Table | None

    @classmethod
    def read(cls, framer: Framer, frames: list[pa.Table], tables: list[pa.Table], by: int) -> ChunkGuess:
        """Read a guess from the pieces that the chunk sent."""
        numbered, groups, open_frames, held, *heads = tables
        number = np.full(int(np.max(numbered["group"].to_numpy(), initial=-1)) + 1, -1, np.int64)
        number[numbered["group"].to_numpy()] = np.arange(numbered.num_rows)
        empty = pack_frames(
            Frames(framer.room(0), tuple(k.finish(k.empty(0)) for k in framer.accumulators), np.empty(0, np.bool_))
        )
        closed = unpack_frames(pa.concat_tables([empty, *frames]), framer)
        closed.records.group[:] = number[closed.records.group]
        keys = [numbered[wire.key(i)].combine_chunks() for i in range(by)]
        return cls(keys, closed, unpack_state([groups, open_frames, held], framer), heads[0] if heads else None)

    @property
    def groups(self) -> int:
        """The number of groups in the chunk."""
        return int(self.state.groups.next.size)


class Seams:
    """The true run over one bucket's groups, chunk by chunk."""

    def __init__(self, request: FrameQuery) -> None:
        self.request = request
        self.directory = Directory(request.by_types)
        self.framer = request.framer()
        self.framer.directory = self.directory

    def join(self, frames: list[pa.Table], tables: list[pa.Table], replay: Replay) -> Iterator[pa.Table]:
        """Yield the true frames that close in the next chunk."""
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
        """Return the frames that the end of the stream cuts."""
        return self._table(self.framer.finish())

    def _table(self, frames: Frames) -> pa.Table:
        return frames_table(self.request, self.directory.keys(), frames)

    def _is_busy(self, codes: Codes) -> npt.NDArray[np.bool_]:
        """Return which groups have an incoming state other than the empty one."""
        groups = self.framer.groups
        remembers = (groups.memo[codes] != self.framer.automaton.group_memo).any(axis=1)
        busy: npt.NDArray[np.bool_] = (groups.open[codes] >= 0).any(axis=1) | remembers
        for last in self.framer.last_values.values():
            busy |= last.numbers[codes, 0] == IS_CARRIED
        return busy | np.isin(codes, self.framer.held.group)

    def _replay(self, guess: ChunkGuess, codes: Codes, book: SeamLedger, replay: Replay) -> Iterator[Frames]:
        """Run the groups whose guess does not stand from both states until they agree, and record where."""
        again = self.request.framer()
        again.is_guess = True
        again.grow(guess.groups)
        active = ~book.stands
        for rows in replay(guess.keys):
            mine = rows.group < guess.groups
            mine[mine] = active[rows.group[mine]]
            if not mine.any():
                continue
            replayed = rows.where(mine)
            yield self.framer.process(RowBatch(codes[replayed.group], *replayed[1:]))
            again.process(replayed)
            looked_at = np.flatnonzero(active)
            agreed = looked_at[agree(self.framer, codes[looked_at], again, looked_at)]
            book.enter(agreed, self.framer.groups.next[codes[agreed]], again)
            active[agreed] = False
            if not active.any():
                return

    def _stitch(self, table: pa.Table, codes: Codes, book: SeamLedger) -> Iterator[Frames]:
        """Pass the heads of the groups whose guess does not stand through the true run, each as one row.

        A group without rows in the chunk keeps its state.
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
        """Return the frames of the guess that stand, with their true numbers."""
        frames = take_frames(guess.frames, np.flatnonzero(book.holds(guess.frames.records)))
        for error in [] if frames.errors is None else frames.errors.drop_null().to_pylist():
            raise DataError(error)
        local = frames.records.group.copy()
        frames.records.number[:] += book.shift[local]
        frames.records.group[:] = codes[local]
        return frames

    def _hand_over(self, guess: ChunkGuess, codes: Codes, book: SeamLedger) -> None:
        """Continue the groups whose guess stands from the guess's outgoing state."""
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
    """Per group of a chunk: whether its guess stands, from which frame on, and by how much its numbers shift."""

    stands: npt.NDArray[np.bool_]
    first: Codes
    shift: Codes
    still_open: list[Codes]

    def enter(self, groups: Codes, true_next: Codes, guess: Framer) -> None:
        """Record that both runs of these groups now agree; frames that are open at this point belong to the guess."""
        self.stands[groups] = True
        self.first[groups] = guess.groups.next[groups]
        self.shift[groups] = true_next - guess.groups.next[groups]
        numbered = self.stands[guess.records.group] & (guess.records.number >= 0)
        self.still_open.append(_pair(guess.records.group[numbered], guess.records.number[numbered]))

    def holds(self, records: Records) -> npt.NDArray[np.bool_]:
        """Return which frames of the guess stand."""
        later = records.number >= self.first[records.group]
        if self.still_open:
            later |= np.isin(_pair(records.group, records.number), np.concatenate(self.still_open))
        held: npt.NDArray[np.bool_] = self.stands[records.group] & later
        return held


def _pair(group: Codes, number: Codes) -> Codes:
    return group << 40 | number


def agree(truth: Framer, codes: Codes, guess: Framer, groups: Codes) -> npt.NDArray[np.bool_]:
    """Return which groups are in the same state in both runs, apart from frame numbers.

    Frames that wait for their numbers are not compared: the state of a group that has any counts as different.
    """
    same: npt.NDArray[np.bool_] = (truth.groups.memo[codes] == guess.groups.memo[groups]).all(axis=1)
    # Held rows are the last ones of their group, so equally many are the same.
    same &= _held_rows(truth)[codes] == _held_rows(guess)[groups]
    for j, last in truth.last_values.items():
        same &= same_numbers(last.numbers[codes], guess.last_values[j].numbers[groups])
        same &= same_numbers(_carried_into_held(truth, j)[codes], _carried_into_held(guess, j)[groups])
    same &= ~_have_waiting(truth, codes) & ~_have_waiting(guess, groups)
    shift = truth.groups.next[codes] - guess.groups.next[groups]
    for w in range(truth.automaton.width):
        mine, theirs = truth.groups.open[codes, w], guess.groups.open[groups, w]
        same &= (mine >= 0) == (theirs >= 0)
        both = np.flatnonzero(same & (mine >= 0))
        same[both] = _same_records(truth, mine[both], guess, theirs[both], shift[both])
    return same


def _held_rows(framer: Framer) -> Codes:
    """Return the number of held rows per group."""
    return np.bincount(framer.held.group, minlength=framer.groups.next.size)


def _carried_into_held(framer: Framer, j: int) -> Array:
    """Return the value carried into the first held row per group; those of later rows follow from it."""
    carried = np.tile(NOTHING, (framer.groups.next.size, 1))
    groups, first = np.unique(framer.held.group, return_index=True)
    carried[groups] = framer.held.values[j].numbers[first, ROW:]
    return carried


def _have_waiting(framer: Framer, codes: Codes) -> npt.NDArray[np.bool_]:
    return np.isin(codes, framer.records.group[framer.records.status == WAITING])


def _same_records(truth: Framer, mine: Codes, guess: Framer, theirs: Codes, shift: Codes) -> npt.NDArray[np.bool_]:
    a, b = truth.records.take(mine), guess.records.take(theirs)
    same: npt.NDArray[np.bool_] = (a.start == b.start) & (a.end == b.end) & (a.count == b.count)
    same &= np.where(b.number >= 0, a.number == b.number + shift, a.number < 0)
    same &= (a.label == b.label).all(axis=1)
    same &= same_numbers(a.memo, b.memo)
    for j in truth.carrying:
        # Frames that start before the first value of a chunk differ in the value that is carried in.
        same &= same_numbers(truth.states[j].numbers[mine, CARRIED:], guess.states[j].numbers[theirs, CARRIED:])
    return same


def same_numbers(a: Array, b: Array) -> npt.NDArray[np.bool_]:
    """Return which rows of two matrices are equal; NaN equals NaN."""
    same: npt.NDArray[np.bool_] = ((a == b) | (np.isnan(a) & np.isnan(b))).all(axis=1)
    return same
