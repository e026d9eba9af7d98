"""Frames of tables: every plan, every peer and the limit; groups, cores and memory."""
