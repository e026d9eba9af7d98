"""Sliding windows of tables: every plan, every peer and the limit."""
