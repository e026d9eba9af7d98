"""Exchange of two paths in one step, on systems that support it."""

from __future__ import annotations

import ctypes
import errno
import os
from pathlib import Path

RENAME_EXCHANGE = 2
AT_FDCWD = -100
CANNOT = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EXDEV)
"""The error codes of systems and file systems that do not support the exchange."""


def exchange(one: Path, other: Path) -> bool:
    """Exchange two existing paths; return False if the system or file system does not support it."""
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError, TypeError):
        return False
    if rename(AT_FDCWD, os.fsencode(one), AT_FDCWD, os.fsencode(other), RENAME_EXCHANGE) == 0:
        return True
    number = ctypes.get_errno()
    if number in CANNOT:
        return False
    raise OSError(number, os.strerror(number), str(other))
