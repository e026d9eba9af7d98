"""Compiled loops of the peers, in their own module, so that Spark's workers import and compile them only once."""

import numba
import numpy as np


@numba.njit(cache=True, nogil=True)
def delta_frames(x: np.ndarray, limit: float) -> np.ndarray:
    """Return where frames start in one group: at the first row, and wherever |x - first| > limit."""
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
    """Find runs of x > limit in one record batch of many groups; return the number of frames written to the out arrays.

    `start`, `last` and `count` hold each group's open run across batches. The first run of a group in a chunk may
    continue a run of the previous chunk: it goes to `head` (start, last, count), and `missed` marks that it is over.
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
