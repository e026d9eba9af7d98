"""A type for each aggregate, by which numba tells them apart.

The compiled loops take a *tag* as their first argument: a named tuple type made for one aggregate class. So numba
specialises each loop for each aggregate and inlines its functions. The tags of the built-in aggregates are attributes
of this module, which lets numba find the machine code of an earlier run on disk; the tag of a user's aggregate is
not, so its loops are compiled anew in each process and never outlive an edit of the user's code.
"""

from __future__ import annotations

from collections import namedtuple
from typing import Any

_CLASS_OF: dict[type, type] = {}
_TAG_OF: dict[type, Any] = {}


def tag_of(owner: type, *, builtin: bool) -> Any:
    """The tag of a class, made when first asked for."""
    if owner not in _TAG_OF:
        # numba tells named tuples apart by name, so two classes of one name, as in a notebook, must not share one.
        name = f"Tag{owner.__name__}" if builtin else f"Tag{owner.__name__}{len(_TAG_OF)}"
        made = namedtuple(name, ["options"], module=__name__)  # type: ignore[misc]
        if builtin:
            globals()[name] = made
        _CLASS_OF[made] = owner
        _TAG_OF[owner] = made(0)  # type: ignore[call-arg]
    return _TAG_OF[owner]


def owner_of(tag: type) -> Any:
    """The class that a tag type was made for."""
    return _CLASS_OF[tag]
