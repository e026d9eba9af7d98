"""What the sink of `redis_streams` promises, and how the server is met, checked on Redis without a Spark session."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyspark.sql import types as T

import windrow as wr
from redis_server import free_port
from windrow.spark.sources.redis import sink
from windrow.spark.sources.redis.format import RedisStreams
from windrow.spark.sources.redis.options import RedisOptions
from windrow.spark.sources.redis.sink import EntryWriter

SCHEMA = T.StructType().add("n", "long")


@pytest.fixture
def writer(store, redis_url, monkeypatch):
    """Makes writers to the stream `out`, as the query `q`."""
    monkeypatch.setattr(sink, "query_of_task", lambda: "q")

    def make(schema=SCHEMA, overwrite=False, stream="out"):
        return EntryWriter(schema, RedisOptions.read({"url": redis_url, "stream": stream}), overwrite)

    return make


def rows(*values):
    return iter([pa.record_batch([pa.array(values, pa.int64())], names=["n"])])


def written(store):
    return [int(fields["n"]) for _, fields in store.xrange("out")]


def test_rows_are_appended_in_the_order_of_the_tasks_when_all_are_done(store, writer):
    asides = [writer().write(rows(1, 2)), writer().write(rows()), writer().write(rows(3))]
    assert written(store) == []
    writer().commit(asides, 0)
    assert written(store) == [1, 2, 3]
    assert sorted(store.keys()) == ["out", "windrow:out:q:batch"]


def test_a_batch_that_comes_again_is_appended_once(store, writer):
    for batch, values in [(0, (1, 2)), (0, (1, 2)), (1, (3,)), (0, (1, 2)), (1, (3,)), (3, (4,))]:
        writer().commit([writer().write(rows(*values))], batch)
    assert written(store) == [1, 2, 3, 4]
    assert store.keys("*aside*") == []


def test_a_commit_that_is_sent_twice_appends_once(store, writer):
    asides = [writer().write(rows(1, 2))]
    writer().commit(asides, 0)
    writer().commit(asides, 0)
    assert written(store) == [1, 2]


def test_attempts_that_were_given_up_leave_nothing(store, writer):
    writer().write(rows(1))
    writer().write(rows(1))
    assert len(store.keys("*aside:*")) == 2
    assert all(0 < store.ttl(key) <= 24 * 3600 for key in store.keys("*aside:*"))
    writer().commit([writer().write(rows(1))], 0)
    assert written(store) == [1]
    assert store.keys("*aside*") == []


def test_an_aborted_batch_leaves_nothing_and_can_come_again(store, writer):
    writer().abort([writer().write(rows(1)), None], 0)
    assert store.keys("*aside:*") == []
    writer().commit([writer().write(rows(1))], 0)
    assert written(store) == [1]


def test_rows_that_redis_has_lost_are_missed_and_nothing_is_appended(store, writer):
    asides = [writer().write(rows(1)), writer().write(rows(2, 3))]
    store.delete(asides[1].key)
    with pytest.raises(wr.OutputError, match=r"stream 'out': rows of batch 0 that were stored under .* disappeared"):
        writer().commit(asides, 0)
    assert written(store) == []


def test_another_query_has_batches_of_its_own(store, writer, monkeypatch):
    writer().commit([writer().write(rows(1))], 0)
    monkeypatch.setattr(sink, "query_of_task", lambda: "another")
    writer().commit([writer().write(rows(2))], 0)
    assert written(store) == [1, 2]


def test_a_target_that_became_something_else_is_left_alone(store, writer):
    asides = [writer().write(rows(1))]
    store.rpush("out", "mine")
    with pytest.raises(wr.OutputError, match="rejects commands on 'out': the key is a list, not a stream"):
        writer().commit(asides, 0)
    assert store.lrange("out", 0, -1) == ["mine"]


def test_many_rows_and_pages_are_appended(store, writer):
    writer().commit([writer().write(rows(*range(4_500)))], 0)
    assert written(store) == list(range(4_500))


def test_nulls_are_left_out(store, writer):
    schema = T.StructType().add("a", "long").add("b", "string")
    batch = pa.record_batch([pa.array([1, None]), pa.array([None, "x"])], names=["a", "b"])
    writer(schema).commit([writer(schema).write(iter([batch]))], 0)
    assert [fields for _, fields in store.xrange("out")] == [{"a": "1"}, {"b": "x"}]


def test_a_row_without_values_is_refused(writer):
    with pytest.raises(wr.DataError, match="a row is null in every column"):
        writer().write(rows(None))


ARRAY = T.StructType().add("a", T.ArrayType(T.LongType()))
WIDE = T.StructType([T.StructField(f"c{i}", T.LongType()) for i in range(2_001)])


@pytest.mark.parametrize(
    ("asked", "error", "sentence"),
    [
        (dict(overwrite=True), wr.UnsupportedError, "outputMode: 'complete' .* supports only 'append'"),
        (dict(stream="a,b"), wr.SpecError, "stream: expected one stream to write to, got a, b"),
        (dict(schema=ARRAY), wr.TypeMismatchError, "'a' is of type array<bigint>; .* to_json"),
        (dict(schema=WIDE), wr.SpecError, "schema: 2001 columns are too many for an entry; at most 2000 fit"),
    ],
)
def test_what_cannot_be_written_is_refused(writer, asked, error, sentence):
    with pytest.raises(error, match=sentence):
        writer(**asked)


def test_a_task_outside_of_a_query_is_refused(store, redis_url):
    outside = EntryWriter(SCHEMA, RedisOptions.read({"url": redis_url, "stream": "out"}), False)
    with pytest.raises(wr.SessionError, match=r"does not pass 'sql.streaming.queryId'"):
        outside.write(rows(1))


def test_a_server_that_is_away_is_an_error_at_once():
    port = free_port()
    with pytest.raises(wr.SourceError, match=f"url: no Redis server answers at 127.0.0.1:{port}: "):
        RedisStreams({"url": f"redis://me:secret@127.0.0.1:{port}", "stream": "s"})


def test_a_key_of_another_type_is_an_error_at_once(store, redis_url):
    store.rpush("s", "1")
    with pytest.raises(wr.SourceError, match=r"stream: the key 's' in Redis at 127.0.0.1:\d+ is a list, not a"):
        RedisStreams({"url": redis_url, "stream": "s"})


def test_a_password_that_is_wrong_is_an_error_at_once(store, redis_url):
    with pytest.raises(wr.SourceError, match=r"password: Redis at 127.0.0.1:\d+ refuses the connection: ") as caught:
        RedisStreams({"url": redis_url.replace("//", "//me:secret@"), "stream": "s"})
    assert "secret" not in str(caught.value)


def test_what_a_url_cannot_say_is_refused(redis_url):
    with pytest.raises(wr.SpecError, match=r"url: the address of the Redis server cannot be used: .*colour"):
        RedisStreams({"url": f"{redis_url}?colour=red", "stream": "s"})


def test_a_schema_is_needed_to_read(store, redis_url):
    with pytest.raises(wr.SpecError, match="schema: the fields of a Redis stream have no fixed types, so name"):
        RedisStreams({"url": redis_url, "stream": "s"}).schema()
