"""What the command line and the demo say: tables on stdout, progress on stderr, and a Spark that keeps quiet."""

from windrow.terminal.progress import working
from windrow.terminal.session import SparkLog, quiet_session
from windrow.terminal.tables import Table, print_table

__all__ = ["SparkLog", "Table", "print_table", "quiet_session", "working"]
