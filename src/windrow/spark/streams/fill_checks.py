"""Checks of `wr.fill` on streams: sides that cannot be filled are rejected before the query starts."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql.types import TimestampType

from windrow.errors import SpecError, TypeMismatchError, UnsupportedError
from windrow.spark.resolve.fills import FillQuery
from windrow.spark.streams.lineage import is_framed_here
from windrow.spark.streams.options import StreamOptions, check_watermark, has_watermark, refuse_known_at
from windrow.spark.streams.punctuation import FrameStream


def check_sides(
    frames: DataFrame, source: DataFrame, query: FillQuery, recipe: FrameStream | None, options: StreamOptions
) -> None:
    """Reject sides that cannot be filled in a stream."""
    if source.isStreaming:
        refuse_known_at(source, query.source.on)
        check_watermark(source, query.source.on)
        if recipe and recipe.plan.per_group:
            how = "ordered=True" if recipe.plan.ordered else "delay="
            raise UnsupportedError(
                f"frames: framed with {how}, so no watermark shows when a row of the source can no longer be in "
                "a frame; frame the stream by a watermark"
            )
    if recipe is not None:
        _check_keys(frames, query, recipe)
        _check_options(recipe, options)
    elif frames.isStreaming:
        _check_foreign(frames, query)


def _check_keys(frames: DataFrame, query: FillQuery, recipe: FrameStream) -> None:
    """Reject groups other than those by which the stream was framed."""
    framed_by = recipe.framed_by(frames)
    if len(framed_by) < len(recipe.plan.request.by):
        framed_by = recipe.plan.request.by
    if query.frames.by != framed_by:
        raise UnsupportedError(
            f"by: expected the columns by which the stream was framed, {list(framed_by)}, got {list(query.frames.by)}; "
            "a stream of frames is filled by the groups it was framed by"
        )
    for name, kind in zip(query.frames.by, query.key_types, strict=True):
        framed_as = frames.schema[name].dataType
        if framed_as != kind:
            raise TypeMismatchError(
                f"by: column {name!r} is of type {framed_as.simpleString()} in the frames and of a wider type in the "
                f"source; cast it to {kind.simpleString()} before the stream is framed"
            )


def _check_options(recipe: FrameStream, options: StreamOptions) -> None:
    """Reject another number of buckets, and selected rows or columns where only the whole stream will do."""
    if options.buckets not in (None, recipe.buckets):
        raise SpecError(
            f"buckets: a stream of frames is filled in the buckets it was framed in; drop "
            f"buckets={options.buckets}, or pass it to wr.frames"
        )
    if recipe.selected and recipe.plan.fragments:
        raise UnsupportedError(
            "frames: rows or columns of this stream of fragments were selected, so a frame may lack some of its "
            "fragments; fill the unmodified result of wr.frames and filter the result, or frame without fragments=True"
        )
    if recipe.selected and options.flush is not None:
        raise UnsupportedError(
            "flush: rows or columns of this stream of frames were selected, which cannot be done to what is left in a "
            "checkpoint; fill the unmodified result of wr.frames or wr.widen and filter the result"
        )


def _check_foreign(frames: DataFrame, query: FillQuery) -> None:
    """Reject a stream of frames that has neither punctuation nor a watermark on `start`."""
    if is_framed_here(frames):
        raise UnsupportedError(
            "frames: this stream was computed from the result of wr.frames or wr.widen, so it does not show when a row "
            "of the source can no longer be in a frame; select rows and columns or rename columns, but do not compute "
            "'start' or 'end', or write the frames to a table or topic and fill the stream that is read from there"
        )
    start = frames.schema[query.frames.start]
    if not isinstance(start.dataType, TimestampType) or not has_watermark(start):
        raise SpecError(
            f"frames: column {start.name!r} has no watermark, so nothing shows when all frames of some time have "
            f"arrived; call withWatermark({start.name!r}, '1 hour') on this stream of frames, with a delay as long as "
            "a frame may take to arrive after its start"
        )
