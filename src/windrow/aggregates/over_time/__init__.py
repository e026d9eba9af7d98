"""Aggregates over time: values weighted by how long they held."""

from windrow.aggregates.over_time.clock import Extents
from windrow.aggregates.over_time.kinds import Duration, Integral, TimeIn, TimeMean

__all__ = ["Duration", "Extents", "Integral", "TimeIn", "TimeMean"]
