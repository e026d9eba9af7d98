"""Compiled loops of the peers, in a module of their own: Spark's workers import them and compile them only once."""

import numba
import numpy as np


@numba.njit(cache=True, nogil=True)
def delta_frames(x: np.ndarray, limit: float) -> np.ndarray:
    """Where frames begin in one group: at the first tuple, and wherever |x - first| > limit."""
    begins = np.empty(len(x), np.int64)
    n = 0
    first = 0.0
    for i in range(len(x)):
        if n == 0 or abs(x[i] - first) > limit:
            begins[n] = i
            n += 1
            first = x[i]
    return begins[:n]


@numba.njit(cache=True, nogil=True)
def threshold_runs(g, ts, x, limit, min_count, start, last, count, missed, head, out_g, out_start, out_end, out_count):
    """Runs of x > limit in one record batch of many groups; returns how many frames it wrote to the out arrays.

    `start`, `last` and `count` are each group's open run, carried from batch to batch. The first run of a group in a
    chunk may belong to a run of the chunk before it: it goes to `head` (start, last, count), and `missed` tells that it
    is over.
    """
    n = 0
    for i in range(len(g)):
        k = g[i]
        if x[i] > limit:
            if count[k] == 0:
                start[k] = ts[i]
            last[k] = ts[i]
            count[k] += 1
            continue
        if not missed[k]:
            missed[k] = True
            head[0, k], head[1, k], head[2, k] = start[k], last[k], count[k]
        elif count[k] >= min_count:
            out_g[n], out_start[n], out_end[n], out_count[n] = k, start[k], last[k], count[k]
            n += 1
        count[k] = 0
    return n
