"""The options of `redis_streams`, read from text and checked before anything is read or written."""

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
"""Spark's own option, which it hands on to the sink."""
MODES = ("error", "null", "drop")
EPOCHS = ("seconds", "milliseconds", "microseconds")
ENTRIES_A_PARTITION = 20_000
_SCHEMES = ("redis", "rediss", "unix")


@dataclass(frozen=True)
class Login:
    """Who connects, apart from the url; never shown."""

    username: str | None = field(default=None, repr=False)
    password: str | None = field(default=None, repr=False)

    @property
    def arguments(self) -> dict[str, str]:
        """What the client of Redis takes."""
        given = {"username": self.username, "password": self.password}
        return {name: value for name, value in given.items() if value is not None}


@dataclass(frozen=True)
class RedisOptions:
    """What a user asked of `redis_streams`."""

    url: str = field(repr=False)
    streams: tuple[str, ...]
    login: Login = field(default_factory=lambda: Login(), repr=False)
    start: str = "earliest"
    most_entries: int | None = None
    entries_a_partition: int = ENTRIES_A_PARTITION
    fail_on_loss: bool = True
    mode: str = "error"
    epoch: str | None = None

    @classmethod
    def read(cls, given: Mapping[str, str]) -> RedisOptions:
        """The options as Spark hands them over, all of them text and their names in any case."""
        texts = {name.lower(): value for name, value in given.items()}
        _refuse_unknown(texts)
        epoch, url = texts.get("epoch"), _url(texts.get("url"))
        return cls(
            url=url,
            streams=_streams(texts.get("stream")),
            login=_login(url, texts.get("username"), texts.get("password"), texts.get("passwordvariable")),
            start=_start(texts.get("startingoffsets", "earliest")),
            most_entries=_number("maxEntriesPerTrigger", texts.get("maxentriespertrigger")),
            entries_a_partition=_number("entriesPerPartition", texts.get("entriesperpartition")) or ENTRIES_A_PARTITION,
            fail_on_loss=_choice("failOnDataLoss", texts.get("failondataloss", "true"), ("true", "false")) == "true",
            mode=_choice("mode", texts.get("mode", "error"), MODES),
            epoch=None if epoch is None else _choice("epoch", epoch, EPOCHS),
        )


def refuse_source_options(given: Mapping[str, str]) -> None:
    """Refuse, for a sink, what only a source can do."""
    for name in SOURCE:
        if any(name.lower() == key.lower() for key in given):
            raise SpecError(f"{name}: the option is for reading from redis_streams, and this query writes to it")


def address(url: str) -> str:
    """Where the server is, without what a url may hold of names and passwords."""
    parts = urlsplit(url)
    if parts.scheme == "unix":
        return parts.path
    return f"{parts.hostname or 'localhost'}:{parts.port or 6379}"


def _refuse_unknown(texts: Mapping[str, str]) -> None:
    known = {name.lower() for name in (*COMMON, *SOURCE, *SINK)}
    for name in texts:
        if name not in known:
            listed = ", ".join(map(repr, (*COMMON, *SOURCE)))
            raise SpecError(f"redis_streams has no option {quoted(name)}; its options are {listed}")


def _url(text: str | None) -> str:
    right = "it must look like redis://host:6379/0, rediss://host:6379/0 or unix:///path/of/the/socket"
    if not text:
        raise SpecError(f"url: redis_streams needs to know where Redis is; {right}")
    try:
        parts = urlsplit(text)
        known = parts.scheme in _SCHEMES and address(text)
    except ValueError:
        known = False
    if not known:
        before, _, after = text.partition("//")
        shown = f"{before}//…@{after.rpartition('@')[2]}" if "@" in after else text
        raise SpecError(f"url: {quoted(shown)} is no address of a Redis server; {right}")
    if parts.scheme != "unix" and not re.fullmatch(r"/?[0-9]*", parts.path):
        raise SpecError(f"url: {quoted(parts.path[1:])} is no number of a database of Redis; {right}")
    return text


def _login(url: str, username: str | None, password: str | None, variable: str | None) -> Login:
    """The user and the password, read on the driver; what is wrong is said without either."""
    parts = urlsplit(url)
    for option, value, told in (("username", username, parts.username), ("password", password, parts.password)):
        if value is not None and told:
            raise SpecError(f"{option}: the url has one too; give it in one place, and best not in the url")
    if variable is not None:
        if password is not None or parts.password:
            raise SpecError("passwordVariable: there is a password too; give one of them")
        if not os.environ.get(variable):
            raise SpecError(
                "passwordVariable: expected the name of an environment variable of the driver that holds the "
                f"password, got {quoted(variable)}, which is not set"
            )
        password = os.environ[variable]
    if username is not None and password is None and not parts.password:
        raise SpecError(
            "username: Redis takes no user without a password; give the option password or passwordVariable"
        )
    return Login(username, password)


def _streams(text: str | None) -> tuple[str, ...]:
    names = tuple(name.strip() for name in (text or "").split(","))
    if not all(names):
        raise SpecError(
            f"stream: {quoted(text or '')} names no stream; give the key of one, or of several as 'north,south'"
        )
    if len(set(names)) < len(names):
        raise SpecError(f"stream: {quoted(text)} names a stream twice; name each once")
    return names


def _start(text: str) -> str:
    if text.lower() in ("earliest", "latest"):
        return text.lower()
    if not re.fullmatch(r"\d{1,19}(-\d{1,19})?", text):
        raise SpecError(
            f"startingOffsets: {quoted(text)} is no place to start; it must be 'earliest', 'latest' or the id of an "
            "entry, such as '1772434800000-0', after which to start"
        )
    return text if "-" in text else f"{text}-0"


def _number(name: str, text: str | None) -> int | None:
    if text is None:
        return None
    if not re.fullmatch(r"\d{1,18}", text) or int(text) < 1:
        raise SpecError(f"{name}: {quoted(text)} is no number of entries; it must be a whole number of at least 1")
    return int(text)


def _choice(name: str, text: str, choices: tuple[str, ...]) -> str:
    if text.lower() not in choices:
        raise SpecError(f"{name}: {quoted(text)} is not known; it must be one of {', '.join(choices)}")
    return text.lower()
