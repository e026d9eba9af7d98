"""Human-readable nanoseconds and bytes."""

from __future__ import annotations


def as_time(nanoseconds: float) -> str:
    """Format a time in a suitable unit.

    >>> as_time(12.34), as_time(56_000), as_time(2.5e9)
    ('12 ns', '56 µs', '2.5 s')
    """
    return _scaled(nanoseconds, ("ns", "µs", "ms", "s"))


def as_bytes(size: float) -> str:
    """Format a size in a suitable unit.

    >>> as_bytes(640), as_bytes(9_216_000)
    ('640 B', '9.2 MB')
    """
    return _scaled(size, ("B", "kB", "MB", "GB", "TB"))


def _scaled(value: float, units: tuple[str, ...]) -> str:
    for unit in units[:-1]:
        if abs(value) < 999.5:
            return f"{value:.2g} {unit}" if abs(value) < 10 else f"{value:.0f} {unit}"
        value /= 1000
    return f"{value:.2g} {units[-1]}" if abs(value) < 10 else f"{value:.0f} {units[-1]}"
