"""Instants on the command line: one rule, in the session's time zone and with the offset."""

from __future__ import annotations

from datetime import UTC, timedelta, timezone
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest

from windrow.cli.zoneless import as_zone, in_zone
from windrow.terminal.tables import as_texts

AUTUMN = [1729989000, 1729992600, None]
"""Half past two in Berlin, twice: the clocks are set back in between."""


def shown(values: list[int | None], kind: pa.DataType, zone: str) -> list[str]:
    seconds = pa.array(values, pa.int64())
    column = pa.chunked_array([seconds.cast(pa.timestamp("s")).cast(kind)])
    return as_texts(in_zone(column, as_zone(zone)))


def test_instants_are_shown_in_the_sessions_zone_with_their_offset() -> None:
    kind = pa.timestamp("us", "UTC")
    assert shown(AUTUMN, kind, "Europe/Berlin") == ["2024-10-27 02:30:00+02:00", "2024-10-27 02:30:00+01:00", ""]
    assert shown(AUTUMN, kind, "UTC") == ["2024-10-27 00:30:00+00:00", "2024-10-27 01:30:00+00:00", ""]


def test_times_without_a_zone_are_shown_as_they_are() -> None:
    times = ["2024-10-27 00:30:00", "2024-10-27 01:30:00", ""]
    assert shown(AUTUMN, pa.timestamp("us"), "Europe/Berlin") == times


@pytest.mark.parametrize("kind", [pa.timestamp("us"), pa.timestamp("us", "UTC"), pa.date32()])
def test_years_that_python_does_not_have_are_shown_too(kind: pa.DataType) -> None:
    texts = shown([400_000_000_000, None], kind, "Asia/Tokyo")
    assert texts[0].startswith("14645-06-30")
    assert texts[1] == ""


@pytest.mark.parametrize(
    ("name", "zone"),
    [
        ("Asia/Tokyo", ZoneInfo("Asia/Tokyo")),
        ("+01:00", timezone(timedelta(hours=1))),
        ("UTC-3", timezone(timedelta(hours=-3))),
        ("GMT+05:30", timezone(timedelta(hours=5, minutes=30))),
        ("a zone that only Java knows", UTC),
    ],
)
def test_zones_have_the_names_of_java(name: str, zone: object) -> None:
    assert as_zone(name) == zone
