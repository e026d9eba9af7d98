"""Windows: which stretches of a stream to aggregate, and how their aggregates are combined from panes."""

from windrow.windows.specs import DistinctTimes, Landmark, Rows, Sliding, Tumbling, Window
from windrow.windows.synopsis_spec import Keep

WINDOWS: tuple[type[Window], ...] = (DistinctTimes, Landmark, Rows, Sliding, Tumbling)

__all__ = ["WINDOWS", "DistinctTimes", "Keep", "Landmark", "Rows", "Sliding", "Tumbling", "Window"]
