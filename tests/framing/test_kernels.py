"""Machine code that many processes write at once is all kept, each under its own name."""

from __future__ import annotations

import threading
import time
from typing import Any

from numba.core.caching import IndexDataCacheFile

import windrow.compile_cache


class Slow(IndexDataCacheFile):
    """A cache that takes its time between looking what is there and writing."""

    def _load_index(self) -> Any:
        found = super()._load_index()
        time.sleep(0.05)
        return found


def test_code_that_is_saved_at_the_same_time_is_kept_under_names_of_its_own(tmp_path) -> None:
    assert IndexDataCacheFile.save is windrow.compile_cache.save_in_turn
    keys = [f"key {i}" for i in range(6)]
    caches = [Slow(str(tmp_path), "kernel", "stamp") for _ in keys]
    writers = [
        threading.Thread(target=cache.save, args=(key, f"code of {key}"))
        for cache, key in zip(caches, keys, strict=True)
    ]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    reader = IndexDataCacheFile(str(tmp_path), "kernel", "stamp")
    assert [reader.load(key) for key in keys] == [f"code of {key}" for key in keys]
    reader.save(keys[0], "newer")
    assert reader.load(keys[0]) == "newer"
