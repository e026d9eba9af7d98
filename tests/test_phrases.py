"""The check of the project's language: what it finds and what it leaves alone."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SPEC = importlib.util.spec_from_file_location("phrases", ROOT / "scripts" / "phrases.py")
phrases = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(phrases)


def texts(text: str) -> list[str]:
    return [phrase for _, phrase, _ in phrases.odd_phrases(text)]


def names(code: str) -> list[str]:
    return [name for _, name, _ in phrases.vague_names(code)]


@pytest.mark.parametrize(
    "text",
    [
        "3 is no name of a column",
        "these are no numbers",
        "calibrate anew",
        "explain tells of plans",
        "nothing tells when",
        "it was told so",
        "mend the seams",
        "it stops to wait",
        "of which there are more",
        "Delta wants a limit",
        "Delta has a limit an attribute",
        "the query goes on from here",
        "what is asked",
        "Windrow beside Polars",
        "a filter, and there is none",
        "it keeps to no retention",
        "give one such as 3",
        "from 1 to any whole number",
        "one row a frame",
        "O(1) an element",
    ],
)
def test_an_odd_phrase_is_found(text: str):
    assert len(texts(text)) == 1


@pytest.mark.parametrize(
    "text",
    [
        "there is no such file",
        "the stream is no longer ordered",
        "only Spark can tell",
        "two colours that readers can tell apart",
        "position = source.tell()",
        "one row per frame",
        "two rows a frame of this kind could have",
        "options that limit a frame",
        "recommended",
    ],
)
def test_ordinary_english_passes(text: str):
    assert texts(text) == []


def test_phrases_are_found_across_the_lines_of_a_message_and_of_a_comment():
    message = 'raise ValueError(\n    f"{value} is "\n    "no number"\n)\n'
    assert [(line, phrase) for line, phrase, _ in phrases.odd_phrases(message)] == [(2, "is no number")]
    assert texts("# A frame is\n# no row.\n") == ["is no row"]
    assert texts("A frame is\n\nno row.\n") == []


def test_vague_names_are_found_wherever_a_name_is_bound():
    code = """
import frames as found
def told(asked, *kept, given=1): ...
class Known: ...
self.tuples = known = 1
for wanted in rows: ...
max_tuples = 2
with open(x) as said: ...
"""
    found = sorted(names(code))
    assert found == sorted(
        ["found", "told", "asked", "kept", "given", "Known", "tuples", "known", "wanted", "max_tuples", "said"]
    )


def test_names_that_are_only_read_pass():
    assert names("row = source.found + known\nknown_groups = 1\nis_kept = True\n") == []


def test_a_line_with_a_reason_passes_and_the_others_are_reported(tmp_path: Path, capsys):
    page = tmp_path / "page.md"
    page.write_text("Made anew.  <!-- phrase: a quotation -->\nIt goes on.\n")
    assert phrases.main([str(page)]) == 1
    assert capsys.readouterr().out == f"{page}:2: 'goes on': write 'resume' or 'continue'\n"
    page.write_text("It continues.\n")
    assert phrases.main([str(page)]) == 0
