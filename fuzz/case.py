"""What a kind of cases is: how one is drawn, and how it is checked against a definition."""

from __future__ import annotations

import json
import random
import traceback
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar


@dataclass(frozen=True)
class Case:
    """A case in plain values: numbers, texts, lists and dictionaries, so that it can be printed and made smaller."""

    kind: str
    parts: dict[str, Any]

    def text(self) -> str:
        """The case as Python, with NaN and infinities by name."""
        return repr(self.parts)

    @property
    def size(self) -> int:
        """How long it is when written down: what shrinking makes smaller."""
        return len(json.dumps(self.parts))


@dataclass(frozen=True)
class Failure:
    """How a case differs from its definition."""

    sort: str
    """What differs, in words that are the same for all failures of one cause: shrinking keeps to it."""
    details: str


@dataclass
class Checked:
    """What a run of a case says: how many streams or windows were compared, and the failure if there is one."""

    compared: int = 1
    failure: Failure | None = None


class Mismatch(Exception):
    """Raised by a check that found a difference."""

    def __init__(self, sort: str, details: str) -> None:
        super().__init__(details)
        self.failure = Failure(sort, details)


class NotACase(Exception):
    """Raised where parts do not make a case: shrinking may propose such."""


@dataclass
class Kind(ABC):
    """One kind of cases."""

    name: ClassVar[str]
    share: ClassVar[float] = 1.0
    """How much of the time it gets, relative to the others."""
    spark: ClassVar[bool] = False
    options: dict[str, Any] = field(default_factory=dict)

    @abstractmethod
    def draw(self, rng: random.Random) -> dict[str, Any]:
        """The parts of a random case."""

    @abstractmethod
    def check(self, parts: dict[str, Any]) -> int:
        """Run a case; how many results were compared. Raises `Mismatch` where one differs."""

    def case(self, seed: int, number: int) -> Case:
        """The case of a number: always the same one for a seed."""
        return Case(self.name, self.draw(random.Random(f"{seed}/{self.name}/{number}")))

    def run(self, case: Case) -> Checked:
        """Check a case; an exception that is not part of its definition is a failure too."""
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
