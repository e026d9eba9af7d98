"""`windrow frames --stream`: frame the files that land in a folder, as they land."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import timedelta, tzinfo
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from rich.console import Console

from windrow.cli.landing import check_landing, columns_of, read_landing
from windrow.cli.options.files import check_input, format_of
from windrow.cli.options.schemes import make_scheme
from windrow.cli.options.texts import aggregates_of, column_names
from windrow.cli.place import HIDDEN, Place
from windrow.cli.zoneless import as_landed, has_zone, in_utc, in_zone, session_zone, with_watermark
from windrow.errors import SpecError
from windrow.framing.schemes import Scheme
from windrow.rows.duration import parse_duration
from windrow.rows.text import as_duration
from windrow.spark import explain, frames
from windrow.spark.streams.options import AHEAD, LATE
from windrow.spark.workers.modules import ship_modules
from windrow.terminal import Counts, LiveRows, SparkLog, interruption, quiet_session, watch, working

ONLY_STREAMS = (
    "watermark",
    "delay",
    "ahead",
    "idle",
    "ordered",
    "fragments",
    "fragments_every",
    "punctuation",
    "late",
    "buckets",
    "checkpoint",
    "once",
    "flush",
)
LONGEST = 86_400_000_000 * 365_000
"""In microseconds. Anything longer acts as no limit, and could overflow a timedelta when added to."""
PAUSE = "1 second"
"""How often to check the folder for new files."""


def add_stream_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments that only streams have."""
    group = parser.add_argument_group(
        "streams",
        "Files must appear complete: write them under a name that begins with a dot, then\n"
        "rename them. --out is a folder that receives one file per batch; without it, the\n"
        "newest frames are shown. Ctrl-C stops the run; the same command resumes it.",
    )
    group.add_argument("--stream", action="store_true", help="frame the files in the folder INPUT as they land")
    group.add_argument("--watermark", metavar="DURATION", help='how far rows may be out of order, e.g. "10 seconds"')
    group.add_argument(
        "--delay", metavar="DURATION",
        help="the same, but each group is put in order by its own newest row, without a watermark",
    )  # fmt: skip
    group.add_argument(
        "--ahead", metavar="DURATION",
        help=f'hold back rows further ahead of the clock (default "{AHEAD}"; "off" for never)',
    )  # fmt: skip
    group.add_argument(
        "--idle", metavar="DURATION",
        help="with --delay or --ordered: close what a group has open when it has sent nothing for that long",
    )  # fmt: skip
    group.add_argument("--ordered", action="store_true", help="rows arrive in order: no --watermark and no waiting")
    group.add_argument("--fragments", action="store_true", help="also emit pieces of frames that are still open")
    group.add_argument(
        "--fragments-every", metavar="DURATION",
        help='the same, but cut the pieces at multiples of a duration, e.g. "1 minute"',
    )  # fmt: skip
    group.add_argument("--punctuation", action="store_true", help="also emit rows that show how far groups have got")
    group.add_argument("--late", choices=LATE, help="rows behind the watermark: drop and count them, or emit them")
    group.add_argument(
        "--buckets", type=int, metavar="N",
        help="parts of the state; of a checkpoint, always the same number (default: one per core, at most 32)",
    )  # fmt: skip
    group.add_argument(
        "--checkpoint", metavar="FOLDER",
        help=f"folder for the state (default: {HIDDEN} in --out; without --out, a temporary one)",
    )  # fmt: skip
    group.add_argument("--once", action="store_true", help="process the existing files, then exit")
    group.add_argument(
        "--flush", action="store_true", help="with --once: also emit the frames that are open at the end"
    )


def refuse_stream_arguments(args: argparse.Namespace) -> None:
    """Reject stream arguments for a table."""
    for name in ONLY_STREAMS:
        if getattr(args, name):
            raise SpecError(f"--{name.replace('_', '-')} requires --stream")


