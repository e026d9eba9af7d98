"""Rows of a query: their clock, groups and order, and where the rows of a stream wait until they are due."""
