"""Time competitors in interleaved rounds and print them as a table.

Interleaving spreads other load on the machine over all competitors. Medians are compared; the minimum shows how quiet
the machine was.
"""

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

WIDTH = 100


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


def table(title: str, timings: Mapping[str, Timing], against: Mapping[str, str]) -> str:
    """Return the timings, fastest first, with a column of ratios for each heading in `against` (heading: competitor).

    A ratio is the row's median over that competitor's: 2.00 means twice as slow.
    """
    headings = [*against]
    room = WIDTH - 2 * 9 - sum(_width(h) for h in headings)
    lines = [title, f"{'':<{room}}{'median s':>9}{'min s':>9}" + "".join(f"{h:>{_width(h)}}" for h in headings)]
    for timing in sorted(timings.values(), key=lambda t: t.median):
        ratios = (timing.median / timings[against[h]].median for h in headings)
        cells = "".join(f"{r:>{_width(h)}.2f}" for h, r in zip(headings, ratios, strict=True))
        lines.append(f"{timing.name[: room - 1]:<{room}}{timing.median:>9.2f}{timing.best:>9.2f}{cells}")
    return "\n".join(lines)


def _width(heading: str) -> int:
    return max(9, len(heading) + 2)
