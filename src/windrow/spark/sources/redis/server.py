"""The Redis server as source and sink see it: a few questions, and its errors in Windrow's words."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from windrow.errors import OutputError, SessionError, SourceError, SpecError
from windrow.spark.sources.redis.options import RedisOptions, address

Entries = list[tuple[bytes, dict[bytes, bytes]]]
PAGE = 2_000
"""How many entries Redis is asked for at once: few enough not to keep its other clients waiting."""

_WALK = """
-- The number and the last id of the next entries, counted where they are, so that only these two travel.
local found = redis.call('XRANGE', KEYS[1], ARGV[1], ARGV[2], 'COUNT', ARGV[3])
if #found == 0 then return {0, ''} end
return {#found, found[#found][1]}
"""


def import_redis() -> Any:
    """Redis's own package, which only those need who read or write its streams."""
    try:
        import redis
    except ImportError as error:
        raise SessionError(
            "redis_streams needs the Python package redis, which is not installed; pip install windrow[redis], on the "
            "driver and on the workers"
        ) from error
    return redis


@dataclass(frozen=True)
class Place:
    """A place in a stream: after the entry of this id, up to which so many were added since the stream began."""

    id: str
    added: int


@dataclass(frozen=True)
class Extent:
    """What a stream says of itself in one answer: where it ends, and how many entries it has."""

    end: Place
    length: int

    @property
    def gone(self) -> int:
        """How many entries it had and has no more."""
        return self.end.added - self.length


class Server:
    """A connection to Redis."""

    def __init__(self, options: RedisOptions, failure: type[SourceError] | type[OutputError] = SourceError) -> None:
        self.at, self._failure = address(options.url), failure
        self._encrypted = options.url.startswith("rediss:")
        self._redis = import_redis()
        patience = self._redis.retry.Retry(self._redis.backoff.ExponentialBackoff(cap=1, base=0.1), 3)
        try:
            # What the url itself says of timeouts wins over these.
            self.client = self._redis.Redis.from_url(
                options.url, socket_connect_timeout=5, socket_timeout=60, retry=patience, **options.login.arguments
            )
            self.client.connection_pool.make_connection()  # made but not connected, it refuses what it does not know
        except (ValueError, TypeError) as error:
            raise SpecError(f"url: the address of the Redis server cannot be used: {error}") from error

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let the connection go."""
        self.client.close()

    def check(self, streams: tuple[str, ...]) -> None:
        """Refuse a server that does not answer, and keys that hold anything but a stream."""
        for stream in streams:
            with self.telling(stream):
                kind = self.client.type(stream).decode()
                if kind not in ("stream", "none"):
                    raise self._failure(f"stream: the key {stream!r} in Redis at {self.at} is a {kind}, not a stream")

    def extent(self, stream: str) -> Extent:
        """What is in a stream; a key that does not exist is a stream without entries."""
        with self.telling(stream):
            try:
                info = self.client.xinfo_stream(stream)
            except self._redis.exceptions.ResponseError as error:
                if "no such key" in str(error):
                    return Extent(Place("0-0", 0), 0)
                raise
        if "entries-added" not in info:
            raise self._failure(f"url: the server at {self.at} is too old; redis_streams needs Redis 7 or newer")
        return Extent(Place(info["last-generated-id"].decode(), info["entries-added"]), info["length"])

    def walk(self, stream: str, after: str, upto: str, most: int) -> tuple[str, int]:
        """The last of the next entries, at most so many, and how many they are."""
        count, at = 0, after
        with self.telling(stream):
            while count < most:
                asked = min(PAGE, most - count)
                found, last = self.client.eval(_WALK, 1, stream, f"({at}", upto, asked)
                count, at = count + found, last.decode() or at
                if found < asked:
                    break
        return at, count

    def pages(self, stream: str, after: str, upto: str) -> Iterator[Entries]:
        """The entries after one id, up to another, which is among them."""
        while True:
            with self.telling(stream):
                page: Entries = self.client.xrange(stream, f"({after}", upto, PAGE)
            if page:
                yield page
                after = page[-1][0].decode()
            if len(page) < PAGE:
                return

    @contextmanager
    def telling(self, stream: str) -> Iterator[None]:
        """Say what is wrong in Windrow's words: where the server is, and which stream was meant."""
        errors = self._redis.exceptions
        try:
            yield
        except errors.AuthenticationError as error:
            raise self._failure(
                f"password: Redis at {self.at} refuses the connection: {error}; give the options username and "
                "password, or passwordVariable"
            ) from error
        except (errors.ConnectionError, errors.TimeoutError, ssl.SSLError) as error:
            # A plain server waits for the rest of what it takes for a command, so this may look like a timeout.
            other = (
                "redis:// if that port is not encrypted" if self._encrypted else "rediss:// if that port is encrypted"
            )
            refused = isinstance(error, errors.ConnectionError) and "refused" in str(error).lower()
            hint = "" if refused else f"; write {other} encrypted"
            raise self._failure(f"url: no Redis answers at {self.at}: {error}{hint}") from error
        except errors.RedisError as error:
            raise self._failure(f"stream: Redis at {self.at} refuses to work on {stream!r}: {error}") from error
