"""SQL only: frames as table functions, in a session where `wr.register_sql` was called once.

After that, any SQL client of the session can use them. The arguments have the names of the Python API.
"""

import windrow as wr

READINGS = """
    CREATE OR REPLACE TEMPORARY VIEW readings AS
    SELECT pump, timestamp'2026-03-02 06:00:00' + make_interval(0, 0, 0, 0, 0, minute) AS at, flow
    FROM VALUES
        ('p1', 0, 5.1), ('p1', 1, 0.2), ('p1', 2, 0.1), ('p1', 3, 0.3), ('p1', 4, 4.8),
        ('p1', 5, 0.2), ('p1', 6, 5.0), ('p2', 0, 4.9), ('p2', 1, 5.2), ('p2', 20, 5.3), ('p2', 21, 0.1)
        AS readings(pump, minute, flow)
"""
STALLS = """
    SELECT pump, date_format(start, 'HH:mm') AS `from`, date_format(end, 'HH:mm') AS `to`, lowest
    FROM threshold_frames(
        TABLE(readings), on => 'at', by => 'pump', predicate => 'flow < 1', min_duration => '2 minutes',
        agg => map('lowest', 'min(flow)')
    )
    ORDER BY pump, start
"""
CONNECTIONS = """
    SELECT pump, date_format(start, 'HH:mm') AS `from`, date_format(end, 'HH:mm') AS `to`, count AS readings
    FROM gap_frames(TABLE(readings), on => 'at', by => 'pump', gap => INTERVAL '5' MINUTE)
    ORDER BY pump, start
"""


def main() -> None:
    """Print the stalls of each pump, then the periods in which it was connected."""
    spark = wr.session()
    wr.register_sql(spark)
    spark.sql(READINGS)
    spark.sql(STALLS).show()
    spark.sql(CONNECTIONS).show()


if __name__ == "__main__":
    main()
