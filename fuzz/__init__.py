"""A fuzzer: runs random queries over random rows on every engine and compares the results with the definitions."""
