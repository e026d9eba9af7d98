"""A process that draws and checks cases until its deadline."""

from __future__ import annotations

import logging
import time
import traceback
import warnings
from collections import Counter
from dataclasses import dataclass
from typing import Any

from fuzz.case import Case, Failure
from fuzz.report import FailedCase, Tally
from fuzz.shrink import shrink

SHRINK_OF_A_SORT = 2
"""Failures of one sort that are shrunk; the others are only counted."""
MOST_SHRUNK = 12


@dataclass(frozen=True)
class Order:
    """The instructions for a process."""

    kinds: tuple[str, ...]
    seed: int
    worker: int
    workers: int
    until: float
    """The deadline, by the clock that all processes share."""
    began: float
    first: bool
    """Whether to stop at the first failure."""
    shrink_seconds: float


def work(order: Order, results: Any, current: Any) -> None:
    """Draw and check cases; send each failure as it is found, and the counts at the end.

    `current` holds the case being checked, in case this process dies.
    """
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    from fuzz.kinds import KINDS

    kinds = {name: KINDS[name]() for name in order.kinds}
    tallies = {name: Tally() for name in kinds}
    numbers = dict.fromkeys(kinds, order.worker)
    sorts: Counter[str] = Counter()
    while time.time() < order.until:
        name = min(kinds, key=lambda name: tallies[name].seconds / kinds[name].share)
        number, began = numbers[name], time.monotonic()
        numbers[name] += order.workers
        current.value = f"{name} {number}".encode()
        case = Case(name, {})
        try:
            case = kinds[name].case(order.seed, number)
            checked = kinds[name].run(case)
            compared, failure = checked.compared, checked.failure
        except Exception as error:
            compared, failure = 0, Failure(f"drawing: {type(error).__name__}", traceback.format_exc()[-2000:])
        tallies[name].cases += 1
        tallies[name].compared += compared
        tallies[name].seconds += time.monotonic() - began
        if failure is None:
            continue
        tallies[name].failures += 1
        after, key = time.time() - order.began, f"{name}: {failure.sort}"
        sorts[key] += 1
        if sorts[key] <= SHRINK_OF_A_SORT and len(sorts) <= MOST_SHRUNK:
            left = max(order.until - time.time(), 20.0)
            case, failure = shrink(kinds[name], case, failure, min(left, order.shrink_seconds))
            results.put(FailedCase(case, failure, number, after))
        if order.first:
            break
    results.put(tallies)