def check_stream_arguments(args: argparse.Namespace) -> None:
    """Reject incompatible arguments."""
    if args.limit < 1:
        raise SpecError(f"--limit: expected at least 1 row, got {args.limit}")
    for option in ("format", "overwrite"):
        if getattr(args, option) and args.out is None:
            raise SpecError(f"--{option} requires --out")
    if args.plan != "auto":
        raise SpecError(f"--plan: {args.plan!r} is for tables; drop --plan, since streams have one plan only")
    if args.flush and not args.once:
        raise SpecError("--flush requires --once: a stream without end has no last frames")
    if args.ordered and args.watermark is not None:
        raise SpecError(f"--watermark: {args.watermark!r} has no effect with --ordered; drop one of them")
    if args.idle is not None and args.once:
        raise SpecError(f"--idle: {args.idle!r} has no effect with --once, which ends with the files; use --flush")
    if args.idle is not None and args.watermark is not None:
        raise SpecError(f"--idle: {args.idle!r} requires --delay or --ordered instead of --watermark")
    for other in ("watermark", "ordered"):
        if args.delay is not None and getattr(args, other):
            raise SpecError(f"--delay: {args.delay!r} has no effect with --{other}; drop one of them")
    if args.ordered and args.ahead is not None:
        raise SpecError(
            f"--ahead: {args.ahead!r} has no effect with --ordered, which has no watermark; drop one of them"
        )
    if not args.ordered and args.watermark is None and args.delay is None:
        raise SpecError(
            "--stream requires --watermark, which limits how far rows may be out of order, e.g. "
            "--watermark '10 seconds'; or --delay, the same for each group by itself; or --ordered if rows arrive in "
            "order"
        )


def as_delay(text: str) -> str:
    """Return the delay of a watermark as Spark reads it, in whole milliseconds.

    >>> as_delay("1 minute 30 seconds")
    '90000 milliseconds'
    """
    try:
        delay = parse_duration(text)
    except SpecError as error:
        raise SpecError(f"--watermark: {error}") from None
    if delay < 0:
        raise SpecError(f"--watermark: {text!r} is negative; expected a duration such as '10 seconds'")
    return f"{-(-delay // 1000)} milliseconds"


def as_ahead(text: str | None) -> timedelta | None:
    """Return how far rows may be ahead of the clock; None for any distance.

    >>> as_ahead("90 seconds")
    datetime.timedelta(seconds=90)
    """
    if text == "off":
        return None
    try:
        length = parse_duration(text or AHEAD)
        if length < 0:
            raise SpecError(f"{text!r} is negative; expected a duration such as '1 hour', or 'off'")
        return timedelta(microseconds=min(length, LONGEST))
    except SpecError as error:
        raise SpecError(f"--ahead: {error}") from None


@dataclass(frozen=True)
class StreamRequest:
    """The arguments for `wr.frames`, and the delay of the watermark if there is one."""

    scheme: Scheme
    options: dict[str, Any]
    watermark: str | None
    ahead: timedelta | None = None

    @classmethod
    def of(cls, args: argparse.Namespace) -> StreamRequest:
        """Build a request from the options."""
        every = args.fragments_every
        options = {
            "on": args.on,
            "by": column_names(args.by, "--by"),
            "agg": aggregates_of(args.agg),
            "order_by": column_names(args.order_by, "--order-by"),
            "nulls_on": args.nulls_on,
            "fragments": args.fragments if every is None else as_duration(every, "--fragments-every"),
            "ordered": args.ordered,
            "late": args.late or "drop",
            "punctuation": args.punctuation,
            "buckets": args.buckets,
        }
        if args.delay is not None:
            options["delay"] = as_duration(args.delay, "--delay")
        if args.idle is not None:
            options["idle"] = args.idle
        if args.delay is not None and args.ahead is not None:
            options["ahead"] = as_ahead(args.ahead)
        watermark = None if args.watermark is None else as_delay(args.watermark)
        return cls(make_scheme(args), options, watermark, as_ahead(args.ahead))

    def is_zoneless(self, landed: DataFrame) -> bool:
        """Return whether times must be treated as instants in order to have a watermark."""
        return self.watermark is not None and not has_zone(landed, self.options["on"])

    def source(self, landed: DataFrame) -> DataFrame:
        """Return the stream with its watermark."""
        if self.watermark is None:
            return landed
        return with_watermark(landed, self.options["on"], self.watermark, self.ahead)

    def frames(self, landed: DataFrame, flush: Path | None = None) -> DataFrame:
        """Return the frames of the stream, or those left in a checkpoint at its end."""
        at = None if flush is None else str(flush)
        result = frames(self.source(landed), self.scheme, **self.options, flush=at)
        if not self.is_zoneless(landed):
            return result
        return as_landed(result, landed, self.options["on"], self.options["agg"])


