"""Samples of a window, and estimates from them."""
