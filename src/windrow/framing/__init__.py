"""Framing: from ordered rows to frames, in batches, in streams and in parallel."""