def run_stream(args: argparse.Namespace, log: SparkLog) -> None:
    """Validate everything that needs no Spark, then start Spark and frame the files that land."""
    check_stream_arguments(args)
    request = StreamRequest.of(args)
    check_input(args.input)
    form = format_of(args.input, args.input_format)
    place = Place.of(args)
    columns = place.saved_columns()
    check_landing(args.input, may_be_empty=columns is not None)
    ship_modules()
    with working("starting Spark"):
        spark = quiet_session(log)
    with working("reading", spark):
        columns = columns or columns_of(spark, args.input, form)
        landed = read_landing(spark, args.input, form, columns)
    with in_utc(spark) if request.is_zoneless(landed) else nullcontext():
        if args.explain:
            print(explain(request.source(landed), request.scheme, **request.options))
            return
        result = request.frames(landed)
        place.begin(result)
        place.save_columns(columns)
        with place.used_checkpoint() as checkpoint:
            rest = (lambda: request.frames(landed, checkpoint)) if args.flush else None
            run_query(result, place, checkpoint, once=args.once, rest=rest, limit=args.limit)


class Shown:
    """A sink for the terminal: passes batches to the thread that shows them, and counts the frames."""

    def __init__(self, zone: tzinfo) -> None:
        self.frames = self.rows = 0
        self._zone = zone
        self._batches: SimpleQueue[pa.Table] = SimpleQueue()

    def __call__(self, batch: DataFrame, _: int) -> None:
        """Receive a batch of the query."""
        self.flush(batch)

    def flush(self, rows: DataFrame) -> None:
        """Receive the frames left at the end of the stream."""
        self._batches.put(rows.toArrow())

    def show(self, view: LiveRows) -> None:
        """Show the batches received since the last call."""
        while not self._batches.empty():
            rows = self._batches.get().sort_by([("end", "ascending"), ("frame", "ascending")])
            self.rows += rows.num_rows
            self.frames += pc.sum(rows["final"]).as_py() or 0
            view.add({name: in_zone(rows.column(i), self._zone) for i, name in enumerate(rows.column_names)})


def run_query(
    result: DataFrame, place: Place, checkpoint: Path, *, once: bool, rest: Callable[[], DataFrame] | None, limit: int
) -> None:
    """Run the query until it ends or Ctrl-C is pressed, and report the outcome."""
    began = time.perf_counter()
    shown = Shown(session_zone(result.sparkSession))
    sink = place.folder or shown
    writer = result.writeStream.foreachBatch(sink).option("checkpointLocation", str(checkpoint))
    writer = writer.trigger(availableNow=True) if once else writer.trigger(processingTime=PAUSE)
    # With an output folder, only the status line is shown, on stderr.
    with interruption() as interrupted, LiveRows(limit, Console(stderr=True) if place.folder else None) as view:

        def look(counts: Counts) -> None:
            shown.show(view)
            view.set_status(f"{_summary(sink.frames, counts)}; press Ctrl-C to stop")

        counts = watch(writer.start(), look, interrupted.is_set)
        if once and interrupted.is_set():
            raise KeyboardInterrupt
        if rest is not None:
            sink.flush(rest())
        look(counts)
    summary = _summary(sink.frames, counts)
    if interrupted.is_set():
        print(f"stopped after {summary}; {place.how_to_resume()}", file=sys.stderr)
        return
    if not (place.folder or shown.rows):
        print("no frames")
    where = f"wrote {summary} to {place.folder.path}" if place.folder else summary
    print(f"{where} in {time.perf_counter() - began:.1f} s", file=sys.stderr)


def _summary(frames: int, counts: Counts) -> str:
    return f"{frames:,} frame{'' if frames == 1 else 's'} ({counts})"
