"""The options of `redis_streams`, parsed from text and checked before anything is read or written."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from windrow.errors import SpecError, quoted

COMMON = ("url", "stream", "username", "password", "passwordVariable")
SOURCE = ("startingOffsets", "maxEntriesPerTrigger", "entriesPerPartition", "failOnDataLoss", "mode", "epoch")
SINK = ("checkpointLocation",)
"""Spark's own option, which it passes on to the sink."""
MODES = ("error", "null", "drop")
EPOCHS = ("seconds", "milliseconds", "microseconds")
ENTRIES_PER_PARTITION = 20_000
_SCHEMES = ("redis", "rediss", "unix")


@dataclass(frozen=True)
class Login:
    """The user and password, if they are not in the url; never shown."""

    username: str | None = field(default=None, repr=False)
    password: str | None = field(default=None, repr=False)

    @property
    def arguments(self) -> dict[str, str]:
        """The keyword arguments for the Redis client."""
        login = {"username": self.username, "password": self.password}
        return {name: value for name, value in login.items() if value is not None}


@dataclass(frozen=True)
class RedisOptions:
    """The options of a query of `redis_streams`."""

    url: str = field(repr=False)
    streams: tuple[str, ...]
    login: Login = field(default_factory=lambda: Login(), repr=False)
    start: str = "earliest"
    most_entries: int | None = None
    entries_per_partition: int = ENTRIES_PER_PARTITION
    fail_on_loss: bool = True
    mode: str = "error"
    epoch: str | None = None

    @classmethod
    def read(cls, options: Mapping[str, str]) -> RedisOptions:
        """Parse the options as Spark passes them: all values are text, and names may be in any case."""
        texts = {name.lower(): value for name, value in options.items()}
        _refuse_unknown(texts)
        epoch, url = texts.get("epoch"), _url(texts.get("url"))
        return cls(
            url=url,
            streams=_streams(texts.get("stream")),
            login=_login(url, texts.get("username"), texts.get("password"), texts.get("passwordvariable")),
            start=_start(texts.get("startingoffsets", "earliest")),
            most_entries=_number("maxEntriesPerTrigger", texts.get("maxentriespertrigger")),
            entries_per_partition=_number("entriesPerPartition", texts.get("entriesperpartition"))
            or ENTRIES_PER_PARTITION,
            fail_on_loss=_choice("failOnDataLoss", texts.get("failondataloss", "true"), ("true", "false")) == "true",
            mode=_choice("mode", texts.get("mode", "error"), MODES),
            epoch=None if epoch is None else _choice("epoch", epoch, EPOCHS),
        )


def refuse_source_options(options: Mapping[str, str]) -> None:
    """Reject, for a sink, the options of a source."""
    for name in SOURCE:
        if any(name.lower() == key.lower() for key in options):
            raise SpecError(f"{name}: this option is only for reading from redis_streams, but this query writes to it")


def address(url: str) -> str:
    """Return the address of the server, without the user and password that a url may contain."""
    parts = urlsplit(url)
    if parts.scheme == "unix":
        return parts.path
    return f"{parts.hostname or 'localhost'}:{parts.port or 6379}"


def _refuse_unknown(texts: Mapping[str, str]) -> None:
    options = {name.lower() for name in (*COMMON, *SOURCE, *SINK)}
    for name in texts:
        if name not in options:
            listed = ", ".join(map(repr, (*COMMON, *SOURCE)))
            raise SpecError(f"redis_streams has no option {quoted(name)}; available options: {listed}")


def _url(text: str | None) -> str:
    right = "expected an address such as redis://host:6379/0, rediss://host:6379/0 or unix:///path/of/the/socket"
    if not text:
        raise SpecError(f"url: the option is missing; {right}")
    try:
        parts = urlsplit(text)
        valid = parts.scheme in _SCHEMES and address(text)
    except ValueError:
        valid = False
    if not valid:
        before, _, after = text.partition("//")
        shown = f"{before}//…@{after.rpartition('@')[2]}" if "@" in after else text
        raise SpecError(f"url: {right}, got {quoted(shown)}")
    if parts.scheme != "unix" and not re.fullmatch(r"/?[0-9]*", parts.path):
        raise SpecError(f"url: expected the number of a Redis database, got {quoted(parts.path[1:])}; {right}")
    return text


def _login(url: str, username: str | None, password: str | None, variable: str | None) -> Login:
    """Return the user and password, read on the driver. Error messages contain neither."""
    parts = urlsplit(url)
    for option, value, in_url in (("username", username, parts.username), ("password", password, parts.password)):
        if value is not None and in_url:
            raise SpecError(f"{option}: the url contains one too; set it in one place, preferably not in the url")
    if variable is not None:
        if password is not None or parts.password:
            raise SpecError("passwordVariable: a password is set too; set only one of them")
        if not os.environ.get(variable):
            raise SpecError(
                "passwordVariable: expected the name of an environment variable of the driver that holds the "
                f"password, got {quoted(variable)}, which is not set"
            )
        password = os.environ[variable]
    if username is not None and password is None and not parts.password:
        raise SpecError("username: a user needs a password; set the option password or passwordVariable")
    return Login(username, password)


def _streams(text: str | None) -> tuple[str, ...]:
    names = tuple(name.strip() for name in (text or "").split(","))
    if not all(names):
        raise SpecError(
            f"stream: expected the key of a stream, or several such as 'north,south', got {quoted(text or '')}"
        )
    if len(set(names)) < len(names):
        raise SpecError(f"stream: {quoted(text)} contains a stream twice; name each stream once")
    return names


def _start(text: str) -> str:
    if text.lower() in ("earliest", "latest"):
        return text.lower()
    if not re.fullmatch(r"\d{1,19}(-\d{1,19})?", text):
        raise SpecError(
            "startingOffsets: expected 'earliest', 'latest' or the id of the entry after which to start, e.g. "
            f"'1772434800000-0', got {quoted(text)}"
        )
    return text if "-" in text else f"{text}-0"


def _number(name: str, text: str | None) -> int | None:
    if text is None:
        return None
    if not re.fullmatch(r"\d{1,18}", text) or int(text) < 1:
        raise SpecError(f"{name}: expected an integer of at least 1, got {quoted(text)}")
    return int(text)


def _choice(name: str, text: str, choices: tuple[str, ...]) -> str:
    if text.lower() not in choices:
        raise SpecError(f"{name}: expected one of {', '.join(choices)}; got {quoted(text)}")
    return text.lower()
