"""`python -m fuzz --minutes 10 --seed 1`: see README.md."""

from __future__ import annotations

import argparse
import ctypes
import multiprocessing
import os
import queue
import random
import sys
import time
from pathlib import Path
from typing import Any

from fuzz.case import Case, Failure
from fuzz.kinds import KINDS
from fuzz.report import FailedCase, Report
from fuzz.work import Order, work

GRACE = 180.0
"""Seconds that a case may take after the deadline before its process counts as hung."""


def main(arguments: list[str] | None = None) -> int:
    """Run the fuzzer; return 1 if a case failed."""
    options = _parsed(arguments)
    names = (
        options.kinds.split(",")
        if options.kinds
        else [n for n, kind in KINDS.items() if options.spark or not kind.spark]
    )
    if unknown := [name for name in names if name not in KINDS]:
        print(f"kinds: expected some of {', '.join(KINDS)}, got {', '.join(unknown)}")
        return 2
    seed = random.SystemRandom().randrange(10**6) if options.seed is None else options.seed
    if options.case is not None:
        return _one(names[0], seed, options.case)
    report = Report(seed, Path(options.out))
    print(f"seed {seed}, {options.minutes:g} minutes: {', '.join(names)}", flush=True)
    _run(report, names, options)
    report.write()
    return 1 if report.failures else 0


def _parsed(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m fuzz", description="Random cases against the definitions.")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, help="for the same cases in the same order; drawn if not given")
    parser.add_argument("--kinds", help=f"only these, separated by commas: {', '.join(KINDS)}")
    parser.add_argument("--jobs", type=int, default=max(1, (os.cpu_count() or 2) - 1), help="processes without Spark")
    parser.add_argument("--no-spark", dest="spark", action="store_false", help="leave out what needs Spark")
    parser.add_argument("--case", type=int, help="check the case of this number of the first kind and print it")
    parser.add_argument("--first", action="store_true", help="stop at the first failure")
    parser.add_argument("--shrink", type=float, default=30.0, help="seconds to make a failing case smaller")
    parser.add_argument("--out", default="fuzz-out", help="folder for scripts of failing cases")
    return parser.parse_args(arguments)


def _one(kind: str, seed: int, number: int) -> int:
    case = KINDS[kind]().case(seed, number)
    failure = KINDS[kind]().run(case).failure
    failed = FailedCase(case, failure or Failure("agrees with the definition", ""), number, 0.0)
    print(Report(seed, Path()).script(failed))
    return 1 if failure else 0


def _run(report: Report, names: list[str], options: argparse.Namespace) -> None:
    """Start the processes and collect their findings."""
    began = time.time()
    until = began + 60 * options.minutes
    plain = tuple(name for name in names if not KINDS[name].spark)
    on_spark = tuple(name for name in names if KINDS[name].spark)
    orders = [
        Order(plain, report.seed, k, options.jobs, until, began, options.first, options.shrink)
        for k in range(options.jobs)
        if plain
    ]
    orders += [Order(on_spark, report.seed, 0, 1, until, began, options.first, options.shrink)] if on_spark else []
    context = multiprocessing.get_context("spawn")
    results: Any = context.Queue()
    workers = []
    for order in orders:
        current = context.Array(ctypes.c_char, 200)
        process = context.Process(target=work, args=(order, results, current), daemon=False)
        process.start()
        workers.append((process, current))
    left = len(workers)
    while left and time.time() < until + GRACE:
        try:
            message = results.get(timeout=1.0)
        except queue.Empty:
            if any(p.exitcode is None for p, _ in workers):
                continue
            break
        if isinstance(message, FailedCase):
            report.failures.append(message)
            print(f"{message.after:6.0f} s  {message.case.kind}: {message.failure.sort}", flush=True)
            if options.first:
                break
        else:
            left -= 1
            for name, tally in message.items():
                report.tallies[name].add(tally)
    for process, current in workers:
        process.join(20.0 if not left else 0.1)
        died = process.exitcode not in (0, None)
        if left and (died or process.exitcode is None) and not options.first:
            what = f"the process died ({process.exitcode})" if died else "the case did not end"
            kind, _, number = current.value.decode().partition(" ")
            if kind:
                case = Case(kind, {"seed": report.seed, "number": int(number)})
                again = f"python -m fuzz --kinds {kind} --seed {report.seed} --case {number}"
                report.failures.append(FailedCase(case, Failure(what, again), int(number), time.time() - began))
        if process.exitcode is None:
            process.terminate()


if __name__ == "__main__":
    sys.exit(main())
