"""Saved state: a header that identifies and protects it, Arrow tables as the payload, and checks before use."""
