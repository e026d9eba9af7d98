"""Batch plans: native, shuffle, ranges and scan."""
