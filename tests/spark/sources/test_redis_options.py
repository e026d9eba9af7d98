"""Options of `redis_streams`, and how values are read from fields and written into them."""

from __future__ import annotations

import datetime
import math
import sys
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import types as T

import windrow as wr
from windrow.spark.sources.redis.options import RedisOptions, address, refuse_source_options
from windrow.spark.sources.redis.rows import RowReader
from windrow.spark.sources.redis.server import import_redis
from windrow.spark.sources.redis.source import fair_shares, id_key
from windrow.spark.sources.redis.values import reading_of, time_of, writing_of

NEEDED = {"url": "redis://127.0.0.1:6379", "stream": "readings"}
UTC = datetime.UTC


def test_names_of_options_are_taken_in_any_case():
    given = NEEDED | {"stream": "north, south", "MAXENTRIESPERTRIGGER": "10", "startingOffsets": "5", "Mode": "DROP"}
    asked = RedisOptions.read(given)
    assert asked.streams == ("north", "south")
    assert (asked.most_entries, asked.start, asked.mode, asked.fail_on_loss) == (10, "5-0", "drop", True)


ADDRESS = "url: expected an address such as redis://host:6379/0, rediss://host:6379/0 or unix:///path/of/the/socket"


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        (
            {"strem": "a"},
            "redis_streams has no option 'strem'; available options: 'url', 'stream', 'username'",
        ),
        ({"url": ""}, "url: the option is missing; expected an address such as redis://host:6379/0"),
        ({"url": "127.0.0.1"}, f"{ADDRESS}, got '127.0.0.1'"),
        ({"url": "redis://host:many"}, f"{ADDRESS}, got 'redis://host:many'"),
        ({"url": "http://me:secret@host"}, f"{ADDRESS}, got 'http://…@host'"),
        ({"stream": ""}, "stream: expected the key of a stream, or several such as 'north,south', got ''"),
        ({"stream": "a,,b"}, "stream: expected the key of a stream, or several such as 'north,south', got 'a,,b'"),
        ({"stream": "a,a"}, "stream: 'a,a' contains a stream twice"),
        ({"startingOffsets": "now"}, "startingOffsets: expected 'earliest', 'latest' or the id of the entry"),
        ({"maxEntriesPerTrigger": "0"}, "maxEntriesPerTrigger: expected an integer of at least 1, got '0'"),
        ({"entriesPerPartition": "few"}, "entriesPerPartition: expected an integer of at least 1, got 'few'"),
        ({"failOnDataLoss": "maybe"}, "failOnDataLoss: expected one of true, false; got 'maybe'"),
        ({"mode": "permissive"}, "mode: expected one of error, null, drop; got 'permissive'"),
        ({"epoch": "days"}, "epoch: expected one of seconds, milliseconds, microseconds; got 'days'"),
    ],
)
def test_a_wrong_option_is_refused_with_what_would_be_right(changed, sentence):
    with pytest.raises(wr.SpecError) as caught:
        RedisOptions.read(NEEDED | changed)
    assert str(caught.value).startswith(sentence)
    assert "secret" not in str(caught.value)


def test_a_missing_stream_is_refused():
    with pytest.raises(wr.SpecError, match=r"stream: expected the key of a stream, or several .*, got ''"):
        RedisOptions.read({"url": NEEDED["url"]})


def test_a_sink_refuses_options_of_the_source():
    with pytest.raises(wr.SpecError, match="mode: this option is only for reading from redis_streams"):
        refuse_source_options(NEEDED | {"mode": "drop"})


def test_an_address_keeps_no_secrets():
    assert address("rediss://me:secret@host:7000/2") == "host:7000"
    assert address("redis://") == "localhost:6379"
    assert address("unix://me:secret@/run/redis.sock") == "/run/redis.sock"


def test_without_the_package_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "redis", None)
    with pytest.raises(
        wr.SessionError, match=r"^redis_streams requires redis on the driver and on the workers; .*'windrow\[redis\]'$"
    ):
        import_redis()


def test_only_a_session_can_be_given_a_format():
    with pytest.raises(wr.SpecError, match="spark: expected a Spark session, got 'spark'"):
        wr.register_redis("spark")


ZONES = st.sampled_from([UTC, datetime.timezone(datetime.timedelta(hours=-5, minutes=-30))])
INSTANTS = st.datetimes(datetime.datetime(1, 1, 2), datetime.datetime(9999, 12, 30))
VALUES = {
    T.StringType(): st.text(st.characters(exclude_categories=["Cs"])),
    T.BinaryType(): st.binary(),
    T.ByteType(): st.integers(-128, 127),
    T.ShortType(): st.integers(-(2**15), 2**15 - 1),
    T.IntegerType(): st.integers(-(2**31), 2**31 - 1),
    T.LongType(): st.integers(-(2**63), 2**63 - 1),
    T.FloatType(): st.floats(width=32),
    T.DoubleType(): st.floats(),
    T.DecimalType(38, 9): st.decimals(-(10**29) + 1, 10**29 - 1, places=9),
    T.BooleanType(): st.booleans(),
    T.DateType(): st.dates(),
    T.TimestampType(): st.builds(lambda value, zone: value.replace(tzinfo=zone), INSTANTS, ZONES),
    T.TimestampNTZType(): INSTANTS,
}


