"""Options of the compiler that kernels share."""

from __future__ import annotations

WITHOUT_COUNTING = {"_nrt": False}
"""Disables reference counting. Nothing here allocates, and counting would take longer than the work itself."""
INLINED = {**WITHOUT_COUNTING, "forceinline": True}
"""For functions called per row or value: passing many arrays would take longer than their own work.

LLVM inlines them. Numba's own `inline="always"` copies a function before types are inferred, so that each loop takes
twice as long to compile.
"""
