"""Figures and models from the thesis, for comparison."""
