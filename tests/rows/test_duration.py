"""Durations as Spark reads them; the expected lengths were taken from Spark 4.3."""

import math
from datetime import timedelta
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.errors import SpecError
from windrow.rows.duration import parse_duration, to_clock

SECOND, MINUTE, HOUR, DAY = 1_000_000, 60_000_000, 3_600_000_000, 86_400_000_000


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("3 minutes", 3 * MINUTE),
        ("  3 \t  MiNuTe ", 3 * MINUTE),
        ("1 hour 30 minutes", HOUR + 30 * MINUTE),
        ("1 minute 1 hour", HOUR + MINUTE),
        ("1 hour 1 hour", 2 * HOUR),
        ("500 milliseconds", SECOND // 2),
        ("7 microsecond", 7),
        ("1 week", 7 * DAY),
        ("2.5 seconds", 5 * SECOND // 2),
        (".5 seconds", SECOND // 2),
        ("5. seconds", 5 * SECOND),
        ("2.123456789 seconds", 2_123_456),
        ("-2.1234567 seconds", -2_123_456),
        ("1 day 2.5 seconds 3 milliseconds", DAY + 2_503_000),
        ("-1 day", -DAY),
        ("- 1 day", -DAY),
        ("+1 day", DAY),
        ("1 day -2 hours", 22 * HOUR),
        ("1 day - 2 hours", 22 * HOUR),
        ("0 seconds", 0),
        ("9223372036854775807 microseconds", 2**63 - 1),
        ("interval 3 minutes", 3 * MINUTE),
        ("INTERVAL -3 MINUTES", -3 * MINUTE),
        ("interval '3' minute", 3 * MINUTE),
        ("interval '3'minutes", 3 * MINUTE),
        ('interval "3" minute', 3 * MINUTE),
        ("interval '3 minutes'", 3 * MINUTE),
        ("interval 'interval 3 minutes'", 3 * MINUTE),
        ("interval '3' minute '4' second", 3 * MINUTE + 4 * SECOND),
        ("interval 3 minute '4' second", 3 * MINUTE + 4 * SECOND),
        ("interval -'-3' minute", 3 * MINUTE),
        ("interval '- 3' minute", -3 * MINUTE),
        ("interval '2.5' second -'1.5' second", SECOND),
        ("interval '1:30' minute to second", 90 * SECOND),
        ("interval ' 1:3.5 ' MINUTE  TO  SECOND", 63 * SECOND + SECOND // 2),
        ("interval '90:30' minute to second", 90 * MINUTE + 30 * SECOND),
        ("interval - '1:30' minute to second", -90 * SECOND),
        ("interval -'-1:30' minute to second", 90 * SECOND),
        ("interval '1 2:03:04.5' day to second", DAY + 2 * HOUR + 3 * MINUTE + 4 * SECOND + SECOND // 2),
        ("interval '1 2:03' day to minute", DAY + 2 * HOUR + 3 * MINUTE),
        ("interval '100 02' day to hour", 100 * DAY + 2 * HOUR),
        ("interval '26:03' hour to minute", 26 * HOUR + 3 * MINUTE),
        ("interval '2:03:04.123456789' hour to second", 2 * HOUR + 3 * MINUTE + 4_123_456),
    ],
)
def test_a_string_has_the_length_that_spark_gives_it(text, length):
    assert parse_duration(text) == length


@pytest.mark.parametrize(
    "text",
    """|abc|3|minutes|interval|3minutes|1.5 minutes|1.5 milliseconds|5.0 minutes|. seconds|2.1234567891 seconds|1 min
    1 s|1 ms|1 nanosecond|1 quarter|1 hour,30 minutes|1e3 seconds|1_000 seconds|interval3 minutes|intervals 3 minutes
    --1 day|3 minutes ago|3 minutes interval|\u0661 day|'3' minute|interval ''|interval '' minute|interval '-' minute
    interval '3.5' day|interval '3 minute' second|interval -'3 minutes'|interval '1:90' minute to second
    interval '1:030' minute to second|interval '1:30.' minute to second|interval '1' minute to second
    interval '1 24' day to hour|interval '1  2' day to hour|interval '1:2:3' day to second
    interval '1:30' minutes to seconds|interval '3' minute to minute|interval '1:30' second to minute
    interval '1' hour '1:30' minute to second|9223372036854775808 microseconds|106751992 days""".replace(
        "\n    ", "|"
    ).split("|"),
)
def test_what_spark_cannot_read_is_refused_with_the_value(text):
    with pytest.raises(SpecError) as caught:
        parse_duration(text)
    assert repr(text) in str(caught.value)


@pytest.mark.parametrize(
    "text", ["1 month", "2 Years", "1 day 1 month", "interval '1-2' year to month", "interval '3' month", "12 months"]
)
def test_months_and_years_have_no_fixed_length(text):
    with pytest.raises(SpecError, match=r"no fixed length.*'30 days'"):
        parse_duration(text)


def test_something_else_than_a_string_is_refused():
    with pytest.raises(SpecError, match=r"expected a duration .*, got 180"):
        parse_duration(180)


@given(st.timedeltas())
def test_a_timedelta_is_exact(delta):
    assert timedelta(microseconds=parse_duration(delta)) == delta


@given(st.lists(st.tuples(st.integers(-999, 999), st.sampled_from(["day", "hours", "minutes", "SECOND"])), min_size=1))
def test_fields_add_up(fields):
    sizes = {"day": DAY, "hours": HOUR, "minutes": MINUTE, "SECOND": SECOND}
    text = " ".join(f"{number} {unit}" for number, unit in fields)
    assert parse_duration(text) == sum(number * sizes[unit] for number, unit in fields)


@pytest.mark.parametrize(
    ("value", "kind", "clock"),
    [
        ("3 minutes", "timestamp", 3 * MINUTE),
        (timedelta(seconds=1.5), "timestamp", 1_500_000),
        ("2 days", "date", 2),
        ("1 week", "date", 7),
        ("36 hours", "date", 1.5),
        (timedelta(hours=6), "date", 0.25),
        (180, "integer", 180),
        (2.5, "integer", 2.5),
        (0, "float", 0),
        (2.5, "float", 2.5),
        (np.int64(3), "integer", 3),
        (np.float32(0.5), "float", 0.5),
    ],
)
def test_a_duration_on_a_clock(value, kind, clock):
    result = to_clock(value, kind, "min_duration")
    assert result == clock
    assert type(result) is type(clock)


@pytest.mark.parametrize(
    ("value", "kind", "advice"),
    [
        (180, "timestamp", "timedelta"),
        (1.5, "date", "timedelta"),
        (True, "timestamp", "timedelta"),
        (None, "timestamp", "timedelta"),
        ("3 minutes", "integer", "expected a number"),
        (timedelta(1), "float", "expected a number"),
        (True, "integer", "expected a number"),
        (None, "float", "expected a number"),
        (math.nan, "float", "finite"),
        (math.inf, "integer", "finite"),
        (-1, "integer", "zero or more"),
        (-0.5, "float", "zero or more"),
        ("-1 day", "timestamp", "zero or more"),
        (timedelta(-1), "date", "zero or more"),
        ("soon", "timestamp", "'3 minutes'"),
    ],
)
def test_a_wrong_duration_names_the_option_the_value_and_what_is_right(value, kind, advice):
    with pytest.raises(SpecError) as caught:
        to_clock(value, kind, "max_gap")
    message = str(caught.value)
    assert message.startswith("max_gap")
    assert repr(value) in message
    assert advice in message


@pytest.mark.parametrize("kind", ["integer", "float"])
def test_a_number_past_all_floats_is_no_duration(kind):
    for value in (10**400, -(10**400), Fraction(10**400, 3)):
        with pytest.raises(SpecError, match=r"before: expected a finite duration"):
            to_clock(value, kind, "before")
