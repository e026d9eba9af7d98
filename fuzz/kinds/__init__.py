"""The kinds of cases, by name."""

from __future__ import annotations

from fuzz.case import Kind
from fuzz.kinds.fill import Fill, FillStream
from fuzz.kinds.frames import Frames
from fuzz.kinds.over_time import OverTime
from fuzz.kinds.predicates import Predicates
from fuzz.kinds.seams import Ranges, Scan
from fuzz.kinds.slide import Kept, Slide
from fuzz.kinds.spark import SparkClocks, SparkFrames, SparkPredicates, SparkSlide
from fuzz.kinds.spark_stream import SparkFill, SparkStream
from fuzz.kinds.stream import Stream, StreamSlide
from fuzz.kinds.stream_delay import StreamDelay
from fuzz.kinds.synopses import Synopses

_ALL: tuple[type[Kind], ...] = (
    Frames, Ranges, Scan, Stream, StreamDelay, Slide, Kept, StreamSlide, Synopses, Fill, FillStream, OverTime,
    Predicates,
    SparkFrames, SparkClocks, SparkSlide, SparkStream, SparkFill, SparkPredicates,
)  # fmt: skip
KINDS: dict[str, type[Kind]] = {kind.name: kind for kind in _ALL}
