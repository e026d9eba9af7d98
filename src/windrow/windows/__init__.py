"""Windows: which stretches of a stream are aggregated, and how their aggregates follow from those of panes."""

from windrow.windows.kept import Keep
from windrow.windows.specs import DistinctTimes, Landmark, Rows, Sliding, Tumbling, Window

WINDOWS: tuple[type[Window], ...] = (DistinctTimes, Landmark, Rows, Sliding, Tumbling)

__all__ = ["WINDOWS", "DistinctTimes", "Keep", "Landmark", "Rows", "Sliding", "Tumbling", "Window"]