@pytest.mark.parametrize("kind", VALUES, ids=lambda kind: kind.simpleString())
def test_what_is_written_is_read_back(kind):
    write, reading = writing_of(kind), reading_of(kind, None)

    @given(VALUES[kind])
    def check(value):
        text = write(value)
        found = reading.parse(text if isinstance(text, bytes) else text.encode())
        assert found == value or (isinstance(value, float) and math.isnan(value) and math.isnan(found))
        assert type(found) is type(value)

    check()


@pytest.mark.parametrize(
    ("kind", "epoch", "text", "value"),
    [
        (T.TimestampType(), None, "2026-03-02 07:01:00", datetime.datetime(2026, 3, 2, 7, 1, tzinfo=UTC)),
        (T.TimestampType(), None, "2026-03-02T07:01:00+02:00", datetime.datetime(2026, 3, 2, 5, 1, tzinfo=UTC)),
        (T.TimestampType(), None, "2026-03-02", datetime.datetime(2026, 3, 2, tzinfo=UTC)),
        (T.TimestampType(), "seconds", "1.5", datetime.datetime(1970, 1, 1, 0, 0, 1, 500_000, UTC)),
        (T.TimestampType(), "milliseconds", "-1", datetime.datetime(1969, 12, 31, 23, 59, 59, 999_000, UTC)),
        (T.TimestampType(), "microseconds", "2026-03-02", datetime.datetime(2026, 3, 2, tzinfo=UTC)),
        (T.TimestampNTZType(), "microseconds", "7", datetime.datetime(1970, 1, 1, 0, 0, 0, 7)),
        (T.BooleanType(), None, "TRUE", True),
        (T.BooleanType(), None, "0", False),
        (T.DoubleType(), None, "-Infinity", -math.inf),
        (T.DoubleType(), None, "1e3", 1000.0),
        (T.DecimalType(4, 2), None, "1.5e1", Decimal("15.00")),
        (T.LongType(), None, "+12", 12),
    ],
)
def test_what_others_write_is_read(kind, epoch, text, value):
    assert reading_of(kind, epoch).parse(text.encode()) == value


@pytest.mark.parametrize(
    ("kind", "texts"),
    [
        (T.ByteType(), ["128", "-129", "1.0", "", "one", "1_0", " 1"]),
        (T.LongType(), [str(2**63), "1e3"]),
        (T.DoubleType(), ["", "fast", "1_000", "0x10", "1,5"]),
        (T.DecimalType(4, 2), ["100.00", "1.234", "nan", "inf", "", "1e400"]),
        (T.BooleanType(), ["yes", "", "2"]),
        (T.DateType(), ["02.03.2026", "2026-02-30", "2026-03-02T07:00:00"]),
        (T.TimestampType(), ["1772434800", "07:01", "2026-03-02T25:00:00Z", "2026-W10-1"]),
        (T.TimestampNTZType(), ["2026-03-02T07:01:00Z", "2026-03-02T07:01:00+01:00"]),
        (T.StringType(), [b"\xff"]),
    ],
    ids=str,
)
def test_what_cannot_be_meant_is_not_guessed(kind, texts):
    for text in texts:
        with pytest.raises(ValueError):  # noqa: PT011 - the sentence is the caller's, who knows the column
            reading_of(kind, None).parse(text if isinstance(text, bytes) else text.encode())


def test_a_number_that_is_no_instant_is_refused_with_an_epoch_too():
    for text in ("nan", "inf", "1e300"):
        with pytest.raises(ValueError):  # noqa: PT011
            reading_of(T.TimestampType(), "seconds").parse(text.encode())


def test_nested_types_have_no_text():
    for kind in (T.ArrayType(T.LongType()), T.MapType(T.StringType(), T.LongType()), T.StructType()):
        assert reading_of(kind, None) is None
        assert writing_of(kind) is None


def test_the_time_of_an_entry_is_in_its_id():
    assert time_of("1772434860123-4") == datetime.datetime(2026, 3, 2, 7, 1, 0, 123_000, UTC)


def test_ids_are_in_the_order_of_redis():
    assert sorted(["10-0", "9-11", "9-2"], key=id_key) == ["9-2", "9-11", "10-0"]


@given(st.dictionaries(st.text(min_size=1), st.integers(0, 50), min_size=1), st.integers(1, 100))
def test_shares_use_the_limit_up_and_favour_nobody(behind, most):
    shares = fair_shares(behind, most)
    assert sum(shares.values()) == min(most, sum(behind.values()))
    assert all(shares[name] <= behind[name] for name in behind)
    short = [shares[name] for name in behind if shares[name] < behind[name]]
    assert not short or max(shares.values()) - min(short) <= len(behind)


