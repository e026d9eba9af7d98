"""The Redis server as source and sink use it: a few queries, and its errors as Windrow errors."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from windrow.errors import OutputError, SourceError, SpecError
from windrow.extras import require
from windrow.spark.sources.redis.options import RedisOptions, address

Entries = list[tuple[bytes, dict[bytes, bytes]]]
PAGE = 2_000
"""The number of entries per request to Redis: small enough not to delay its other clients."""

_WALK = """
-- The number and the last id of the next entries, counted where they are, so that only these two travel.
local found = redis.call('XRANGE', KEYS[1], ARGV[1], ARGV[2], 'COUNT', ARGV[3])
if #found == 0 then return {0, ''} end
return {#found, found[#found][1]}
"""


def import_redis() -> Any:
    """Import the package redis, which only `redis_streams` needs."""
    require("redis_streams", "redis", where="on the driver and on the workers")
    import redis

    return redis


@dataclass(frozen=True)
class Place:
    """A place in a stream: after the entry `id`, up to which `added` entries were ever added."""

    id: str
    added: int


@dataclass(frozen=True)
class Extent:
    """The extent of a stream, from one reply: its end, and its number of entries."""

    end: Place
    length: int

    @property
    def gone(self) -> int:
        """The number of entries that have been removed."""
        return self.end.added - self.length


class Server:
    """A connection to Redis."""

    def __init__(self, options: RedisOptions, failure: type[SourceError] | type[OutputError] = SourceError) -> None:
        self.at, self._failure = address(options.url), failure
        self._encrypted = options.url.startswith("rediss:")
        self._redis = import_redis()
        patience = self._redis.retry.Retry(self._redis.backoff.ExponentialBackoff(cap=1, base=0.1), 3)
        try:
            # Timeouts in the url override these.
            self.client = self._redis.Redis.from_url(
                options.url, socket_connect_timeout=5, socket_timeout=60, retry=patience, **options.login.arguments
            )
            self.client.connection_pool.make_connection()  # created but not connected, it rejects unknown arguments
        except (ValueError, TypeError) as error:
            raise SpecError(f"url: the address of the Redis server cannot be used: {error}") from error

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self.client.close()

    def check(self, streams: tuple[str, ...]) -> None:
        """Reject a server that does not respond, and keys that hold anything but a stream."""
        for stream in streams:
            with self.telling(stream):
                kind = self.client.type(stream).decode()
                if kind not in ("stream", "none"):
                    raise self._failure(f"stream: the key {stream!r} in Redis at {self.at} is a {kind}, not a stream")

    def extent(self, stream: str) -> Extent:
        """Return the extent of a stream. A key that does not exist is a stream without entries."""
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
        """Return the id of the last of the next entries, at most `most`, and how many there are."""
        count, at = 0, after
        with self.telling(stream):
            while count < most:
                limit = min(PAGE, most - count)
                walked, last = self.client.eval(_WALK, 1, stream, f"({at}", upto, limit)
                count, at = count + walked, last.decode() or at
                if walked < limit:
                    break
        return at, count

    def pages(self, stream: str, after: str, upto: str) -> Iterator[Entries]:
        """Yield the entries after one id, up to and including another, page by page."""
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
        """Turn errors of Redis into Windrow errors that name the server and the stream."""
        errors = self._redis.exceptions
        try:
            yield
        except errors.AuthenticationError as error:
            raise self._failure(
                f"password: Redis at {self.at} refuses the connection: {error}; set the options username and "
                "password, or passwordVariable"
            ) from error
        except (errors.ConnectionError, errors.TimeoutError, ssl.SSLError) as error:
            # An unencrypted server takes a TLS handshake for an unfinished command, so this may look like a timeout.
            other = (
                "redis:// if that port is not encrypted" if self._encrypted else "rediss:// if that port is encrypted"
            )
            refused = isinstance(error, errors.ConnectionError) and "refused" in str(error).lower()
            hint = "" if refused else f"; write {other} encrypted"
            raise self._failure(f"url: no Redis server answers at {self.at}: {error}{hint}") from error
        except errors.RedisError as error:
            raise self._failure(f"stream: Redis at {self.at} rejects commands on {stream!r}: {error}") from error
