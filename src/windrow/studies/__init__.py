"""Studies: measurements from the literature, repeated and compared."""
