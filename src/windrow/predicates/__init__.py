"""Predicates: Spark SQL conditions, parsed, typed by Spark's rules and evaluated on Arrow columns."""
