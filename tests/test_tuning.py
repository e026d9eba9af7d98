"""The tuning of a query: checked, captured when the query is made, and carried to tasks."""

from __future__ import annotations

import pickle
import threading

import pyarrow as pa
import pytest

import windrow as wr
from windrow.errors import SpecError
from windrow.framing.query import FrameQuery
from windrow.rows.roles import Roles
from windrow.tuning import Tuning, current_tuning, tuned


def query() -> FrameQuery:
    return FrameQuery(wr.Gap(5), Roles("t", (), (), {}, {"t": pa.int64()}))


def test_a_query_carries_the_tuning_it_was_made_with() -> None:
    with tuned(rows_per_table=7):
        made = query()
    assert made.tuning.rows_per_table == 7
    assert pickle.loads(pickle.dumps(made)).tuning == made.tuning
    assert query().tuning == Tuning()


def test_the_tuning_takes_no_part_in_equality() -> None:
    with tuned(buckets=3):
        made = query()
    assert made == query()


def test_changes_nest_and_end_with_their_context() -> None:
    with tuned(buckets=3):
        with tuned(cores=2):
            assert (current_tuning().buckets, current_tuning().cores) == (3, 2)
        assert (current_tuning().buckets, current_tuning().cores) == (3, None)
    assert current_tuning() == Tuning()


def test_another_thread_has_its_own_tuning() -> None:
    seen: list[Tuning] = []
    with tuned(buckets=3):
        thread = threading.Thread(target=lambda: seen.append(current_tuning()))
        thread.start()
        thread.join()
    assert seen == [Tuning()]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"buckets": 0}, "buckets: expected an integer of at least 1, got 0"),
        ({"rows_per_table": True}, "rows_per_table: expected an integer of at least 1, got True"),
        ({"rows_per_piece": None}, "rows_per_piece: expected an integer of at least 1, got None"),
        ({"cores": 0}, "cores: expected an integer of at least 1, got 0"),
        ({"sampled": 1.5}, "sampled: expected a fraction above 0 and up to 1, got 1.5"),
        ({"by_ranges": 1}, "by_ranges: expected true, false or None, got 1"),
    ],
)
def test_a_value_that_makes_no_sense_is_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        Tuning(**changes)  # type: ignore[arg-type]
