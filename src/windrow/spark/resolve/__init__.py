"""From a user's arguments to a query: every name, type and text is checked before any Spark job starts."""
