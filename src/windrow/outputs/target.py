"""Checked destinations for outputs, and safe replacement of earlier outputs.

A result is written to a folder next to its destination and moved there when it is complete. If the process is killed at
any moment, the following holds:

- A file is either the old or the new one.
- So is a folder, if the system can exchange two folders in one step (Linux, on all common file systems). Otherwise
  there is an instant without either; the next command that writes there first puts the old one back.
- Incomplete output remains in a hidden folder, `.NAME-*.tmp`. The next command that writes there removes it.

If something appears at the destination while a command runs, it is replaced only if `--overwrite` allows it and the
command could have written it. A new output has the permissions of the one that it replaces.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import time
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from windrow.errors import OutputError, WindrowError
from windrow.outputs.apart import check_apart, local_path
from windrow.outputs.exchange import exchange
from windrow.outputs.own import Recogniser

try:
    import fcntl
except ImportError:  # Windows has no such lock: there, the leftovers of a killed command stay
    fcntl = None  # type: ignore[assignment]

REPLACED = "replaced"
SECONDS_TO_LOCK = 60
"""A folder younger than this may belong to a command that has not locked it yet."""
LOOKS = 50
"""How often to inspect an output that other commands keep replacing."""


@dataclass(frozen=True)
class Target:
    """The destination of an output. `path` has no symbolic links; messages use the name that the user gave."""

    option: str
    name: str
    path: Path
    own: Recogniser
    overwrite: bool

    @classmethod
    def of(
        cls,
        name: str | Path,
        own: Recogniser,
        *,
        option: str = "--out",
        overwrite: bool = False,
        suffixes: Sequence[str] = (),
        inputs: Iterable[str | Path] = (),
    ) -> Target:
        """Check the name and folder of a destination, and that it overlaps no input; `check` covers existing files."""
        text = str(name)
        # A hidden file such as .png has no suffix.
        is_valid = not suffixes or (text.lower().endswith(tuple(suffixes)) and Path(text).suffix)
        if not text or "\0" in text or not is_valid:
            expected = f"a name that ends in {' or '.join(suffixes)}" if suffixes else "a path"
            raise OutputError(f"{option}: expected {expected}, got {text!r}")
        local = local_path(text)
        if local is None:
            raise OutputError(f"{option}: expected a path on this machine, got {text!r}")
        try:
            path = local.resolve()
            with suppress(FileNotFoundError, NotADirectoryError):
                path.lstat()
            check_apart(option, text, path, inputs)
            if not path.parent.is_dir():
                raise OutputError(f"{option}: {text}: there is no folder {path.parent}")
        except (OSError, RuntimeError) as error:
            if isinstance(error, WindrowError):
                raise
            raise OutputError(f"{option}: {text}: cannot be used: {_reason(error)}") from None
        return cls(option, text, path, own, overwrite)

    def check(self) -> Target:
        """Reject a destination that exists; with `overwrite`, only one that the command cannot have written."""
        _recover(self.path)
        if not self.exists:
            return self
        if not self.overwrite:
            raise OutputError(f"{self.option}: {self.name} already exists; use --overwrite to replace it")
        self._check_own(self.path)
        return self

    @property
    def exists(self) -> bool:
        """Whether anything exists at the destination."""
        return os.path.lexists(self.path)

    @contextmanager
    def writing(self) -> Iterator[Path]:
        """Yield a path to write a file or folder to; it is moved to the destination on success, else discarded."""
        try:
            _recover(self.path)
            with _workspace(self.path) as folder:
                new = folder / "new" / self.path.name
                new.parent.mkdir()
                yield new
                self._put(new, folder / REPLACED)
        except OSError as error:
            if isinstance(error, WindrowError | ConnectionError):
                raise
            raise OutputError(f"{self.option}: {self.name}: cannot be written: {_reason(error)}") from None

    def _put(self, new: Path, aside: Path) -> None:
        if _put_new(new, self.path):
            return
        if not self.overwrite:
            raise OutputError(f"{self.option}: {self.name} was created while this command ran; it was not overwritten")
        self._check_own(self.path)
        with suppress(OSError):
            new.chmod(stat.S_IMODE(self.path.stat().st_mode))
        if not new.is_dir():
            new.replace(self.path)
        elif exchange(new, self.path):
            self._check_replaced(new)
        else:
            _replace_in_two_steps(new, self.path, aside)

    def _check_own(self, path: Path) -> None:
        why = self._why_not_own(path)
        if why:
            raise OutputError(
                f"{self.option}: {self.name} was not replaced because this command cannot have written it: {why}; "
                "choose another path"
            )

    def _why_not_own(self, path: Path) -> str | None:
        """Return why the command cannot have written a path; try again if another command replaced it meanwhile."""
        for _ in range(LOOKS):
            with suppress(FileNotFoundError):
                return self.own(path)
            time.sleep(0.01)
        return "other commands keep replacing it"

    def _check_replaced(self, old: Path) -> None:
        """Restore a folder to which something was added at the last moment."""
        try:
            self._check_own(old)
        except OutputError:
            exchange(old, self.path)
            raise


def _put_new(new: Path, path: Path) -> bool:
    """Move a file or folder to a path that does not exist; return False if it does."""
    try:
        if new.is_dir():
            # An empty folder may be replaced; anything else is in the way.
            new.rename(path)
        else:
            os.link(new, path)
    except (FileExistsError, NotADirectoryError):
        return False
    except OSError:
        if os.path.lexists(path):
            return False
        if new.is_dir():
            raise
        # On a file system without links, an empty file takes the name first.
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        new.replace(path)
    return True


def _replace_in_two_steps(new: Path, path: Path, aside: Path) -> None:
    path.rename(aside)
    try:
        new.rename(path)
    except BaseException:
        if not os.path.lexists(path):
            aside.rename(path)
        raise


@contextmanager
def _workspace(path: Path) -> Iterator[Path]:
    """Create a folder on the same file system; it is locked while in use and removed afterwards."""
    folder = path.parent / f"{_prefix(path)}{uuid.uuid4().hex[:8]}.tmp"
    folder.mkdir()
    lock = _lock(folder)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if lock is not None:
            os.close(lock)


def _prefix(path: Path) -> str:
    """Return the prefix of the temporary folders for this path; it includes a hash, since long names are cut."""
    return f".{path.name[:40]}-{hashlib.blake2b(os.fsencode(path.name), digest_size=4).hexdigest()}-"


def _lock(folder: Path) -> int | None:
    """Lock a folder; return None if another process holds the lock, or if the system has no locks."""
    if fcntl is not None:
        handle = os.open(folder, os.O_RDONLY)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return handle
        except OSError:
            os.close(handle)
    return None


def _recover(path: Path) -> None:
    """Put back what a killed command had moved aside, and remove its leftovers."""
    with suppress(OSError):
        for folder in path.parent.iterdir():
            if folder.name.startswith(_prefix(path)) and folder.name.endswith(".tmp") and folder.is_dir():
                _recover_from(folder, path)


def _recover_from(folder: Path, path: Path) -> None:
    lock = _lock(folder)
    if lock is None:
        return
    try:
        if (folder / REPLACED).exists() and not os.path.lexists(path):
            (folder / REPLACED).rename(path)
        elif time.time() - folder.stat().st_mtime < SECONDS_TO_LOCK and not any(folder.iterdir()):
            return
        shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(lock)


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)
