"""The rows of a query: their clock, groups and order, and the buffer for stream rows that are not due yet."""
