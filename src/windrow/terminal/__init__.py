"""What the command line and the demo say: tables on stdout, progress on stderr, and a Spark that keeps quiet."""

from windrow.terminal.live import LiveRows
from windrow.terminal.progress import steps, working
from windrow.terminal.query import Counts, interruption, watch
from windrow.terminal.session import SparkLog, quiet_session
from windrow.terminal.tables import Table, print_table

__all__ = [
    "Counts",
    "LiveRows",
    "SparkLog",
    "Table",
    "interruption",
    "print_table",
    "quiet_session",
    "steps",
    "watch",
    "working",
]
