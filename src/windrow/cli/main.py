"""The command `windrow`. What each subcommand does is in `commands`; here is what they share: errors and exit codes.

- 0: done
- 1: something unexpected, with a short message; `--debug` shows where
- 2: a wrong option, or input that cannot be used: one line that says what would be right
- 130: interrupted by Ctrl-C (143: by a termination signal; 141: nobody reads the output any more)
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
from windrow.cli.commands import COMMANDS, Commands
from windrow.errors import shortened
from windrow.terminal.log import SparkLog

DONE, UNEXPECTED, BAD_INPUT, BROKEN_PIPE, INTERRUPTED, TERMINATED = 0, 1, 2, 141, 130, 143


class Parser(argparse.ArgumentParser):
    """A parser whose refusals are one line."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong and where to read more."""
        self.exit(BAD_INPUT, f"windrow: error: {shortened(message)} (see {self.prog} --help)\n")


def make_parser(chosen: str | None = None) -> argparse.ArgumentParser:
    """The parser of the command line: all commands, and the arguments of the one that was chosen.

    Only its module is loaded, since those of the commands load Spark and the kernels.
    """
    parser: argparse.ArgumentParser = Parser(
        prog="windrow", description="Segment tables by what the data says and not by the clock.", allow_abbrev=False
    )
    parser.add_argument("--version", action="version", version=f"windrow {__version__}")
    commands: Commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for name, purpose in COMMANDS.items():
        command = commands.add_parser(name, help=purpose, allow_abbrev=False)
        if name == chosen:
            import_module(f"windrow.cli.commands.{name}").declare(command)
            command.add_argument("--debug", action="store_true", help="show a traceback and Spark's log for any error")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line and return its exit code."""
    given = list(sys.argv[1:] if argv is None else argv)
    chosen = next((text for text in given if not text.startswith("-")), None)
    try:
        args = make_parser(chosen).parse_args(given)
    except SystemExit as exit_:
        return int(exit_.code or 0)
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
        # A signal in the midst of a call to Spark breaks the connection, and what cleans up afterwards fails by that.
        if terminated.is_set():
            return _say("terminated", TERMINATED)
        if _is_after_interruption(error):
            return _say("interrupted", INTERRUPTED)
        return _report(error, log, debug=args.debug)
    finally:
        log.remove()


def _is_after_interruption(error: BaseException | None) -> bool:
    """Whether an error came up while Ctrl-C was being handled."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


def silence_stdout() -> None:
    """Nobody reads it any more, and the interpreter would complain about that at its exit."""
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
    """PySpark and py4j log, with whole stacks, what they raise as well; here it is said once, in one line."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(before)


@contextmanager
def _warnings_on_one_line() -> Iterator[None]:
    """Our own warnings, such as rows that were dropped, are for the reader; those of libraries are not."""

    def show(message: Warning | str, category: type[Warning], filename: str, *_: Any, **__: Any) -> None:
        if Path(filename).is_relative_to(Path(__file__).parents[1]):
            _say(f"warning: {message}", DONE)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = show
        yield


class _Terminated(BaseException):
    """The process was asked to end: nothing half-written may stay behind."""


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
