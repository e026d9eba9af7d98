"""Kinds of cases: how a case is drawn and how it is checked against a definition."""

from __future__ import annotations

import json
import random
import traceback
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar


@dataclass(frozen=True)
class Case:
    """A case in plain values (numbers, strings, lists and dictionaries), so that it can be printed and shrunk."""

    kind: str
    parts: dict[str, Any]

    def text(self) -> str:
        """Return the case as Python, with NaN and infinities by name."""
        return repr(self.parts)

    @property
    def size(self) -> int:
        """The length of the serialised case, which shrinking reduces."""
        return len(json.dumps(self.parts))


@dataclass(frozen=True)
class Failure:
    """How a case differs from its definition."""

    sort: str
    """What differs, worded the same for all failures with one cause; shrinking preserves it."""
    details: str


@dataclass
class Checked:
    """The outcome of a case: how many streams or windows were compared, and the failure if there is one."""

    compared: int = 1
    failure: Failure | None = None


class Mismatch(Exception):
    """A difference between a result and its definition."""

    def __init__(self, sort: str, details: str) -> None:
        super().__init__(details)
        self.failure = Failure(sort, details)


class NotACase(Exception):
    """Parts that do not form a case; shrinking may propose such."""


@dataclass
class Kind(ABC):
    """A kind of cases."""

    name: ClassVar[str]
    share: ClassVar[float] = 1.0
    """Share of the time, relative to the other kinds."""
    spark: ClassVar[bool] = False
    options: dict[str, Any] = field(default_factory=dict)

    @abstractmethod
    def draw(self, rng: random.Random) -> dict[str, Any]:
        """Return the parts of a random case."""

    @abstractmethod
    def check(self, parts: dict[str, Any]) -> int:
        """Run a case and return the number of compared results. Raise `Mismatch` if one differs."""

    def case(self, seed: int, number: int) -> Case:
        """Return the case with a number; it is always the same for a seed."""
        return Case(self.name, self.draw(random.Random(f"{seed}/{self.name}/{number}")))

    def run(self, case: Case) -> Checked:
        """Check a case; an exception that its definition does not call for is a failure too."""
        try:
            return Checked(self.check(case.parts))
        except NotACase:
            return Checked(0)
        except Mismatch as found:
            return Checked(1, found.failure)
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            sort = f"{type(error).__name__} in {where.name}"
            return Checked(1, Failure(sort, "".join(traceback.format_exception(error))[-3000:]))
