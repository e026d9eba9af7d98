"""Windows: which stretches of a stream are aggregated, and how their aggregates follow from those of panes."""

from windrow.windows.specs import DistinctTimes, Landmark, Rows, Sliding, Tumbling, Window
from windrow.windows.synopsis_spec import Keep

WINDOWS: tuple[type[Window], ...] = (DistinctTimes, Landmark, Rows, Sliding, Tumbling)

__all__ = ["WINDOWS", "DistinctTimes", "Keep", "Landmark", "Rows", "Sliding", "Tumbling", "Window"]
