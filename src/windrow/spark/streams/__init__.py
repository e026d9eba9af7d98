"""Streaming: stateful operators with state by bucket of groups."""
