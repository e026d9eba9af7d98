"""The names that `import windrow as wr` offers, apart from what `test_documents.py` checks of each."""

from __future__ import annotations

from importlib import metadata

import windrow as wr
from windrow import errors
from windrow.aggregates import BUILTIN, TIMED
from windrow.aggregates.base import name_of
from windrow.framing.schemes import SCHEMES


def test_every_scheme_aggregate_and_error_is_public():
    raised = {name for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, Exception)}
    offered = {kind.__name__ for kind in SCHEMES} | {name_of(kind) for kind in (*BUILTIN, *TIMED)} | raised
    assert offered - set(wr.__all__) == set()


def test_the_version_is_that_of_the_installed_project():
    assert wr.__version__ == metadata.version("windrow")
