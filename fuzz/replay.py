"""Replay of one case, from a script that the fuzzer wrote."""

from __future__ import annotations

from typing import Any

from fuzz.case import Case
from fuzz.kinds import KINDS


def replay(kind: str, parts: dict[str, Any]) -> None:
    """Check a case and print the outcome."""
    failure = KINDS[kind]().run(Case(kind, parts)).failure
    if failure is None:
        print("agrees with the definition")
        return
    print(f"{failure.sort}\n{failure.details}")
    raise SystemExit(1)
