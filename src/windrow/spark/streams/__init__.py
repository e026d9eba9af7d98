"""Streaming: stateful operators whose state is stored per bucket of groups."""
