"""Tests that `make test` leaves out are listed with the reason."""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).parent
PAGE = TESTS.parent / "docs" / "contributing" / "testing.md"


def test_every_file_with_long_tests_is_listed():
    marked = re.compile(r"^from sweeps import|pytest\.mark\.long\b", re.MULTILINE)
    files = {
        path.stem for path in TESTS.rglob("test_*.py") if path != Path(__file__) and marked.search(path.read_text())
    }
    listed = set(re.findall(r"`(test_\w+)`", PAGE.read_text().partition("make test-long` adds")[2]))
    assert files <= listed
    assert {name for name in listed if not list(TESTS.rglob(f"{name}.py"))} == set()
