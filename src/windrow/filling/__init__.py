"""Filling: matches the rows of one source with the frames of another."""
