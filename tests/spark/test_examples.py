"""The scripts in `examples/` run and print what they promise."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("few_buckets")]

EXAMPLES = Path(__file__).parents[2] / "examples"
PRINTED = {
    "hot_periods": """
        +------+------+--------+-----+
        |boiler|raised|   alarm|frame|
        +------+------+--------+-----+
        |  east| 01:03|pressure|    0|
        |  west| 01:06|pressure|    0|
        +------+------+--------+-----+
        +------+-----+-----+----+------+
        |boiler| from|   to|peak|alarms|
        +------+-----+-----+----+------+
        |  east|00:57|01:06|96.0|     1|
        |  west|00:59|01:09|99.0|     2|
        +------+-----+-----+----+------+
    """,
    "live_alerts": """
        01:02  east is hot: above 90 since 01:00
        01:04  east has cooled down; peak 96
        01:04  west is hot: above 90 since 01:02
    """,
    "machine_states": """
        +-------+-------+-----+-----+-------+
        |  press|  state| from|   to|reports|
        +-------+-------+-----+-----+-------+
        |press 1|   idle|06:00|06:01|      2|
        |press 1|running|06:02|06:06|      4|
        |press 1|  fault|06:07|06:08|      2|
        |press 1|   idle|06:09|06:09|      1|
        |press 1|running|06:10|06:13|      4|
        |press 2|running|06:00|06:04|      5|
        |press 2|running|06:09|06:10|      2|
        |press 2|   idle|06:11|06:13|      3|
        +-------+-------+-----+-----+-------+
        +-------+-----+----+-------+
        |  press|fault|idle|running|
        +-------+-----+----+-------+
        |press 1|    2|   3|      8|
        |press 2|    0|   3|      7|
        +-------+-----+----+-------+
    """,
    "rolling_p99": """
        +-----+-----+----+----+-----+
        | from|   to|   n| p50|  p99|
        +-----+-----+----+----+-----+
        |11:56|12:01| 600|39.1| 85.5|
        |11:57|12:02|1200|39.7| 81.7|
        |11:58|12:03|1800|39.5| 80.4|
        |11:59|12:04|2400|39.7| 77.6|
        |12:00|12:05|3000|39.9|382.2|
        |12:01|12:06|3000|40.3|382.2|
        |12:02|12:07|3000|40.0|382.2|
        |12:03|12:08|3000|40.1|382.2|
        |12:04|12:09|3000|40.2|382.2|
        |12:05|12:10|3000|39.6| 78.6|
        +-----+-----+----+----+-----+
    """,
    "sessions": """
        +----+-----+-----+-----+------+------+-----+
        |user|visit| from|   to|clicks|orders|spent|
        +----+-----+-----+-----+------+------+-----+
        | ada|    0|08:00|08:39|     4|     1| 30.0|
        | ada|    1|09:15|09:16|     2|     1| 12.5|
        |  bo|    0|08:05|08:06|     2|     0|  0.0|
        |  bo|    1|09:40|09:40|     1|     1|  8.0|
        +----+-----+-----+-----+------+------+-----+
    """,
    "sql_only": """
        +----+-----+-----+------+
        |pump| from|   to|lowest|
        +----+-----+-----+------+
        |  p1|06:01|06:03|   0.1|
        +----+-----+-----+------+
        +----+-----+-----+--------+
        |pump| from|   to|readings|
        +----+-----+-----+--------+
        |  p1|06:00|06:06|       7|
        |  p2|06:00|06:01|       2|
        |  p2|06:20|06:21|       2|
        +----+-----+-----+--------+
    """,
}
"""What each script prints, apart from blank lines."""


def test_every_example_is_run():
    assert {path.stem for path in EXAMPLES.glob("*.py")} == {*PRINTED}


@pytest.mark.parametrize("name", PRINTED)
def test_an_example_prints_its_result(spark, capsys, name):
    runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    assert lines(capsys.readouterr().out) == lines(PRINTED[name])


def lines(text: str) -> list[str]:
    """The lines of a text without blank ones and indentation."""
    return [line.strip() for line in text.splitlines() if line.strip()]
