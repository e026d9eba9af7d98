"""The exceptions a user can meet, all of them below one root.

    WindrowError
    ├── SpecError            a scheme, aggregate or option was made with a value that cannot be right
    ├── ColumnError          a column does not exist, is named twice, or would be named twice in the result
    ├── TypeMismatchError    a column exists but has a type that cannot be used there
    ├── DataError            the data breaks a promise: nulls in `on` or `by`, a null where `nulls="error"`
    ├── SourceError          a file or folder is missing, unreadable or half-written
    ├── OutputError          a result cannot be written where it was asked to go
    ├── SessionError         the Spark session lacks something that is needed
    └── UnsupportedError     the request is sound, but the plan that was asked for cannot do it

Each message names the value, the column, and what would be right.
"""

from __future__ import annotations

from collections.abc import Container, Iterable

LONGEST = 2_000
"""The most characters of a message."""
QUOTED = 200
"""How much of a value an error quotes: enough to recognize it, and never a whole file."""


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
        text = " ".join(repr(value).split())  # tables show themselves on many lines
    except (ValueError, RecursionError):  # Python writes no integers of more than 4,300 digits, and no deep nesting
        return f"an object of type {type(value).__name__} that is too large to show"
    except Exception:  # the repr of a user's class may do anything
        return f"an object of type {type(value).__name__} that cannot be shown"
    return text if len(text) <= QUOTED else f"{text[:QUOTED]}..."


def is_one_of(value: object, choices: Container[str]) -> bool:
    """Whether a value is one of some words; arrays and tables, whose comparisons are no truth values, are not."""
    return isinstance(value, str) and value in choices


class WindrowError(Exception):
    """The root of every exception that Windrow raises on purpose.

    A message that is longer than `LONGEST` characters, whatever it quotes, loses its middle.

    >>> len(str(WindrowError("on: " + "1" * 100_000))) <= LONGEST
    True
    """

    def __init__(self, message: str = "") -> None:
        super().__init__(shortened(message))


def shortened(message: str) -> str:
    """Return a message of at most `LONGEST` characters: its beginning and its end, which says what would be right."""
    if len(message) <= LONGEST:
        return message
    kept = LONGEST - 50
    head, tail = message[: kept * 2 // 3], message[len(message) - kept // 3 :]
    return f"{head} ... ({len(message) - len(head) - len(tail):,} characters left out) ... {tail}"


class SpecError(WindrowError, ValueError):
    """A scheme, aggregate or option was made with a value that cannot be right."""


class ColumnError(WindrowError, LookupError):
    """A column does not exist, or a result would have two columns of one name."""

    @classmethod
    def unknown(cls, name: str, role: str, existing: Iterable[str]) -> ColumnError:
        """Say which column is missing, what it was wanted for, and which columns there are."""
        return cls(f"{role}: there is no column {name!r}; the columns are {', '.join(map(repr, existing))}")


class TypeMismatchError(WindrowError, TypeError):
    """A column has a type that cannot be used where it was named."""


class DataError(WindrowError, ValueError):
    """The data itself breaks a promise, such as a null in the progressing attribute."""


class SourceError(WindrowError, OSError):
    """A file or folder is missing, unreadable or half-written."""


class OutputError(WindrowError, OSError):
    """A result cannot be written where it was asked to go."""


class SessionError(WindrowError, RuntimeError):
    """The Spark session lacks something that is needed."""


class UnsupportedError(WindrowError, NotImplementedError):
    """The request is sound, but the plan that was asked for cannot do it."""
