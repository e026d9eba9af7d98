"""Rows that wait for their turn: pieces on a shelf, released by the watermark or by newer rows of their group."""
