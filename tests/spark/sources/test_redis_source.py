"""What the source of `redis_streams` promises to Spark, checked on a Redis server without a Spark session."""

from __future__ import annotations

import pickle
from itertools import chain

import pyarrow as pa
import pytest
from pyspark.sql import types as T
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows

import windrow as wr
from windrow.spark.sources.redis.options import RedisOptions
from windrow.spark.sources.redis.source import EntryReader

SCHEMA = T.StructType().add("n", "long")
ALL = ReadAllAvailable()


@pytest.fixture
def reader(store, redis_url):
    """Makes readers of the stream `s`, or of those that are named."""
    made = []

    def make(schema=SCHEMA, **options):
        given = {"url": redis_url, "stream": "s"} | options
        made.append(EntryReader(schema, RedisOptions.read(given)))
        return made[-1]

    yield make
    for one in made:
        one.stop()


def add(store, numbers, stream="s"):
    for n in numbers:
        store.xadd(stream, {"n": n}, id=f"{n}-0")


def numbers(reader, start, end):
    """What a batch has, task by task."""
    batches = [pa.Table.from_batches(list(reader.read(span))) for span in reader.partitions(start, end)]
    return [table["n"].to_pylist() for table in batches]


def joined(lists):
    return list(chain.from_iterable(lists))


def test_a_batch_can_be_read_again_however_much_was_added_since(store, reader):
    add(store, range(1, 6))
    source = reader()
    start = source.initialOffset()
    end = source.latestOffset(start, ALL)
    add(store, range(6, 9))
    assert numbers(source, start, end) == [[1, 2, 3, 4, 5]]
    assert numbers(source, start, end) == [[1, 2, 3, 4, 5]]
    assert numbers(source, end, source.latestOffset(end, ALL)) == [[6, 7, 8]]


def test_offsets_are_ids_and_counts(store, reader):
    add(store, range(1, 4))
    assert reader().initialOffset() == {"s": {"id": "0-0", "added": 0}}
    assert reader().reportLatestOffset() == {"s": {"id": "3-0", "added": 3}}


def test_nothing_new_is_no_new_offset(store, reader):
    source = reader()
    start = source.initialOffset()
    assert source.latestOffset(start, ALL) == start, "a stream that does not exist yet is empty"
    add(store, [1])
    end = source.latestOffset(start, ALL)
    assert source.latestOffset(end, ALL) == end
    assert source.partitions(end, end) == []


@pytest.mark.parametrize(("start", "found"), [("earliest", [3, 4, 5]), ("latest", []), ("4", [5]), ("99-1", [])])
def test_where_a_query_starts(store, reader, start, found):
    add(store, range(1, 6))
    store.xtrim("s", minid="3-0", approximate=False)
    source = reader(startingOffsets=start)
    begin = source.initialOffset()
    add(store, [6])
    assert joined(numbers(source, begin, source.latestOffset(begin, ALL))) == [*found, 6]


def test_a_batch_has_at_most_as_many_entries_as_was_asked_for(store, reader):
    add(store, range(1, 8))
    source = reader(maxEntriesPerTrigger="3")
    limit, at, found = source.getDefaultReadLimit(), source.initialOffset(), []
    assert limit == ReadMaxRows(3)
    while (end := source.latestOffset(at, limit)) != at:
        found += numbers(source, at, end)
        at = end
    assert found == [[1, 2, 3], [4, 5, 6], [7]]
    assert reader().getDefaultReadLimit() == ALL


def test_the_limit_is_shared_by_all_streams(store, reader):
    add(store, range(1, 21), "a")
    add(store, range(1, 3), "b")
    source = reader(stream="a,b")
    start = source.initialOffset()
    end = source.latestOffset(start, ReadMaxRows(10))
    assert {stream: place["added"] for stream, place in end.items()} == {"a": 8, "b": 2}


def test_large_batches_are_cut_into_pieces(store, reader):
    add(store, range(1, 8))
    source = reader(entriesPerPartition="3")
    start = source.initialOffset()
    assert numbers(source, start, source.latestOffset(start, ALL)) == [[1, 2, 3], [4, 5, 6], [7]]


