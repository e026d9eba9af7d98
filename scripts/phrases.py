#!/usr/bin/env python3
"""Checks the language of the project: odd phrases in texts, and variables whose names say nothing.

Run it from anywhere: `python scripts/phrases.py [FILE ...]`. It prints each place with the phrase and what to write
instead, and exits with 1 if there are any. Without files, it checks the whole project.

Phrases are searched in everything: code, comments, docstrings, messages and Markdown, across line ends. To keep one,
such as a field of a saved state, put `phrase: <why>` into a comment on its line:

    self.tuples = tuples  # phrase: a field of saved states
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
CHECKED = (
    *("src", "docs", "examples", "benchmarks", "fuzz", "scripts", "tests"),
    *("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "catalogue.md"),
    *("Makefile", "mkdocs.yml", "pyproject.toml", ".ci/run"),
)
OWN = ("scripts/phrases.py", "tests/test_phrases.py")
"""Files that are about phrases, and so contain them."""

BREAK = "¶"
"""Stands for an empty line: no phrase continues across one."""

TEXTS = {".py", ".md", ".sh", ".toml", ".yml"}

AMOUNT = r"(?:an?|one|two|three|few|many|more|constant|[0-9]+)"
NOUNS = r"(?:frame|row|group|window|batch|bucket|file|key|column|attribute|value|query|task|chunk|pane|piece)"
COUNTED = r"(?:state|rows?|limits?|values?|numbers?|lines?|entry|entries|files?|names?|types?|bytes|times?|seconds?)"

RULES: dict[str, str] = {
    # "there is no file" and "is no longer" are fine.
    r"(?<!there )\b(?:is|are|was|were) no (?!longer\b|more\b|less\b|fewer\b|better\b|worse\b|different\b)[a-z]+": (
        "'is not a …', or 'expected …, got …'"
    ),
    r"\banew\b": "'again', or a verb with 're-' such as 'recompute'",
    r"\btold\b|\btells\b|(?<!\.)(?<!can )(?<!cannot )(?<!could )\btell\b(?! apart)": "'reports', 'shows' or 'states'",
    r"\bmend(?:s|ed|ing)?\b": "'fix'",
    r"\bstop(?:s|ped)? to [a-z]+": "'stops doing'",
    r"\bof which there\b": "a separate sentence",
    r"\bwants an?\b|\bwants (?:no|one|its)\b": "'expects' or 'requires'",
    r"\b(?:go|goes|went|going) on\b": "'resume' or 'continue'",
    r"\bwhat (?:is|was|were|are) (?:asked|found|kept|told|said|known)\b": "a noun that names it",
    r"\blet it be known\b": "a verb that says what happens",
    r"\bbesides?\b": "'compared with', 'next to' or 'apart from'",
    r"\bthere (?:is|are|was|were) none\b": "what does not exist",
    r"\bkeeps? to\b": "'supports', 'uses only' or 'follows'",
    r"\bcom(?:e|es|ing) into being\b|\bcame into being\b": "'is created'",
    r"\bmust be one such as\b|\bgive one such as\b": "'e.g. …'",
    r"\bwhole numbers?\b": "'integer'",
    r"\blonger than nothing\b": "'greater than zero'",
    rf"\b{AMOUNT} {COUNTED} an? {NOUNS}\b(?! (?:of|in|that|with|is|has|can|was)\b)": "'per', as in 'one row per frame'",
    r"\bO\([^;|]{1,24}\) an? [a-z]+": "'per', as in 'O(1) per value'",
}

VAGUE = {"found", "told", "kept", "asked", "known", "said", "given", "wanted", "tuples"}
VAGUE_PARTS = {"told", "asked", "said", "tuples"}
ADVICE = "name what it holds"


class Finding(NamedTuple):
    """A place with an odd phrase, and what to write instead."""

    file: str
    line: int
    phrase: str
    instead: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.phrase!r}: write {self.instead}"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Check the language of the project.")
    parser.add_argument("files", nargs="*", type=Path, help="the files to check (default: the whole project)")
    chosen = parser.parse_args(arguments).files
    findings = [finding for file in (chosen or project_files()) for finding in check_file(file)]
    for finding in findings:
        print(finding)
    return 1 if findings else 0


def project_files() -> Iterator[Path]:
    """Yield the texts of the project that are checked."""
    skipped = [ROOT / name for name in OWN]
    for place in map(ROOT.joinpath, CHECKED):
        for file in [place] if place.is_file() else sorted(place.rglob("*")):
            is_text = file.is_file() and (file.suffix in TEXTS or file == place)
            if is_text and not any(file.is_relative_to(other) for other in skipped):
                yield file


def check_file(file: Path) -> list[Finding]:
    """All findings in a file, in the order of its lines."""
    text = file.read_text(encoding="utf-8")
    file = file.resolve()
    name = str(file.relative_to(ROOT)) if file.is_relative_to(ROOT) else str(file)
    places = [*odd_phrases(text)]
    if file.suffix == ".py" and name.startswith("src/"):
        places += vague_names(text)
    lines = text.splitlines()
    return [Finding(name, *place) for place in sorted(places) if "phrase: " not in lines[place[0] - 1]]


def odd_phrases(text: str) -> Iterator[tuple[int, str, str]]:
    """Line, phrase and what to write instead, for each odd phrase of a text."""
    words = [(word, line) for line, part in enumerate(prose(text).splitlines(), 1) for word in part.split() or [BREAK]]
    starts = list(accumulate((len(word) + 1 for word, _ in words), initial=0))
    joined = " ".join(word for word, _ in words)
    for pattern, instead in RULES.items():
        for match in re.finditer(pattern, joined, re.IGNORECASE):
            yield words[bisect_right(starts, match.start()) - 1][1], match.group(), instead


def prose(text: str) -> str:
    r"""Remove what separates the lines of a message or comment, so that phrases are found across line ends.

    >>> prose('raise ValueError(\n    "it is "\n    f"no number"\n)')
    'raise ValueError(\n    "it is \n    no number"\n)'
    >>> prose("# That is\n# no number.")
    ' That is\n no number.'
    """
    joined = re.sub(r"""["'][ ]*\n(\s*)[rf]*["']""", r"\n\1", text)
    return re.sub(r"^(\s*)#+", r"\1", joined, flags=re.MULTILINE)


def vague_names(text: str) -> Iterator[tuple[int, str, str]]:
    """Line, name and advice, for each name that a Python file binds and that says nothing."""
    for node in ast.walk(ast.parse(text)):
        for name in bound_names(node):
            bare = name.strip("_").lower()
            if bare in VAGUE or VAGUE_PARTS & set(bare.split("_")):
                yield getattr(node, "lineno", 1), name, ADVICE


def bound_names(node: ast.AST) -> list[str]:
    """Return the names that a node binds: variables, parameters, attributes, functions, classes and aliases."""
    match node:
        case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()) | ast.arg(arg=name):
            return [name]
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return [name]
        case ast.alias(asname=str(name)):
            return [name]
        case _:
            return []


if __name__ == "__main__":
    sys.exit(main())
