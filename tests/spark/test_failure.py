"""The error behind what Spark makes of it."""

import pytest

import windrow as wr

TRACES = "\n".join(
    [
        "[STREAM_FAILED] Query [id = 1, runId = 2] terminated with exception: Job aborted due to stage failure: Task 0",
        "Traceback (most recent call last):",
        '  File "worker.py", line 3, in main',
        "{said}",
        "",
        "\tat org.apache.spark.api.python.BasePythonRunner",
        "Driver stacktrace:",
    ]
)


class Query:
    """A query that ended like this."""

    def __init__(self, error: Exception | None) -> None:
        self._error = error

    def exception(self) -> Exception | None:
        return self._error


def test_a_failed_query_gives_the_error_alone() -> None:
    said = "windrow.errors.SourceError: the checkpoint was written with gap=1, but this query uses gap=2"
    found = wr.failure(Query(RuntimeError(TRACES.format(said=said))))
    assert type(found) is wr.SourceError
    assert str(found) == "the checkpoint was written with gap=1, but this query uses gap=2"


def test_other_failures_and_none_at_all_give_none() -> None:
    assert wr.failure(Query(RuntimeError(TRACES.format(said="ValueError: no idea")))) is None
    assert wr.failure(Query(None)) is None
    assert wr.failure(KeyError("x")) is None


def test_a_name_that_is_not_of_an_error_gives_an_error_of_the_root() -> None:
    assert type(wr.failure(RuntimeError("windrow.errors.LONGEST: no more"))) is wr.WindrowError


def test_a_predicate_that_fails_on_a_row_gives_a_data_error() -> None:
    said = "[DIVIDE_BY_ZERO] Division by zero. SQLSTATE: 22012\n== SQL (line 1, position 1) ==\n"
    found = wr.failure(Query(RuntimeError(f"Job aborted: {said}cars / none > 1\n^^^^^^^^^^^\n\tat org.apache.spark")))
    assert type(found) is wr.DataError
    expected = "the expression 'cars / none > 1' cannot be computed for some row: Division by zero."
    assert str(found).startswith(expected)
    in_sql = wr.failure(RuntimeError(f"{said}CASE WHEN (cars / none > 1\n           ^^^^^^^^^^^"))
    assert str(in_sql).startswith(expected)


def test_a_file_that_cannot_be_read_is_no_matter_of_expressions() -> None:
    for said in (
        "[MALFORMED_RECORD_IN_PARSING.WITHOUT_SUGGESTION] Malformed records are detected. SQLSTATE: 22023",
        "[FAILED_READ_FILE] Cannot read. SQLSTATE: KD001\nCaused by: [CAST_INVALID_INPUT] The value. SQLSTATE: 22018",
    ):
        assert wr.failure(RuntimeError(said)) is None


def test_an_error_of_ours_is_itself_and_anything_else_is_refused() -> None:
    error = wr.DataError("x")
    assert wr.failure(error) is error
    with pytest.raises(wr.SpecError, match="of: expected a streaming query or an exception, got int"):
        wr.failure(5)
