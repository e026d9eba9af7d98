"""Pictures whose metadata marks them as drawn by Windrow, so that they can be recognised and replaced."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from windrow.outputs.target import Target

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MARK = "Windrow"
PICTURES = {
    ".png": (b"\x89PNG\r\n", {"Software": MARK}),
    ".svg": (b"<?xml", {"Creator": MARK}),
    ".pdf": (b"%PDF", {"Creator": MARK}),
}
"""The first bytes of a picture by suffix, and the metadata that identifies pictures of Windrow."""


def picture_target(path: str | Path, option: str) -> Target:
    """Return a checked target for a picture; an earlier picture of Windrow is replaced."""
    return Target.of(path, why_not_ours, option=option, overwrite=True, suffixes=tuple(PICTURES)).check()


def why_not_ours(path: Path) -> str | None:
    """Recognise a picture of Windrow by its metadata; an empty file may always be replaced."""
    if not path.is_file():
        return "it is a folder" if path.is_dir() else "it is not a regular file"
    begins, metadata = PICTURES[path.suffix.lower()]
    content = path.read_bytes()
    if not content or (content.startswith(begins) and all(text.encode() in content for text in metadata.values())):
        return None
    return f"it is not a {path.suffix.lower()[1:].upper()} picture drawn by {MARK}"


def save_picture(figure: Figure, target: Target) -> None:
    """Write a figure to its target."""
    kind = Path(target.name).suffix.lower()
    with target.writing() as new:
        figure.savefig(new, format=kind[1:], metadata=PICTURES[kind][1])
