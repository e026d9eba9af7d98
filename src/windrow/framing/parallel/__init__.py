"""Framing in parallel: chunks framed on their own, and the seams between them."""
