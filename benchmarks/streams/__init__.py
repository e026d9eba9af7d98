"""Streams: the time of a batch, latency, fragments, and ten minutes at full speed."""
