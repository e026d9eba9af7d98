"""The format `redis_streams`, under which Spark finds the source and the sink."""

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
    """Redis streams as a Spark data source, for reading and writing."""

    def __init__(self, options: MutableMapping[str, str]) -> None:
        """Check options and server when Spark creates this object: when a query starts, before its first batch."""
        super().__init__(options)
        self._options = RedisOptions.read(options)
        with Server(self._options) as server:
            server.check(self._options.streams)

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return "redis_streams"

    def schema(self) -> StructType:
        """Raise an error: the schema cannot be inferred, because every entry may have different fields."""
        raise SpecError(
            "schema: the fields of a Redis stream have no fixed types, so name those to read, e.g. "
            ".schema('detector string, at timestamp, speed double')"
        )

    def reader(self, schema: StructType) -> TableReader:
        """Return the reader for `spark.read`."""
        return TableReader(schema, self._options)

    def streamReader(self, schema: StructType) -> EntryReader:
        """Return the reader for `spark.readStream`."""
        return EntryReader(schema, self._options)

    def streamWriter(self, schema: StructType, overwrite: bool) -> EntryWriter:
        """Return the writer for `df.writeStream`."""
        refuse_source_options(self.options)
        return EntryWriter(schema, self._options, overwrite)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        """Raise an error for `df.write`, which cannot be made repeatable."""
        raise UnsupportedError("redis_streams can only be written by a streaming query (df.writeStream)")