def test_more_entries_than_a_page_are_read_in_order(store, reader):
    with store.pipeline() as pipe:
        for n in range(1, 5_001):
            pipe.xadd("s", {"n": n}, id=f"1-{n}")
        pipe.execute()
    source = reader()
    start = source.initialOffset()
    assert numbers(source, start, source.latestOffset(start, ALL)) == [list(range(1, 5_001))]
    end = source.latestOffset(start, ReadMaxRows(4_321))
    assert end == {"s": {"id": "1-4321", "added": 4_321}}


def test_a_bounded_run_ends_where_the_stream_ended_when_it_began(store, reader):
    add(store, range(1, 4))
    source = reader()
    start = source.initialOffset()
    source.prepareForTriggerAvailableNow()
    add(store, range(4, 6))
    first = source.latestOffset(start, ReadMaxRows(2))
    last = source.latestOffset(first, ReadMaxRows(2))
    assert numbers(source, start, first) + numbers(source, first, last) == [[1, 2], [3]]
    assert source.latestOffset(last, ReadMaxRows(2)) == last


def test_a_reader_travels_to_the_workers(store, reader):
    add(store, [1])
    source = reader()
    start = source.initialOffset()
    spans = source.partitions(start, source.latestOffset(start, ALL))
    source, spans = pickle.loads(pickle.dumps((reader(), spans)))
    assert [batch["n"].to_pylist() for batch in source.read(spans[0])] == [[1]]


def test_the_columns_about_an_entry(store, reader):
    store.xadd("s", {"n": 1, "_id": "not this"}, id="1772434860123-4")
    schema = T.StructType().add("_id", "string").add("_time", "timestamp").add("_stream", "string").add("gone", "long")
    source = reader(schema)
    start = source.initialOffset()
    (span,) = source.partitions(start, source.latestOffset(start, ALL))
    (batch,) = source.read(span)
    (row,) = batch.to_pylist()
    assert row["_time"].isoformat() == "2026-03-02T07:01:00.123000+00:00"
    assert (row["_id"], row["_stream"], row["gone"]) == ("1772434860123-4", "s", None)


def bad(store, reader, mode="error", nullable=True):
    add(store, [1])
    store.xadd("s", {"n": "two"}, id="2-0")
    source = reader(T.StructType().add("n", "long", nullable), mode=mode)
    start = source.initialOffset()
    return joined(numbers(source, start, source.latestOffset(start, ALL)))


def test_a_value_that_cannot_be_read_is_named(store, reader):
    with pytest.raises(wr.DataError) as caught:
        bad(store, reader)
    assert str(caught.value) == (
        "stream 's', entry 2-0: column 'n': expected an integer from -9223372036854775808 to 9223372036854775807, got "
        "'two'; to accept such values, set the option 'mode' to 'null' or 'drop'"
    )


def test_a_value_that_cannot_be_read_can_be_null_or_dropped(store, reader):
    assert bad(store, reader, "null") == [1, None]
    store.flushall()
    assert bad(store, reader, "drop") == [1]


def test_a_column_that_is_never_null_may_not_be_missing(store, reader):
    store.xadd("s", {"m": 1}, id="1-0")
    source = reader(T.StructType().add("n", "long", False), mode="null")
    start = source.initialOffset()
    with pytest.raises(wr.DataError, match="entry 1-0: column 'n' is missing, but the schema declares it as not null"):
        numbers(source, start, source.latestOffset(start, ALL))


@pytest.mark.parametrize(
    ("columns", "error", "sentence"),
    [
        ({}, wr.SpecError, "schema: expected at least one column"),
        ({"_id": T.LongType()}, wr.TypeMismatchError, "column '_id' is of type bigint; .*; expected string"),
        ({"a": T.ArrayType(T.LongType())}, wr.TypeMismatchError, "'a' is of type array<bigint>; .* from_json"),
    ],
)
def test_a_schema_that_cannot_be_read_is_refused(reader, columns, error, sentence):
    with pytest.raises(error, match=sentence):
        reader(T.StructType([T.StructField(name, kind) for name, kind in columns.items()]))


def lose(store, how):
    if how == "trim":
        store.xtrim("s", minid="4-0", approximate=False)
    elif how == "delete one":
        store.xdel("s", "5-0")
    elif how == "delete the stream":
        store.delete("s")
    else:
        store.delete("s")
        add(store, [1])


