"""Exact synopses: they answer the aggregate of a window without error."""
