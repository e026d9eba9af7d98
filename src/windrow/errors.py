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

from collections.abc import Iterable


class WindrowError(Exception):
    """The root of every exception that Windrow raises on purpose."""


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
