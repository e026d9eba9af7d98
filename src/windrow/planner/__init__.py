"""The planner: what each way to keep a window costs, and which one is best."""

from windrow.planner.advice import Advice, advise

__all__ = ["Advice", "advise"]
