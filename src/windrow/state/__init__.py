"""Saved state: the header that identifies and protects it, Arrow tables inside, and checks before use."""
