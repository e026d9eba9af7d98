"""Terminal output of the command line and the demo: tables on stdout, progress on stderr, and a quiet Spark."""

from typing import TYPE_CHECKING

from windrow.on_demand import on_demand

if TYPE_CHECKING:
    from windrow.terminal.live import LiveRows
    from windrow.terminal.log import SparkLog
    from windrow.terminal.progress import steps, working
    from windrow.terminal.query import Counts, interruption, watch
    from windrow.terminal.session import quiet_session
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

# `windrow --help` needs neither Spark nor tables.
__getattr__, __dir__ = on_demand(
    __name__,
    {
        "windrow.terminal.live": ["LiveRows"],
        "windrow.terminal.log": ["SparkLog"],
        "windrow.terminal.progress": ["steps", "working"],
        "windrow.terminal.query": ["Counts", "interruption", "watch"],
        "windrow.terminal.session": ["quiet_session"],
        "windrow.terminal.tables": ["Table", "print_table"],
    },
)
