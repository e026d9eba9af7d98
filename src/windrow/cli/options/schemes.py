"""Framing schemes from command-line options, which the schemes themselves declare; validated before Spark starts."""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import fields
from functools import reduce
from operator import and_
from typing import Any, NamedTuple

from windrow.errors import SpecError
from windrow.framing.schemes import SCHEME_REGISTRY, Scheme
from windrow.framing.schemes.rules.limits import LimitedScheme
from windrow.framing.schemes.text import TextOption

OF_EVERY_SCHEME = [item.name for item in fields(Scheme)]
"""The options that every scheme has."""
LIMITS = [item.name for item in fields(LimitedScheme) if item.name not in OF_EVERY_SCHEME]
"""The minimums and maximums."""
_PREFIX = "scheme "
"""argparse stores the options of schemes under this prefix, apart from the options of the command."""


class SchemeGroups(NamedTuple):
    """The groups of a parser that hold the flags of schemes and of their options."""

    parser: argparse.ArgumentParser
    schemes: argparse._ArgumentGroup
    more: argparse._ArgumentGroup


def add_scheme_arguments(parser: argparse.ArgumentParser) -> SchemeGroups:
    """Declare one flag per built-in scheme, and the flags of their options."""
    group = parser.add_argument_group(
        "scheme",
        "How frames start and end; at least one. Frames by several schemes satisfy all of them. "
        "Custom schemes, written in Python, are for wr.Custom only.",
    )
    groups = SchemeGroups(parser, group, parser.add_argument_group("options of one scheme"))
    limits = parser.add_argument_group("limits of frames")
    for name in LIMITS:
        option = LimitedScheme.text_options()[name]
        _add_option(limits, name, option, option.line)
    every = parser.add_argument_group("options of every scheme")
    for name in OF_EVERY_SCHEME:
        option = Scheme.text_options()[name]
        _add_option(every, name, option, option.line)
    for kind in SCHEME_REGISTRY.builtin.values():
        _add_scheme(groups, kind)
    return groups


def add_other_schemes(groups: SchemeGroups) -> None:
    """Declare the schemes from outside the package, after all other arguments of the command.

    Several schemes may have an option of the same name. A scheme with any other flag that is in use is left out with a
    warning.
    """
    written = [kind for kind in SCHEME_REGISTRY.builtin.values() if kind.main_option() is not None]
    shared = {flag(name) for kind in written for name in options_of(kind)}
    for kind in SCHEME_REGISTRY.classes().values():
        if kind in SCHEME_REGISTRY.builtin.values() or kind.main_option() is None:
            continue
        taken = set(groups.parser._option_string_actions)
        own, options = flag(kind.name()), set(map(flag, options_of(kind)))
        clashes = (options & (taken - shared)) | ({own} & (taken | options))
        if clashes:
            listed = ", ".join(sorted(clashes))
            warnings.warn(f"scheme {kind.name()!r} is not available here: already in use: {listed}", stacklevel=1)
        else:
            _add_scheme(groups, kind)
            shared |= options


def _add_scheme(groups: SchemeGroups, kind: type[Scheme]) -> None:
    main = kind.main_option()
    if main is None:
        return
    name = kind.name()
    groups.schemes.add_argument(flag(name), dest=_PREFIX + name, metavar=main.metavar, help=_escaped(main.line))
    for name in options_of(kind):
        if flag(name) not in groups.parser._option_string_actions:
            option = kind.text_options()[name]
            _add_option(groups.more, name, option, f"{kind.name().replace('_', '-')}: {option.line}")


def _add_option(group: argparse._ArgumentGroup, name: str, option: TextOption, line: str) -> None:
    form: dict[str, Any] = {"metavar": option.metavar}
    if option.is_switch:
        form = {"action": "store_true", "default": None}
    group.add_argument(flag(name), dest=_PREFIX + name, help=_escaped(line), **form)


def _escaped(line: str) -> str:
    return line.replace("%", "%%")


def make_scheme(args: argparse.Namespace) -> Scheme:
    """Create the scheme that the options describe: of several schemes, the conjunction.

    Options that several of them have, such as limits, apply to each.
    """
    texts = {name.removeprefix(_PREFIX): text for name, text in vars(args).items() if name.startswith(_PREFIX)}
    texts = {name: text for name, text in texts.items() if text is not None}
    schemes = [kind for kind in SCHEME_REGISTRY.classes().values() if kind.main_option() is not None]
    chosen = [kind for kind in schemes if kind.name() in texts]
    if not chosen:
        flags = ", ".join(flag(kind.name()) for kind in schemes)
        raise SpecError(f"expected at least one scheme: {flags}")
    _check_owners(texts, chosen, schemes)
    return reduce(and_, (_make_one(kind, texts) for kind in chosen))


def _make_one(kind: type[Scheme], texts: Mapping[str, Any]) -> Scheme:
    values = kind.parse_main(texts[kind.name()], flag(kind.name()))
    for name in (*options_of(kind), *OF_EVERY_SCHEME):
        if name in texts:
            values[name] = kind.text_options()[name].parse(texts[name], flag(name))
    return kind(**values)


def _check_owners(names: Iterable[str], chosen: list[type[Scheme]], schemes: list[type[Scheme]]) -> None:
    """Reject options of schemes other than the chosen ones."""
    for name in names:
        owners = [kind for kind in schemes if name in options_of(kind)]
        if owners and not set(chosen) & set(owners):
            flags = " and ".join(flag(owner.name()) for owner in owners)
            used = " and ".join(flag(kind.name()) for kind in chosen)
            raise SpecError(f"{flag(name)} is an option of {flags} and cannot be used with {used}")


def flag(name: str) -> str:
    """Return the flag of an option.

    >>> flag("min_count")
    '--min-count'
    """
    return "--" + name.replace("_", "-")


def options_of(kind: type[Scheme]) -> list[str]:
    """Return the options of a scheme that have a flag and that not every scheme has.

    >>> options_of(SCHEME_REGISTRY.find("delta", "scheme"))
    ['min_count', 'min_duration', 'max_count', 'max_duration', 'extent', 'op', 'reference', 'distance']
    """
    return [name for name in kind.text_options() if name not in (*kind.required(), *OF_EVERY_SCHEME)]
