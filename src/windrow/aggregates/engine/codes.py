"""Values that are not numbers, as codes: the place of each value in a sorted dictionary of distinct values.

Codes compare as their values do, so the kernels aggregate text, binary values and decimals as integers. Text is in the
order of its bytes. A batch of values has a dictionary of its own, and so do the states of an aggregate. Before codes of
two dictionaries meet, both are translated to the union of the dictionaries.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from numba import njit

from windrow.aggregates.engine.value_runs import BEGIN, LENGTH, ValueRuns
from windrow.arrays import ALL_VALID, Array, Values

Indices = npt.NDArray[np.int64]


class Coding(NamedTuple):
    """What the codes in some states stand for."""

    dictionary: pa.Array
    kind: pa.DataType
    """The type of the column."""
    at: int | None
    """The place of the code in the numbers of a state; None if the values themselves are kept."""
    zero: int
    """The number at that place in the state of no values, which is not a code."""

    def decode(self, codes: Indices, missing: npt.NDArray[np.bool_] | None = None) -> pa.Array:
        """Return the values of codes; those that are missing are null."""
        return self.dictionary.take(pa.array(codes, mask=missing))


def no_codes(kind: pa.DataType, at: int | None, zero: int) -> Coding:
    """Return the coding of states without values."""
    return Coding(pa.array([], stored_type(kind)), kind, at, zero)


def is_coded(kind: pa.DataType) -> bool:
    """Return whether values of a type are aggregated as codes: text, binary values and decimals."""
    tests = (
        pa.types.is_string,
        pa.types.is_large_string,
        pa.types.is_binary,
        pa.types.is_large_binary,
        pa.types.is_decimal,
    )
    return any(is_kind(kind) for is_kind in tests)


def stored_type(kind: pa.DataType) -> pa.DataType:
    """Return the type of a dictionary: with 64-bit offsets, so that no dictionary is too long."""
    if pa.types.is_string(kind):
        return pa.large_string()
    return pa.large_binary() if pa.types.is_binary(kind) else kind


def encode(column: pa.Array | pa.ChunkedArray, kind: pa.DataType) -> Values:
    """Return the codes of a column of this type, with their dictionary; the code of a null has no meaning.

    >>> values = encode(pa.array(["b", "c", "a", "b"]), pa.string())
    >>> values.numbers.tolist(), values.dictionary.to_pylist()
    ([1, 2, 0, 1], ['a', 'b', 'c'])
    """
    encoded = _with_dictionary(column, kind)
    distinct = encoded.dictionary.cast(stored_type(kind))
    places = _places(distinct)
    first = np.empty(places.max(initial=-1) + 1, np.int64)
    first[places] = np.arange(places.size)
    indices = encoded.indices.fill_null(0).to_numpy(zero_copy_only=False)
    valid = np.asarray(encoded.is_valid()) if encoded.null_count else ALL_VALID
    codes = np.take(places, indices) if places.size else indices.astype(np.int64)
    return Values(codes, valid, distinct.take(pa.array(first)))


def _with_dictionary(column: pa.Array | pa.ChunkedArray, kind: pa.DataType) -> pa.DictionaryArray:
    """Return a column with one dictionary for all its rows. A column of files may have dictionaries already."""
    if not len(column):
        return pa.array([], kind).dictionary_encode()
    if pa.types.is_dictionary(column.type) and column.type.value_type == kind:
        whole = column.unify_dictionaries().combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        # A dictionary of more rows than there are here is not worth sorting.
        if len(whole.dictionary) <= len(column) and not whole.dictionary.null_count:
            return whole
    if column.type != kind:
        column = column.cast(kind)
    encoded = column.dictionary_encode()
    return encoded.combine_chunks() if isinstance(encoded, pa.ChunkedArray) else encoded


def union(a: pa.Array, b: pa.Array) -> tuple[pa.Array, Indices, Indices]:
    """Return the union of two dictionaries, and the code in it of each value of either.

    >>> a, b = (pa.array(words, pa.large_string()) for words in (["a", "c"], ["b", "c"]))
    >>> both, of_a, of_b = union(a, b)
    >>> both.to_pylist(), of_a.tolist(), of_b.tolist()
    (['a', 'b', 'c'], [0, 2], [1, 2])
    """
    if a is b:
        return a, np.arange(len(a)), np.arange(len(a))
    places = _places(pa.concat_arrays([a, b])) if pa.types.is_decimal(a.type) else _merged_places(a, b)
    size = places.max(initial=-1) + 1
    of_a, of_b = places[: len(a)], places[len(a) :]
    if size == len(a):
        return a, of_a, of_b
    first = np.empty(size, np.int64)
    first[places] = np.arange(places.size)
    return pa.concat_arrays([a, b]).take(pa.array(first)), of_a, of_b


def joined_values(mine: Values, theirs: Values) -> Values:
    """Return values followed by others of the same column."""
    valid, dictionary = ALL_VALID, None
    if mine.valid.size or theirs.valid.size:
        valid = np.concatenate([v.valid if v.valid.size else np.ones(len(v.numbers), np.bool_) for v in (mine, theirs)])
    if mine.dictionary is not None and theirs.dictionary is not None:
        mine = _compact(mine)
        dictionary, of_mine, of_theirs = union(mine.dictionary, theirs.dictionary)
        # Without any value, the codes of nulls refer to nothing.
        mine, theirs = (
            values._replace(numbers=codes[values.numbers]) if codes.size else values
            for values, codes in ((mine, of_mine), (theirs, of_theirs))
        )
    return Values(np.concatenate([mine.numbers, theirs.numbers]), valid, dictionary)


def _compact(values: Values) -> Values:
    """Drop values that do not occur from the dictionary."""
    assert values.dictionary is not None
    if not len(values.dictionary):
        return values
    used, numbers = np.unique(values.numbers, return_inverse=True)
    return values._replace(numbers=numbers, dictionary=values.dictionary.take(pa.array(used)))


def _places(values: pa.Array) -> Indices:
    """Return the place of each value among the distinct values in order."""
    places: Indices = pc.rank(values, "ascending", tiebreaker="dense").to_numpy().astype(np.int64) - 1
    return places


def _merged_places(a: pa.Array, b: pa.Array) -> Indices:
    """Return the same for two sorted dictionaries of text or binary values, one after the other, without a sort."""
    places = np.empty(len(a) + len(b), np.int64)
    _merge_sorted(*bytes_of(a), *bytes_of(b), places[: len(a)], places[len(a) :])
    return places


def bytes_of(values: pa.Array) -> tuple[Indices, npt.NDArray[np.uint8]]:
    """Return the offsets and the bytes of text or binary values."""
    _, offsets, data = values.buffers()
    if not len(values):
        return np.zeros(1, np.int64), np.empty(0, np.uint8)
    begin = values.offset
    content = np.empty(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)
    return np.frombuffer(offsets, np.int64)[begin : begin + len(values) + 1], content


@njit(cache=True)
def _order(a_at: Any, a: Any, i: int, b_at: Any, b: Any, j: int) -> int:
    """Return the order of value `i` of `a` and value `j` of `b`: below 0 if the first is less, 0 if they are equal."""
    length, other = a_at[i + 1] - a_at[i], b_at[j + 1] - b_at[j]
    for k in range(min(length, other)):
        mine, theirs = a[a_at[i] + k], b[b_at[j] + k]
        if mine != theirs:
            return -1 if mine < theirs else 1
    return int(length - other)


@njit(cache=True)
def _merge_sorted(a_at: Any, a: Any, b_at: Any, b: Any, of_a: Any, of_b: Any) -> None:
    """Write the place of each value of two sorted dictionaries in their union."""
    i = j = place = 0
    while i < of_a.size or j < of_b.size:
        order = 1 if i == of_a.size else -1 if j == of_b.size else _order(a_at, a, i, b_at, b, j)
        if order <= 0:
            of_a[i] = place
            i += 1
        if order >= 0:
            of_b[j] = place
            j += 1
        place += 1


@njit(cache=True)
def recode(runs: ValueRuns, codes: Any) -> None:
    """Replace each code in the runs by `codes[code]`, which must keep the order."""
    for k in range(runs.spans.shape[0]):
        begin = runs.spans[k, BEGIN]
        for at in range(begin, begin + runs.spans[k, LENGTH]):
            runs.values[at] = codes[runs.values[at]]


@njit(cache=True)
def mark(runs: ValueRuns, used: Any) -> None:
    """Mark the codes that occur in the runs."""
    for k in range(runs.spans.shape[0]):
        begin = runs.spans[k, BEGIN]
        for at in range(begin, begin + runs.spans[k, LENGTH]):
            used[runs.values[at]] = True


def changes(codes: Array) -> bool:
    """Return whether an ascending translation changes any code."""
    return bool(codes.size and codes[-1] != codes.size - 1)
