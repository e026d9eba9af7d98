"""The public exceptions, all derived from one root.

    WindrowError
    ├── SpecError            a scheme, aggregate or option has an invalid value
    ├── ColumnError          a column does not exist, is named twice, or would occur twice in the result
    ├── TypeMismatchError    a column has a type that cannot be used in its role
    ├── DataError            the data violates a requirement: nulls in `on` or `by`, a null with `nulls="error"`
    ├── SourceError          a file or folder is missing, unreadable or incomplete
    ├── OutputError          a result cannot be written to its destination
    ├── SessionError         the Spark session lacks a setting or feature, or a package is not installed
    └── UnsupportedError     the request is valid, but the requested plan does not support it

Each message names the value, the column, and what would be correct.
"""

from __future__ import annotations

from collections.abc import Container, Iterable

LONGEST = 2_000
"""The largest number of characters in a message."""
QUOTED = 200
"""The number of characters of a value that an error quotes: enough to recognize it, but never a whole file."""


def quoted(value: object) -> str:
    """Return the repr of a value for an error message, shortened to `QUOTED` characters.

    >>> quoted("fast")
    "'fast'"
    >>> quoted("1" * 16_000)[-30:]
    "111111'... (16,000 characters)"
    """
    if isinstance(value, str | bytes):
        text = repr(value[:QUOTED])
        whole = len(value) <= QUOTED and len(text) <= QUOTED + 3
        return text if whole else f"{text[: QUOTED + 1]}{text[-1]}... ({len(value):,} characters)"
    try:
        text = " ".join(repr(value).split())  # tables span many lines
    except (ValueError, RecursionError):  # Python does not print integers of more than 4,300 digits, nor deep nesting
        return f"an object of type {type(value).__name__} that is too large to show"
    except Exception:  # the repr of a user's class may do anything
        return f"an object of type {type(value).__name__} that cannot be shown"
    return text if len(text) <= QUOTED else f"{text[:QUOTED]}..."


def is_one_of(value: object, choices: Container[str]) -> bool:
    """Return whether a value is one of the given strings; False for arrays and tables, whose `==` is elementwise."""
    return isinstance(value, str) and value in choices


class WindrowError(Exception):
    """The root of all exceptions that Windrow raises on purpose.

    A message longer than `LONGEST` characters is shortened in the middle.

    >>> len(str(WindrowError("on: " + "1" * 100_000))) <= LONGEST
    True
    """

    def __init__(self, message: str = "") -> None:
        super().__init__(shortened(message))


def shortened(message: str) -> str:
    """Return a message of at most `LONGEST` characters: its beginning and its end, which states what is correct."""
    if len(message) <= LONGEST:
        return message
    room = LONGEST - 50
    head, tail = message[: room * 2 // 3], message[len(message) - room // 3 :]
    return f"{head} ... ({len(message) - len(head) - len(tail):,} characters left out) ... {tail}"


class SpecError(WindrowError, ValueError):
    """An invalid value of a scheme, aggregate or option."""


class ColumnError(WindrowError, LookupError):
    """A column that does not exist, or two columns of one name in a result."""

    @classmethod
    def unknown(cls, name: str, role: str, existing: Iterable[str]) -> ColumnError:
        """Return an error that names the missing column, its role and the existing columns."""
        return cls(f"{role}: no column named {name!r}; available columns: {', '.join(map(repr, existing))}")


class TypeMismatchError(WindrowError, TypeError):
    """A column of a type that cannot be used in its role."""


class DataError(WindrowError, ValueError):
    """Data that violates a requirement, such as a null in the progressing attribute."""


class SourceError(WindrowError, OSError):
    """A file or folder that is missing, unreadable or incomplete."""


class OutputError(WindrowError, OSError):
    """A result that cannot be written to its destination."""


class SessionError(WindrowError, RuntimeError):
    """A Spark session that lacks a required setting or feature, or a package that is not installed."""


class UnsupportedError(WindrowError, NotImplementedError):
    """A valid request that the requested plan does not support."""
