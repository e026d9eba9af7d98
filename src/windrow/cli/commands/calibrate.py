"""`windrow calibrate`: measure what synopses cost on this machine, so that advice fits it."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median

from windrow.cli.options.texts import add_import_argument
from windrow.errors import OutputError, WindrowError
from windrow.outputs import Target
from windrow.planner.calibration.grid import Task, calibrate, full_grid, quick_grid, read_lines
from windrow.planner.calibration.measure import FULL, QUICK, Care
from windrow.planner.calibration.regression import Diagnosis, Fit
from windrow.planner.model import Model, adapted, fit_model, own_model_path, shipped_model
from windrow.terminal import SparkLog, Table, print_table, steps

MODEL_FIELDS = {"version", "about", "costs"}


def declare(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    parser.description = (
        "Measure time and memory of each synopsis, and fit a cost model that wr.advise and wr.slide use from then on. "
        "An interrupted calibration resumes where it stopped."
    )
    parser.add_argument(
        "--full", action="store_true",
        help="measure every aggregate over the whole range, up to an hour; by default, a few minutes of measurements "
        "scale the package's model to the speed of this machine",
    )  # fmt: skip
    parser.add_argument(
        "--out", metavar="FILE.json", help="where to write the model (default: where wr.advise looks for it)"
    )
    parser.add_argument("--fresh", action="store_true", help="discard the measurements of an interrupted calibration")
    add_import_argument(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, log: SparkLog) -> None:
    """Measure, fit a model and write it."""
    out = _out(own_model_path() if args.out is None else Path(args.out))
    try:
        model = _made(out, args.full, args.fresh)
    except WindrowError:
        raise
    except OSError as error:
        raise OutputError(f"--out: cannot write {out.name}: {error.strerror}") from None
    _show(model, args.full)
    print(f"wrote the model to {out.name}", file=sys.stderr)


def _made(out: Target, full: bool, fresh: bool) -> Model:
    lines = out.path.with_suffix(".jsonl" if full else ".quick.jsonl")
    tasks, care = (full_grid(), FULL) if full else (quick_grid(), QUICK)
    # Reading also verifies that the file holds measurements, before they are discarded.
    done = len(read_lines(lines)) if lines.exists() else 0
    if fresh or done >= len(tasks):
        # All measurements are done, so nothing was interrupted; start over.
        lines.unlink(missing_ok=True)
        done = 0
    _measure(tasks, done, lines, care)
    measured = read_lines(lines)
    model = fit_model(measured) if full else adapted(shipped_model(), measured)
    with out.writing() as new:
        model.save(new)
    return model


def _measure(tasks: list[Task], done: int, lines: Path, care: Care) -> None:
    if done:
        print(f"resuming after {done:,} of {len(tasks):,} measurements", file=sys.stderr)
    with steps(len(tasks), done) as begin:
        for line in calibrate(tasks, lines, care):
            begin(str(line.task))


def _show(model: Model, full: bool) -> None:
    if full:
        print_table(quality(model))
    else:
        print(f"this machine takes {model.about['factor']} times as long as the package's model predicts (median)")


def quality(model: Model) -> Table:
    """Summarise how well the model predicts the times of each synopsis: medians over all aggregates."""
    fits: dict[str, list[tuple[Fit, Diagnosis]]] = {}
    for key, costs in model.costs.items():
        if costs.time.diagnosis is not None:
            fits.setdefault(f"{key.synopsis}, {key.mode}", []).append((costs.time, costs.time.diagnosis))

    def middle(of: Callable[[Fit, Diagnosis], float]) -> list[float]:
        return [round(median(of(*each) for each in mine), 3) for mine in fits.values()]

    return Table(
        {
            "synopsis": list(fits),
            "aggregates": [len(mine) for mine in fits.values()],
            "measured": [sum(d.n for _, d in mine) for mine in fits.values()],
            "R²": middle(lambda _, d: d.r_squared),
            "error, unseen": middle(lambda _, d: d.relative_v),
            "95 % from": middle(lambda f, _: f.low),
            "to": middle(lambda f, _: f.high),
            "Durbin-Watson": middle(lambda _, d: d.durbin_watson),
            "Breusch-Pagan": middle(lambda _, d: d.breusch_pagan),
            "normality": middle(lambda _, d: d.normality),
        },
        title="Models of the time of a slide: medians over aggregates",
    )


def _out(path: Path) -> Target:
    try:
        if path.suffix.lower() == ".json":
            path.absolute().parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"--out: cannot create the folder of {path}: {error.strerror}") from None
    return Target.of(path, _why_no_model, overwrite=True, suffixes=(".json",)).check()


def _why_no_model(path: Path) -> str | None:
    """Return why a path is not a model, of any version; None if it is one."""
    if path.is_dir():
        return "it is a folder"
    try:
        content = json.loads(path.read_text(encoding="utf-8") or "{}")
    except (OSError, ValueError):
        return "it is not a model"
    is_model = content == {} or (isinstance(content, dict) and set(content) >= MODEL_FIELDS)
    return None if is_model else "it is not a model"
