"""Filling: which rows of one source lie in which frames of another."""
