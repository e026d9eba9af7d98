"""Parallel framing: chunks framed independently, and the seams between them."""
