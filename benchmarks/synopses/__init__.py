"""Synopses next to the rolling functions of other libraries, and the planner's picks; uses no Spark."""
