"""Exact synopses: the aggregate of a window without error."""
