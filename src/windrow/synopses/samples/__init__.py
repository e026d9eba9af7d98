"""Random samples of a window, and estimates from them."""
