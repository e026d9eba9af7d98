"""The `windrow` command line."""