def two_read(store, source):
    """A query that has read two entries and is promised four more."""
    add(store, range(1, 7))
    return source.latestOffset(source.initialOffset(), ReadMaxRows(2))


@pytest.mark.parametrize("how", ["trim", "delete one", "delete the stream", "another stream"])
def test_entries_that_are_gone_before_they_were_read_are_an_error(store, reader, how):
    source = reader()
    at = two_read(store, source)
    lose(store, how)
    with pytest.raises(wr.SourceError, match=r"stream 's': .* after 2-0 are gone, trimmed or deleted before"):
        numbers(source, at, source.latestOffset(at, ALL))


@pytest.mark.parametrize("how", ["trim", "delete one", "delete the stream"])
def test_entries_that_an_offset_promised_are_missed_when_it_is_read_again(store, reader, how):
    source = reader()
    at = two_read(store, source)
    end = source.latestOffset(at, ALL)
    lose(store, how)
    with pytest.raises(wr.SourceError, match=r"stream 's': \d of 4 entries after 2-0 are gone"):
        source.partitions(at, end)


def test_entries_that_go_while_a_task_reads_are_missed(store, reader):
    source = reader()
    at = two_read(store, source)
    (span,) = source.partitions(at, source.latestOffset(at, ALL))
    store.xtrim("s", minid="5-0", approximate=False)
    with pytest.raises(wr.SourceError, match="2 of 4 entries after 2-0 are gone"):
        list(source.read(span))


def test_a_stream_trimmed_faster_than_limited_batches_is_noticed_at_once(store, reader):
    source = reader()
    at = two_read(store, source)
    store.xtrim("s", minid="4-0", approximate=False)
    with pytest.raises(wr.SourceError, match="at least 1 of the entries after 2-0 are gone"):
        source.latestOffset(at, ReadMaxRows(1))


@pytest.mark.parametrize(("how", "left"), [("trim", [4, 5, 6]), ("delete one", [3, 4, 6]), ("delete the stream", [])])
def test_what_is_left_can_be_read_if_loss_is_allowed(store, reader, how, left):
    source = reader(failOnDataLoss="false")
    at = two_read(store, source)
    lose(store, how)
    end = source.latestOffset(at, ALL)
    assert joined(numbers(source, at, end)) == left
    assert source.latestOffset(end, ALL) == end


def test_entries_may_be_trimmed_when_they_were_read(store, reader):
    source = reader()
    at = two_read(store, source)
    store.xtrim("s", minid="3-0", approximate=False)
    assert numbers(source, at, source.latestOffset(at, ALL)) == [[3, 4, 5, 6]]


def test_a_checkpoint_of_other_streams_is_refused(store, reader):
    start = reader(stream="a,b").initialOffset()
    with pytest.raises(wr.SpecError, match="stream: the checkpoint was written for 'a', 'b', but this query reads 's'"):
        reader().latestOffset(start, ALL)


def test_a_server_with_a_password_is_read_with_the_options(store, redis_url):
    store.execute_command("ACL", "SETUSER", "reader", "on", ">s3cret", "~*", "+@all")
    add(store, [1, 2])
    given = {"url": redis_url, "stream": "s", "username": "reader"}
    source = EntryReader(SCHEMA, RedisOptions.read(given | {"password": "s3cret"}))
    start = source.initialOffset()
    assert numbers(source, start, source.latestOffset(start, ALL)) == [[1, 2]]
    source.stop()
    wrong = EntryReader(SCHEMA, RedisOptions.read(given | {"password": "wr0ng"}))
    with pytest.raises(wr.SourceError, match=r"password: Redis at 127\.0\.0\.1.* refuses the connection") as caught:
        wrong.initialOffset()
    assert "wr0ng" not in str(caught.value)
    store.execute_command("ACL", "DELUSER", "reader")


def test_an_encrypted_url_to_a_plain_port_says_what_to_write(redis_url):
    url = redis_url.replace("redis://", "rediss://") + "?socket_connect_timeout=0.2&socket_timeout=0.2"
    asked = RedisOptions.read({"url": url, "stream": "s"})
    with pytest.raises(
        wr.SourceError, match=r"url: no Redis server answers at 127\.0\.0\.1.*; write redis:// if that port"
    ):
        EntryReader(SCHEMA, asked).initialOffset()
