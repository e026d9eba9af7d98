"""Turn a user's arguments into a query. Every name, type and expression is checked before any Spark job starts."""
