"""The kinds of cases, by name."""

from __future__ import annotations

from fuzz.case import Kind
from fuzz.kinds.frames import Frames
from fuzz.kinds.seams import Ranges, Scan
from fuzz.kinds.slide import Kept, Slide

KINDS: dict[str, type[Kind]] = {kind.name: kind for kind in (Frames, Ranges, Scan, Slide, Kept)}
