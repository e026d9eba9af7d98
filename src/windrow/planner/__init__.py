"""The planner: predicts what each synopsis costs and picks one."""

from windrow.planner.advice import Advice, advise

__all__ = ["Advice", "advise"]
