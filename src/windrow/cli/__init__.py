"""The command `windrow`."""
