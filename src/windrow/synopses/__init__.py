"""Synopses: what is kept of a sliding window so that an aggregate of it can be told at any time."""
