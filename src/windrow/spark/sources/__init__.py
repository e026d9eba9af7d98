"""Sources: Parquet files that tasks read without leaving Python, and Redis streams."""