@pytest.mark.parametrize(
    ("kind", "epoch", "text"),
    [
        (T.TimestampType(), None, "9999-12-31T23:59:59-05:00"),
        (T.TimestampType(), None, "0001-01-01T00:00:00+05:00"),
        (T.TimestampType(), "seconds", "1e400000000"),
        (T.DoubleType(), None, "1e400"),
        (T.FloatType(), None, "1e39"),
    ],
)
def test_values_past_the_range_of_their_type_are_bad_and_not_fatal(kind, epoch, text):
    asked = {"url": "redis://127.0.0.1", "stream": "s", "mode": "drop"} | ({"epoch": epoch} if epoch else {})
    schema = T.StructType([T.StructField("x", kind), T.StructField("_time", T.TimestampType())])
    reader = RowReader(schema, RedisOptions.read(asked))
    assert reader.rows("s", [(b"1-0", {b"x": text.encode()})]).num_rows == 0
    far = reader.rows("s", [(b"18446744073709551615-1", {})])
    assert far.to_pylist() == [{"x": None, "_time": None}]


def test_a_url_names_a_database_by_number_and_keeps_its_password():
    with pytest.raises(wr.SpecError, match="url: expected the number of a Redis database, got 'abc'"):
        RedisOptions.read({"url": "redis://127.0.0.1:6379/abc", "stream": "s"})
    with pytest.raises(wr.SpecError) as caught:
        RedisOptions.read({"url": "redis://u:se/cret@127.0.0.1:6379", "stream": "s"})
    assert "cret" not in str(caught.value)


TYPES = [
    T.ByteType(), T.LongType(), T.FloatType(), T.DoubleType(), T.DecimalType(38, 9), T.BooleanType(), T.DateType(),
    T.TimestampType(), T.TimestampNTZType(),
]  # fmt: skip
HOSTILE = [
    "1" * 64_000 + "!", "1" * 64_000 + "e99999", "." + "1" * 64_000 + "!", "9e499990", "9e-499990", "-9e499990",
    "1e" + "9" * 64_000, "0" * 64_000 + ".", "2026-03-02T" + "0" * 64_000 + "!", "2026-03-02T00:00:00+" + "0" * 64_000,
    " " * 64_000, "\0" * 64_000,
]  # fmt: skip
"""Texts that took seconds to hours: patterns that backtrack, exponents that ask for half a million digits."""


@pytest.mark.parametrize("kind", TYPES, ids=lambda kind: kind.simpleString())
@pytest.mark.parametrize("epoch", [None, "seconds", "microseconds"])
def test_hostile_texts_are_refused_at_once_and_quoted_in_part(kind, epoch):
    given = NEEDED | ({"epoch": epoch} if epoch else {})
    schema = T.StructType([T.StructField("x", kind)])
    strict, lenient = (RowReader(schema, RedisOptions.read(given | {"mode": mode})) for mode in ("error", "drop"))
    for text in HOSTILE:
        entries = [(b"1-0", {b"x": text.encode()})]
        kept = lenient.rows("s", entries).num_rows
        if kept:
            assert strict.rows("s", entries).num_rows == 1
            continue
        with pytest.raises(wr.DataError) as caught:
            strict.rows("s", entries)
        assert len(str(caught.value)) < 1_000
        assert repr(text[:7])[1:-1] in str(caught.value)


def test_a_number_near_the_ends_of_time_is_read_whatever_its_exponent():
    seconds = reading_of(T.TimestampType(), "seconds").parse
    assert seconds(b"1.7724348e9") == datetime.datetime(2026, 3, 2, 7, tzinfo=UTC)
    assert seconds(b"1e-400") == datetime.datetime(1970, 1, 1, tzinfo=UTC)


def test_a_password_comes_by_option_or_from_the_environment_and_is_never_shown(monkeypatch):
    monkeypatch.setenv("REDIS_SECRET", "s3cret")
    by_option = RedisOptions.read(NEEDED | {"username": "me", "password": "s3cret"})
    by_variable = RedisOptions.read(NEEDED | {"username": "me", "passwordVariable": "REDIS_SECRET"})
    by_url = RedisOptions.read(NEEDED | {"url": "redis://me:s3cret@127.0.0.1"})
    assert by_option.login.arguments == by_variable.login.arguments == {"username": "me", "password": "s3cret"}
    assert by_url.login.arguments == {}
    for asked in (by_option, by_variable, by_url):
        assert "s3cret" not in repr(asked) + repr(asked.login)


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"url": "redis://me:s3cret@h", "password": "s3cret"}, "password: the url contains one too"),
        ({"url": "redis://me:s3cret@h", "username": "you"}, "username: the url contains one too"),
        ({"password": "s3cret", "passwordVariable": "REDIS_SECRET"}, "passwordVariable: a password is set too"),
        ({"passwordVariable": "REDIS_SECRET_2"}, "passwordVariable: expected the name of an environment variable"),
        ({"username": "me"}, "username: a user needs a password"),
    ],
)
def test_a_login_that_cannot_be_right_is_refused_without_showing_it(monkeypatch, changed, sentence):
    monkeypatch.setenv("REDIS_SECRET", "s3cret")
    with pytest.raises(wr.SpecError) as caught:
        RedisOptions.read(NEEDED | changed)
    assert str(caught.value).startswith(sentence)
    assert "s3cret" not in str(caught.value)
