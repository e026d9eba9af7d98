"""Machine code on disk, written by many processes at a time.

numba keeps compiled kernels in files: an index says which file has the code for which types. It writes both as if it
were alone. Two processes that compile a kernel for different types at the same moment, as Spark's workers do on a fresh
machine, may choose the same file, and the index then leads to code for other types, which computes nonsense. So they
take turns here, and the code is there before the index says so.
"""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import Any

from numba.core.caching import IndexDataCacheFile

try:
    import fcntl
except ImportError:  # Windows has no such lock, and Spark's workers are not forked there
    fcntl = None  # type: ignore[assignment]


def save_in_turn(self: Any, key: Any, data: Any) -> None:
    """Save the code for one key, while no other process saves code of the same kernel."""
    with Path(f"{self._index_path}.lock").open("ab") as lock:
        if fcntl is not None:
            fcntl.flock(lock, fcntl.LOCK_EX)
        overloads = self._load_index()
        used = set(overloads.values())
        names = (self._data_name(number) for number in count(1))
        name = overloads.get(key) or next(name for name in names if name not in used)
        self._save_data(name, data)
        if key not in overloads:
            self._save_index({**overloads, key: name})


IndexDataCacheFile.save = save_in_turn
