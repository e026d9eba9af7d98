"""`windrow study`: repeat measurements from the literature."""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections.abc import Callable, Iterable, Sequence
from typing import IO

from windrow.cli.commands import Commands
from windrow.errors import SpecError
from windrow.outputs import Target
from windrow.outputs.own import table_file
from windrow.planner.data import STREAMS
from windrow.studies.accuracy import Finding, Study
from windrow.studies.design_space import APPROACHES, NUMBERS, SECTION, DesignSpace, Sample
from windrow.studies.design_space_report import FIELDS as SAMPLE_FIELDS
from windrow.studies.design_space_report import beside_measured, beside_models, write_samples
from windrow.studies.design_space_report import notes as design_space_notes
from windrow.studies.report import FIELDS, beside_thesis, exceptions, notes, on_all_data, verdict, write_csv
from windrow.studies.stops import where_it_stops, why_it_stops
from windrow.studies.thesis.accuracy import THESIS_TABLES, What
from windrow.terminal import SparkLog, print_table, steps

WIDTH = 100


def declare(parser: argparse.ArgumentParser) -> None:
    """Declare the studies as subcommands."""
    parser.description = "Repeat measurements from the literature, and print both."
    studies: Commands = parser.add_subparsers(metavar="STUDY", required=True)
    _add_accuracy(studies)
    _add_design_space(studies)


def _add_accuracy(studies: Commands) -> None:
    parser = studies.add_parser(
        "accuracy", help="errors of approximate variances and quantiles", allow_abbrev=False,
        description="Repeat tables 6.8 to 6.11 and 6.18 to 6.21 of 'On a design space for sliding windows', on its "
        "uniform data and on harder data. This takes some minutes.",
    )  # fmt: skip
    numbers = [table.number for table in THESIS_TABLES]
    parser.add_argument(
        "--table", action="append", choices=numbers, default=[], metavar="N",
        help=f"only this table (repeatable): {', '.join(numbers)}",
    )  # fmt: skip
    parser.add_argument(
        "--data", choices=tuple(STREAMS), metavar="KIND",
        help=f"only this kind of data: {', '.join(STREAMS)} (default: all, the harder ones with fewer measurements)",
    )  # fmt: skip
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="another seed makes other data (default 0)")
    _add_common(parser, "setting")
    parser.set_defaults(run=run)


def _add_design_space(studies: Commands) -> None:
    parser = studies.add_parser(
        "design-space", help="time and memory of approaches to variance and quantiles", allow_abbrev=False,
        description="Repeat tables 6.1 to 6.7, 6.12 to 6.17 and 7.1 to 7.32 of 'On a design space for sliding "
        "windows', and find where each approach stops paying off, as in its section 9.1.",
    )  # fmt: skip
    parser.add_argument(
        "--table", action="append", choices=NUMBERS, default=[], metavar="N",
        help=f"only this table (repeatable): 6.1 to 6.7, 6.12 to 6.17, 7.1 to 7.32, and {SECTION} for where each "
        "approach stops paying off",
    )  # fmt: skip
    _add_common(parser, "measurement")
    parser.set_defaults(run=run_design_space)


def _add_common(parser: argparse.ArgumentParser, each: str) -> None:
    """Declare the arguments that all studies share."""
    parser.add_argument("--quick", action="store_true", help="short retentions only, with fewer measurements")
    parser.add_argument("--out", metavar="FILE.csv", help=f"also write every {each} to a CSV file")
    parser.add_argument("--overwrite", action="store_true", help="replace an earlier study at --out")
    # Without a default, so that `windrow study --debug accuracy` keeps its --debug.
    parser.add_argument("--debug", action="store_true", default=argparse.SUPPRESS, help="show a traceback of any error")


def run(args: argparse.Namespace, log: SparkLog) -> None:
    """Run the accuracy study: measure, print, and write if requested."""
    if args.seed < 0:
        raise SpecError(f"--seed: expected an integer of at least 0, got {args.seed}")
    out = _out(args, FIELDS)
    study = Study.choose(args.table, args.data, seed=args.seed, quick=args.quick)
    findings = _measure(study)
    if out is not None:
        _write(out, lambda file: write_csv(findings, file), f"{len(findings):,} settings")
    _show(study, findings)


def run_design_space(args: argparse.Namespace, log: SparkLog) -> None:
    """Run the design-space study: measure costs, print, and write if requested."""
    out = _out(args, SAMPLE_FIELDS)
    study = DesignSpace.choose(args.table, quick=args.quick)
    runs, samples = list(study.runs), list[Sample]()
    with steps(len(runs)) as begin:
        for each in runs:
            begin(str(each))
            samples += each.samples()
    if out is not None:
        _write(out, lambda file: write_samples(samples, file), f"{len(samples):,} measurements")
    _show_design_space(study, samples)


def _show_design_space(study: DesignSpace, samples: list[Sample]) -> None:
    for number in APPROACHES:
        if number in study.numbers:
            print_table(beside_measured(study, samples, number))
        models = beside_models(study, samples, number)
        if models:
            print_table(models)
    remarks = list(design_space_notes(study, samples))
    if SECTION in study.numbers:
        aggregates: tuple[What, ...] = ("variance", "quantiles")
        for aggregate in aggregates:
            print_table(where_it_stops(samples, aggregate))
            remarks.append(why_it_stops(samples, aggregate))
    _list(remarks)


def _measure(study: Study) -> list[Finding]:
    runs, findings = list(study.runs), list[Finding]()
    with steps(len(runs)) as begin:
        for each in runs:
            begin(str(each))
            findings += each.findings()
    return findings


def _show(study: Study, findings: list[Finding]) -> None:
    for table in study.tables:
        compared = beside_thesis(table, findings)
        if compared:
            print_table(compared)
        print_table(on_all_data(table, findings))
    _list(notes(study.tables, findings))
    missed = list(exceptions(findings))
    if missed:
        print("\nErrors above ε more often than δ, by data and number of settings:")
        _list(missed)
    print(f"\n{verdict(findings)}")


def _list(lines: Iterable[str]) -> None:
    for line in lines:
        print(textwrap.fill(line, WIDTH, initial_indent="- ", subsequent_indent="  "))


def _out(args: argparse.Namespace, columns: Sequence[str]) -> Target | None:
    if args.overwrite and args.out is None:
        raise SpecError("--overwrite requires --out")
    if args.out is None:
        return None
    return Target.of(args.out, table_file(columns), overwrite=args.overwrite, suffixes=(".csv",)).check()


def _write(out: Target, write: Callable[[IO[str]], None], what: str) -> None:
    """Write a file atomically and report it."""
    with out.writing() as new, new.open("w", newline="", encoding="utf-8") as file:
        write(file)
    print(f"wrote {what} to {out.name}", file=sys.stderr)
