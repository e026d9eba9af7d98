"""Sources: Parquet read without leaving Python, and Redis."""
