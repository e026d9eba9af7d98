"""The synopses of Arasu and Manku: quantiles and heavy hitters from blocks of the stream at many levels.

Values are numbered from 0. The blocks of level l are the runs of 2^l values that start at the multiples of 2^l. Each
finished block carries a small summary, so a window is answered from the summaries of a few blocks (`###`):

    position    0       4       8       12      16      20      24      28
    level 4     |                               |
    level 3     |               |###############|###############|
    level 2     |       |       |       |       |       |       |
    level 1     |   |   |   |###|   |   |   |   |   |   |   |   |###|
    window                |-----------------[5, 27)-------------------|
    uncovered             ^^                                        ^^

**Cover.** For a window of N values, the shortest level s is the first with 2^s > N/reach. The cover starts at the first
multiple of 2^s in the window and ends at the last one. From left to right, it takes the longest aligned block that
fits, so at most two blocks per level. The two uncovered ends are shorter than 2^s each.

**Summaries.** A block of level l with spacing 2^w keeps 2^(l-w) entries. For quantiles these are the values of rank
2^w, 2·2^w, ..., taken from a Greenwald-Khanna summary; for heavy hitters, values with Misra-Gries counts. Either is
wrong by at most about 2^w values.

**Error.** A quarter of eps·N is for the uncovered ends (`reach`), the rest is shared equally by the blocks of a cover:
each may be wrong by N/apart values. N is that of the smallest window that the block may still be part of. With a fixed
retention (`ArasuMankuFixed`), this is the current window. If windows may shrink (`ArasuMankuVariable`), it is the age
of the block: a new block of up to 2^longest values is exact. As N grows, the block is thinned out, to half its entries
each time, and dropped once N/reach exceeds its length. In the paper's terms, all fixed sketches F(2^k, ε/2) of a
variable one share their blocks.

**Updates.** Values are sorted in runs of 2^i by merging two runs of half the length. A level with spacing 2^w takes
whole runs of 2^(l-w) values into the summary of its open block. A finished block goes to the *shelf* of its level and
spacing, a ring of places in block order.

- `layout`: the arrays of the state
- `update`: runs, summaries under construction, shelving and thinning
- `cover`: the cover of a window, and quantiles from it
- `misra_gries`: the counters of heavy hitters
- `room`, `store`, `check`: growth; saving and loading; validation of a saved state
- `quantiles`, `heavy_hitters`: the synopses

Source: Approximate counts and quantiles over sliding windows (2004).
"""
