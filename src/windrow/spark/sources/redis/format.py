"""The format `redis_streams`, by which Spark finds the source and the sink."""

from __future__ import annotations

from collections.abc import MutableMapping

from pyspark.sql.datasource import DataSource, DataSourceWriter
from pyspark.sql.types import StructType

from windrow.errors import SpecError, UnsupportedError
from windrow.spark.sources.redis.options import RedisOptions, refuse_source_options
from windrow.spark.sources.redis.server import Server
from windrow.spark.sources.redis.sink import EntryWriter
from windrow.spark.sources.redis.source import EntryReader, TableReader


class RedisStreams(DataSource):
    """Redis streams, to read and to write."""

    def __init__(self, options: MutableMapping[str, str]) -> None:
        """Check options and server as soon as Spark makes this: when a query starts, before its first batch."""
        super().__init__(options)
        self._asked = RedisOptions.read(options)
        with Server(self._asked) as server:
            server.check(self._asked.streams)

    @classmethod
    def name(cls) -> str:
        """What the format is called."""
        return "redis_streams"

    def schema(self) -> StructType:
        """There is none to be found: every entry may have other fields."""
        raise SpecError(
            "schema: entries of a Redis stream may have any fields, so say which ones to read as what, such as "
            ".schema('detector string, at timestamp, speed double')"
        )

    def reader(self, schema: StructType) -> TableReader:
        """For `spark.read`."""
        return TableReader(schema, self._asked)

    def streamReader(self, schema: StructType) -> EntryReader:
        """For `spark.readStream`."""
        return EntryReader(schema, self._asked)

    def streamWriter(self, schema: StructType, overwrite: bool) -> EntryWriter:
        """For `df.writeStream`."""
        refuse_source_options(self.options)
        return EntryWriter(schema, self._asked, overwrite)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        """For `df.write`, which nothing could make repeatable."""
        raise UnsupportedError(
            "redis_streams is written by streams (df.writeStream), which know what they have written"
        )
