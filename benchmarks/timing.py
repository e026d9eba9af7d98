"""Time competitors in interleaved rounds.

Interleaving spreads other load on the machine over all competitors. Medians are compared; the minimum shows how quiet
the machine was.
"""

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field


@dataclass
class Timing:
    """The seconds of one competitor, one number per round."""

    name: str
    seconds: list[float] = field(default_factory=list)

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    @property
    def best(self) -> float:
        return min(self.seconds)


def race(
    competitors: Mapping[str, Callable[[], object]],
    rounds: int = 3,
    warm_up: bool = True,
    report: Callable[[str], object] = lambda line: None,
) -> dict[str, Timing]:
    """Run all competitors once per round, starting with a different one each time; the warm-up is not counted."""
    timings = {name: Timing(name) for name in competitors}
    names = list(competitors)
    for number in range(-1 if warm_up else 0, rounds):
        turn = max(number, 0) % max(1, len(names))
        for name in names[turn:] + names[:turn]:
            seconds = _seconds(competitors[name])
            report(f"{'warm-up' if number < 0 else f'round {number + 1}'}: {name} {seconds:.2f} s")
            if number >= 0:
                timings[name].seconds.append(seconds)
    return timings


def _seconds(run: Callable[[], object]) -> float:
    begin = time.perf_counter()
    run()
    return time.perf_counter() - begin
