"""Runs: every row has labels, and a frame is a maximal run of rows with equal ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from windrow.arrays import Array
from windrow.framing.schemes.base import Closure, Property
from windrow.framing.schemes.rules.loop import RuleScheme, begins, joins, judges


@dataclass(frozen=True, repr=False)
class RunScheme(RuleScheme):
    """A scheme whose rule is a `LabelRule`: apart from gaps, nulls and limits, every row is in exactly one frame."""

    drops_runs: ClassVar[bool] = True

    @property
    def closure(self) -> frozenset[Closure]:  # type: ignore[override]
        """Parts of a run, and overlapping runs together, are runs."""
        return self.closure_within_limits(frozenset({"union", "sub-interval"}))

    @property
    def properties(self) -> frozenset[Property]:
        """Lemma 1 and propositions 1 and 2; every row is in exactly one frame."""
        always: set[Property] = {"unique", "drained", "maximal", "covering", "disjoint", "partitioning"}
        return self.properties_within_limits(frozenset(always))

    @property
    def is_run(self) -> bool:
        """Whether Spark SQL can apply the limits: each row shows its labels by itself."""
        return self.is_cut_in_sql


class LabelRule(NamedTuple):
    """The labels of the rows: a frame is a run of equal ones."""

    labels: Array


@judges(begins, LabelRule)
def _begins(rule: Any, memo: Any, label: Any, k: int, i: int, continues: bool) -> bool:
    for j in range(rule.labels.shape[1]):
        label[k, j] = rule.labels[i, j]
    return True


@judges(joins, LabelRule)
def _joins(rule: Any, memo: Any, label: Any, k: int, i: int, n: int) -> bool:
    same = True
    for j in range(rule.labels.shape[1]):
        same = same and label[k, j] == rule.labels[i, j]
    return same
