"""The state of a synopsis as bytes: its flat arrays as one row of Arrow lists, with a version and its arguments."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.errors import SourceError
from windrow.state.checks import check_same, check_that, check_version, reading
from windrow.state.header import seal, unseal

Arrays = Mapping[str, npt.NDArray[Any]]
ABOUT = b"windrow.synopsis"


def pack_arrays(kind: str, version: int, arguments: Mapping[str, Any], arrays: Arrays) -> bytes:
    """Return arrays of any length and dimension, with what they are the state of, as an Arrow stream.

    >>> import numpy as np
    >>> data = pack_arrays("Panes", 1, {"length": 8}, {"sums": np.array([[20.0, 4.0]])})
    >>> unpack_arrays(data, "Panes", 1, {"length": 8})["sums"]
    array([[20.,  4.]])
    """
    about = {
        "kind": kind,
        "version": version,
        "arguments": _plain(arguments),
        "shapes": {name: array.shape for name, array in arrays.items()},
    }
    columns = [_as_row(array) for array in arrays.values()]
    schema = pa.schema(
        [(name, column.type) for name, column in zip(arrays, columns, strict=True)],
        metadata={ABOUT: json.dumps(about).encode()},
    )
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema) as writer:
        writer.write_batch(pa.record_batch(columns, schema=schema))
    return seal(_of(kind), sink.getvalue())


def unpack_arrays(
    data: bytes, kind: str, version: int, arguments: Mapping[str, Any], like: Arrays | None = None
) -> dict[str, npt.NDArray[Any]]:
    """Return the arrays written by `pack_arrays`, writable; raise unless they are the state of a matching synopsis.

    `like` holds the arrays of an empty synopsis.
    """
    payload = unseal(data, _of(kind), bare=True)
    with reading():
        reader = pa.ipc.open_stream(payload)
        batch = reader.read_next_batch()
        batch.validate(full=True)
        check_that(batch.num_rows == 1 and _at_end(reader), "one row of arrays")
        about = json.loads(reader.schema.metadata[ABOUT])
        _check(about, kind, version, _plain(arguments))
        shapes = about["shapes"]
        check_that([*shapes] == batch.schema.names, "the shape of each array")
        arrays = {name: _array(batch.column(name), shape) for name, shape in shapes.items()}
        if like is not None:
            check_alike(arrays, like)
        return arrays


FIXED = ("cursors", "newest", "clock", "random", "numbers", "caps", "full", "changed", "fresh", "n")
"""The last parts of the names of arrays that never grow."""


def check_alike(arrays: Arrays, like: Arrays) -> None:
    """Raise unless arrays have the names, types and dimensions of those of an empty synopsis."""
    check_that(arrays.keys() == like.keys(), f"the arrays {', '.join(like)}, got {', '.join(arrays)}")
    for name, other in like.items():
        array = arrays[name]
        same = array.dtype == other.dtype and array.ndim == other.ndim
        if name.split(".")[-1] in FIXED:
            same = same and array.shape == other.shape
        check_that(same, f"array {name!r} of {other.dtype}, {other.shape}, got {array.dtype}, {array.shape}")


def _at_end(reader: pa.RecordBatchReader) -> bool:
    """Return whether the reader is exhausted."""
    return next(reader, None) is None


def _array(column: pa.Array, shape: Sequence[int]) -> npt.NDArray[Any]:
    flat = column.flatten()
    check_that(not column.null_count and not flat.null_count, "arrays without nulls")
    return np.array(flat.to_numpy()).reshape(shape)


def _of(kind: str) -> str:
    """Return the name of a synopsis in the header."""
    return f"synopsis {kind}"


def _check(about: Mapping[str, Any], kind: str, version: int, arguments: Mapping[str, Any]) -> None:
    if about["kind"] != kind:
        raise SourceError(f"expected the state of a synopsis {kind}, got one of {about['kind']}")
    check_version(f"these bytes are a state of {kind}", about["version"], version, "start with an empty synopsis")
    before, remedy = about["arguments"], "start with an empty synopsis"
    names = {**before, **arguments}
    check_same(f"the state of {kind} was saved", before, "this synopsis has", arguments, names, remedy)


def _plain(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments as JSON values, so that saved ones compare with current ones."""
    return json.loads(json.dumps(dict(arguments), default=repr))  # type: ignore[no-any-return]


def _as_row(array: npt.NDArray[Any]) -> pa.Array:
    flat = pa.array(np.ascontiguousarray(array).reshape(-1))
    return pa.LargeListArray.from_arrays(pa.array([0, len(flat)], pa.int64()), flat)
