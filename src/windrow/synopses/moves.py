"""How the small functions that kernels are made of are compiled."""

from __future__ import annotations

from windrow.synopses.algebra import WITHOUT_COUNTING

INLINED = {**WITHOUT_COUNTING, "forceinline": True}
"""For what is called for each element: to hand over a state of many arrays would cost more than all the rest."""
