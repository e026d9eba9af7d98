"""What is generated is up to date, and what is public is named and explained."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path

import windrow as wr

ROOT = Path(__file__).parents[2]


def test_the_catalogue_is_up_to_date():
    command = [sys.executable, str(ROOT / "scripts" / "catalogue.py")]
    made = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert (ROOT / "catalogue.md").read_text() == made, "run `make catalogue`"


def test_public_names_are_sorted_and_there():
    assert wr.__all__ == sorted(wr.__all__)
    assert len(set(wr.__all__)) == len(wr.__all__)
    for name in wr.__all__:
        assert inspect.getdoc(getattr(wr, name)), name
