"""The names of columns between Spark, tasks and saved states.

Columns are named by role and position, so no name of a user's column can clash with another or needs quoting. Saved
states contain these names: a change makes them unreadable.
"""

from __future__ import annotations

ON = "on"
"""The progressing attribute."""


def key(i: int) -> str:
    """Return the name of the i-th `by` column."""
    return f"by{i}"


def keys(n: int) -> tuple[str, ...]:
    """Return the names of the `by` columns.

    >>> keys(2)
    ('by0', 'by1')
    """
    return tuple(map(key, range(n)))


def tie(i: int) -> str:
    """Return the name of the i-th `order_by` column."""
    return f"tie{i}"


def predicate(name: str) -> str:
    """Return the name of an evaluated predicate of the scheme."""
    return f"p_{name}"


def attribute(i: int) -> str:
    """Return the name of the i-th attribute of the scheme."""
    return f"a{i}"


def value(j: int) -> str:
    """Return the name of the j-th input column of the aggregates."""
    return f"v{j}"


def column(i: int) -> str:
    """Return the name of a table's i-th column if all its columns travel."""
    return f"c{i}"


def columns(n: int) -> tuple[str, ...]:
    """Return the names of all columns of a table."""
    return tuple(map(column, range(n)))


def state(j: int) -> str:
    """Return the prefix of the state columns of the j-th aggregate."""
    return f"a{j}_"
