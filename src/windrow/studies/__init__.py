"""Studies: what the literature measured, measured again beside it."""
