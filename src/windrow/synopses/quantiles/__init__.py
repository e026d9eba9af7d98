"""Quantiles of a window, exact and within a stated error."""
