"""The `windrow` command: parsing, errors and exit codes. The subcommands are in `commands`.

- 0: success
- 1: an unexpected error, with a short message; `--debug` shows the traceback
- 2: a wrong option or unusable input, with one line that states the remedy
- 130: interrupted by Ctrl-C (143: by a termination signal; 141: the output was closed)
"""

from __future__ import annotations

import argparse
import logging
import os
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

from windrow import __version__
from windrow.cli.commands import COMMANDS, EXTRAS, IMPORTING, Commands
from windrow.errors import WindrowError, shortened
from windrow.extras import require
from windrow.registry import import_classes
from windrow.terminal.log import SparkLog

DONE, UNEXPECTED, BAD_INPUT, BROKEN_PIPE, INTERRUPTED, TERMINATED = 0, 1, 2, 141, 130, 143


class Parser(argparse.ArgumentParser):
    """An argument parser that reports errors in one line."""

    def error(self, message: str) -> NoReturn:
        """Print what is wrong and where to read more, then exit."""
        self.exit(BAD_INPUT, f"windrow: error: {shortened(message)} (see {self.prog} --help)\n")


def make_parser(chosen: str | None = None, arguments: Sequence[str] = ()) -> argparse.ArgumentParser:
    """Create the parser with all commands and the arguments of the chosen one.

    The schemes of modules that `--import` names among the arguments have options too, so these modules are imported
    first. Only the chosen command's module is imported: these modules import Spark and the kernels.
    """
    parser: argparse.ArgumentParser = Parser(
        prog="windrow", description="Segment tables by what the data says and not by the clock.", allow_abbrev=False
    )
    parser.add_argument("--version", action="version", version=f"windrow {__version__}")
    commands: Commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for name, purpose in COMMANDS.items():
        command = commands.add_parser(name, help=purpose, allow_abbrev=False)
        if name == chosen:
            require(f"windrow {name}", *EXTRAS.get(name, ()))
            module = import_module(f"windrow.cli.commands.{name}")
            if name in IMPORTING:
                import_named_modules(arguments)
            command.add_argument("--debug", action="store_true", help="show a traceback and Spark's log for any error")
            module.declare(command)
    return parser


def import_named_modules(arguments: Sequence[str]) -> None:
    """Import the modules that `--import` names, from the current folder too."""
    parser = Parser(prog="windrow", add_help=False, allow_abbrev=False)
    parser.add_argument("--import", action="append", default=[], dest="modules")
    modules = parser.parse_known_args(arguments)[0].modules
    if modules and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    for module in modules:
        import_classes(module, "--import")


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line and return its exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    chosen = next((text for text in arguments if not text.startswith("-")), None)
    try:
        with _warnings_on_one_line():
            args = make_parser(chosen, arguments).parse_args(arguments)
    except SystemExit as exit_:
        return int(exit_.code or 0)
    except WindrowError as error:
        return _say(f"error: {error}", BAD_INPUT)
    except KeyboardInterrupt:
        return _say("interrupted", INTERRUPTED)
    log, terminated = SparkLog(), threading.Event()
    try:
        with _no_logging(), _warnings_on_one_line(), _termination_as_exit(terminated):
            args.run(args, log)
            sys.stdout.flush()
        return DONE
    except KeyboardInterrupt:
        return _say("interrupted", INTERRUPTED)
    except _Terminated:
        return _say("terminated", TERMINATED)
    except BrokenPipeError:
        silence_stdout()
        return BROKEN_PIPE
    except Exception as error:
        # A signal during a call to Spark breaks the connection, and cleanup then fails because of that.
        if terminated.is_set():
            return _say("terminated", TERMINATED)
        if _is_after_interruption(error):
            return _say("interrupted", INTERRUPTED)
        return _report(error, log, debug=args.debug)
    finally:
        log.remove()


def _is_after_interruption(error: BaseException | None) -> bool:
    """Return whether an error was raised while Ctrl-C was being handled."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


def silence_stdout() -> None:
    """Redirect a closed stdout to the null device, so that the interpreter does not complain at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _report(error: Exception, log: SparkLog, *, debug: bool) -> int:
    from windrow.cli.failures import bad_input, gist

    if debug:
        traceback.print_exc()
        print(log.tail(), file=sys.stderr)
    reason = bad_input(error)
    if reason is not None:
        return _say(f"error: {reason}", BAD_INPUT)
    return _say(f"unexpected error: {gist(error)}{'' if debug else ' (--debug shows more)'}", UNEXPECTED)


def _say(message: str, code: int) -> int:
    print(f"windrow: {shortened(' '.join(message.split()))}", file=sys.stderr)
    return code


@contextmanager
def _no_logging() -> Iterator[None]:
    """Disable logging: PySpark and py4j log the errors that they also raise, with whole stacks."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(before)


@contextmanager
def _warnings_on_one_line() -> Iterator[None]:
    """Print Windrow's own warnings, such as dropped rows, on one line; ignore those of libraries."""

    def show(message: Warning | str, category: type[Warning], filename: str, *_: Any, **__: Any) -> None:
        if Path(filename).is_relative_to(Path(__file__).parents[1]):
            _say(f"warning: {message}", DONE)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = show
        yield


class _Terminated(BaseException):
    """A termination signal, raised so that nothing half-written stays behind."""


@contextmanager
def _termination_as_exit(terminated: threading.Event) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(_: int, __: FrameType | None) -> NoReturn:
        terminated.set()
        raise _Terminated

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


if __name__ == "__main__":
    sys.exit(main())
