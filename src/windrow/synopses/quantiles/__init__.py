"""Quantiles of a window, exact or within a stated error."""
