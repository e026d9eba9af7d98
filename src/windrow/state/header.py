"""The header of saved state: a version, the kind of the state, its length and a checksum.

Every saved state, of an operator or of a synopsis, consists of a header of 64 bytes and an Arrow payload. States of
another kind, of a newer version, and damaged states are therefore rejected before anything is read from them.
"""

from __future__ import annotations

import struct
import zlib
from typing import TypeAlias

import pyarrow as pa

from windrow.errors import SourceError
from windrow.state.checks import check_version, damaged

Buffer: TypeAlias = bytes | bytearray | memoryview | pa.Buffer


MAGIC = b"WINDROW\n"


HEADER_VERSION = 1


BARE = b"\xff\xff\xff\xff"
"""The first bytes of a state from before there were headers: an Arrow stream."""


_HEADER = struct.Struct("<8sHHIQ40s")
"""Magic, header version, padding, checksum, length of the payload, kind; 64 bytes, so that Arrow data is aligned."""


def seal(kind: str, *parts: Buffer) -> bytes:
    """Return a payload with its header.

    >>> data = seal("frames", b"all the state")
    >>> bytes(unseal(data, "frames"))
    b'all the state'
    >>> unseal(data, "slide")
    Traceback (most recent call last):
    ...
    windrow.errors.SourceError: the saved state is of kind 'frames', expected 'slide': it was written by another operation; resume with that one, or start without the state
    """  # noqa: E501 - the message is one line
    views = [memoryview(part).cast("B") for part in parts]
    length, name = sum(map(len, views)), kind.encode()
    check = zlib.crc32(_HEADER.pack(MAGIC, HEADER_VERSION, 0, 0, length, name))
    for view in views:
        check = zlib.crc32(view, check)
    return b"".join([_HEADER.pack(MAGIC, HEADER_VERSION, 0, check, length, name), *views])


def unseal(data: Buffer, kind: str, *, bare: bool = False) -> pa.Buffer:
    """Return the payload of a state of that kind after checking that it is complete.

    If `bare` is true, a state from before there were headers is returned unchanged.

    >>> damaged = bytearray(seal("frames", b"all the state"))
    >>> damaged[70] ^= 1
    >>> unseal(damaged, "frames")
    Traceback (most recent call last):
    ...
    windrow.errors.SourceError: the saved state is damaged: checksum 3121d2ac, expected 9756d918; restore it from a copy, or start without it
    """  # noqa: E501 - the message is one line
    view = memoryview(data).cast("B")
    if bare and view[: len(BARE)] == BARE:
        return pa.py_buffer(view)
    actual = kind_of(view)
    if actual != kind:
        raise SourceError(
            f"the saved state is of kind {actual!r}, expected {kind!r}: it was written by another operation; resume "
            "with that one, or start without the state"
        )
    return pa.py_buffer(view[_HEADER.size :])


def kind_of(data: Buffer) -> str:
    """Return the kind of a saved state after checking that it is complete."""
    view = memoryview(data).cast("B")
    if len(view) < _HEADER.size or view[: len(MAGIC)] != MAGIC:
        raise damaged(f"expected it to begin with {MAGIC!r} and a header, got {len(view)} bytes of something else")
    magic, version, padding, checksum, length, name = _HEADER.unpack_from(view)
    check_version("the saved state has a header", version, HEADER_VERSION, "start without it")
    payload = view[_HEADER.size :]
    if len(payload) != length:
        raise damaged(f"expected {length} bytes after the header, got {len(payload)}")
    check = zlib.crc32(payload, zlib.crc32(_HEADER.pack(magic, version, padding, 0, length, name)))
    if check != checksum:
        raise damaged(f"checksum {check:08x}, expected {checksum:08x}")
    return bytes(name).rstrip(b"\0").decode("ascii", "replace")
