"""The look at the built documentation: which links count as broken, and what happens without a browser or a site."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

SPEC = importlib.util.spec_from_file_location("browse_docs", Path(__file__).parents[1] / "scripts" / "browse_docs.py")
browse_docs = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(browse_docs)


@pytest.fixture
def site(tmp_path: Path) -> Path:
    for page in ("index.html", "schemes/index.html", "schemes/delta.html"):
        (tmp_path / page).parent.mkdir(exist_ok=True)
        (tmp_path / page).write_text("<html></html>")
    return tmp_path


@pytest.mark.parametrize(
    ("target", "broken"),
    [
        ("", False),
        ("schemes/", False),
        ("schemes/delta.html", False),
        ("schemes/delta.html#options", False),
        ("schemes/delta.html#opti%6Fns", False),
        ("schemes/delta.html#missing", True),
        ("schemes/index.html#not-opened", False),
        ("schemes/missing.html", True),
        ("missing/", True),
    ],
)
def test_a_link_is_broken_if_its_page_or_heading_does_not_exist(site: Path, target: str, broken: bool):
    assert browse_docs.is_broken(site, target, {"schemes/delta.html": {"options"}}) is broken


def test_without_a_browser_it_is_skipped_with_the_reason(site: Path, monkeypatch, capsys):
    monkeypatch.setattr(browse_docs.shutil, "which", lambda name: None)
    monkeypatch.setattr(sys, "argv", ["browse_docs.py", "--site", str(site)])
    assert browse_docs.main() == 0
    assert "skipped: chromium or chromedriver is not installed" in capsys.readouterr().out


def test_without_a_site_it_names_the_command_that_builds_one(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(browse_docs.shutil, "which", lambda name: name)
    monkeypatch.setattr(sys, "argv", ["browse_docs.py", "--site", str(tmp_path)])
    with pytest.raises(SystemExit, match="build the site with `make docs`"):
        browse_docs.main()
