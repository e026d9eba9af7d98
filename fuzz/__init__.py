"""A fuzzer: random queries over random rows, run by every engine and compared with the definitions."""
