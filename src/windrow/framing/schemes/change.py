"""Change frames: a new frame whenever the value of a column changes.

These are boundary frames (sections 3.2 and 5.2.2 of "Frames", 2016) in which every value is a cell of its own, so that
a column may have any type.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from windrow.arrays import Array
from windrow.errors import SpecError, quoted
from windrow.framing.records import Batch
from windrow.framing.schemes.base import Scheme
from windrow.framing.schemes.native import NativeRun
from windrow.framing.schemes.rules.labels import LabelColumn
from windrow.framing.schemes.rules.loop import BoundRule
from windrow.framing.schemes.rules.runs import LabelRule, RunScheme
from windrow.framing.schemes.text import as_values, text_option
from windrow.framing.theory.intervals import Label
from windrow.framing.theory.local import Stream
from windrow.rows.checks import check_attribute
from windrow.rows.text import as_columns


@dataclass(frozen=True, repr=False)
class Change(RunScheme):
    """Maximal runs of rows with equal values of one or more columns.

    Parameters
    ----------
    columns
        One column or several: numbers, text, binary values, Booleans, dates or timestamps. The values of a frame are
        result columns of the same names. Values are equal as in Spark: text by its bytes, 0.0 and -0.0 are equal.
    ignore
        A value, or several, that do not count: a row with such a value in any of the columns is treated as if it were
        null. Each must have the type of one of the columns. For a timestamp, give a `datetime` with a time zone.
    min_count, min_duration, max_count, max_duration, extent
        As in `Threshold`.
    max_gap
        Two rows further apart are never in the same frame.
    nulls
        How to treat a row with a null, a NaN or an ignored value in any of the columns: `"skip"` (default: the row
        takes no part in framing, so equal values before and after it are in one frame), `"break"` or `"error"`.

    Examples
    --------
    >>> Change("state", ignore="OFF")
    Change('state', ignore=('OFF',))
    >>> Change(["state", "gear"])
    Change(('state', 'gear'))
    """

    columns: str | Sequence[str] = field(
        metadata=text_option("runs of equal values of columns", "COLUMNS", "state,gear", parse=as_columns)
    )
    ignore: Any = field(
        default=(),
        kw_only=True,
        metadata=text_option("values that do not count", "VALUES", "OFF,IDLE", parse=as_values, typed=True),
    )

    source: ClassVar[str] = "Frames (2016), 3.2 and 5.2.2: boundary frames in which every value is a cell"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "columns", _check_columns(self.columns))
        object.__setattr__(self, "ignore", _check_ignored(self.ignore))

    @classmethod
    def examples(cls) -> tuple[Scheme, ...]:
        """Return runs of one value."""
        return (cls("state"),)

    def native_run(self, inputs: Mapping[str, str]) -> NativeRun:
        """Return the runs of equal values."""
        return NativeRun(tuple(inputs[name] for name in self.label_columns))

    def local_condition(self, extent: Stream) -> Iterable[Label]:
        """Return the values that all rows have, if they are the same."""
        values = {tuple(row.values[label.column] for label in self.label_columns.values()) for row in extent}
        return values if len(values) == 1 else ()

    @property
    def label_columns(self) -> dict[str, LabelColumn]:
        """The columns whose values label the rows."""
        names = [self.columns] if isinstance(self.columns, str) else self.columns
        return {f"label{i}": LabelColumn(name, self.ignore) for i, name in enumerate(names)}

    def rule(self, types: Mapping[str, pa.DataType]) -> BoundRule:
        """Return the rule over the labels of the columns."""
        labels = self.label_columns

        def make(batch: Batch, inputs: Mapping[str, Array]) -> LabelRule:
            each = [inputs[name] for name in labels]
            return LabelRule(each[0] if len(each) == 1 else np.hstack(each))

        return BoundRule(make, labels=sum(label.width(types[label.column]) for label in labels.values()))


def _check_columns(columns: Any) -> str | tuple[str, ...]:
    """Return the name of one column, or the names of several."""
    if isinstance(columns, str):
        return check_attribute(columns, "Change")
    if not isinstance(columns, Sequence) or not columns:
        raise SpecError(f"Change expects a column or a list of columns, e.g. 'state'; got {quoted(columns)}")
    names = tuple(check_attribute(name, "Change") for name in columns)
    for name in names:
        if names.count(name) > 1:
            raise SpecError(f"Change: column {name!r} is given twice")
    return names[0] if len(names) == 1 else names


def _check_ignored(ignore: Any) -> tuple[Any, ...]:
    """Return the values to ignore."""
    if ignore is None:
        return ()
    values = tuple(ignore) if isinstance(ignore, list | tuple | set | frozenset) else (ignore,)
    for value in values:
        if value is None or (isinstance(value, float) and math.isnan(value)):
            raise SpecError(f"ignore: expected values such as 'OFF', got {value!r}, which counts as missing anyway")
        try:
            hash(value)
        except TypeError:
            raise SpecError(f"ignore: expected values such as 'OFF', got {quoted(value)}") from None
    return values
