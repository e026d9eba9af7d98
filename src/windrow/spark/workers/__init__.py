"""What Spark's Python workers start from: a daemon that has imported Windrow, and the modules of the user."""
