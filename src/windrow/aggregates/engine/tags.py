"""One type per aggregate, which numba uses to distinguish them.

The compiled loops take a *tag* as their first argument: a named tuple type made for one aggregate class. Numba
therefore specialises each loop for each aggregate and inlines its functions. The tags of built-in aggregates are
attributes of this module, so numba finds the machine code of an earlier run on disk. The tag of a user-defined
aggregate is not an attribute: its loops are compiled again in each process and never outlive an edit of the code.
"""

from __future__ import annotations

from collections import namedtuple
from typing import Any

_CLASS_OF: dict[type, type] = {}
_TAG_OF: dict[type, Any] = {}


def tag_of(owner: type, *, builtin: bool) -> Any:
    """Return the tag of a class; create it on first use."""
    if owner not in _TAG_OF:
        # numba distinguishes named tuples by name, so two classes of one name, as in a notebook, must not share one.
        name = f"Tag{owner.__name__}" if builtin else f"Tag{owner.__name__}{len(_TAG_OF)}"
        made = namedtuple(name, ["options"], module=__name__)  # type: ignore[misc]
        if builtin:
            globals()[name] = made
        _CLASS_OF[made] = owner
        _TAG_OF[owner] = made(0)  # type: ignore[call-arg]
    return _TAG_OF[owner]


def owner_of(tag: type) -> Any:
    """Return the class that a tag type was made for."""
    return _CLASS_OF[tag]
