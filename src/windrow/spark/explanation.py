"""`explain`: show which plan runs, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta

from pyspark.sql import DataFrame

from windrow.aggregates import AggregateFunction
from windrow.errors import SpecError, UnsupportedError, is_one_of, quoted
from windrow.framing.schemes import Scheme
from windrow.rows.duration import Duration
from windrow.spark.arguments import check_switch
from windrow.spark.framing import plan_frames
from windrow.spark.plans.choice import PlanChoice, held_values
from windrow.spark.resolve.windows import AUTO
from windrow.spark.sliding import Using, Windows, plan_slide
from windrow.spark.sources.parquet import ParquetSource
from windrow.spark.streams.options import AHEAD, StreamOptions
from windrow.windows import Window


def explain(
    source: DataFrame | ParquetSource,
    what: Scheme | Windows,
    *,
    on: str,
    by: str | Sequence[str] | None = None,
    agg: Mapping[str, AggregateFunction] | None = None,
    order_by: str | Sequence[str] | None = None,
    nulls_on: str = "error",
    plan: str = "auto",
    fragments: bool | Duration = False,
    empty: bool = False,
    only_changed: bool = False,
    using: Using = AUTO,
    ordered: bool = False,
    late: str = "drop",
    buckets: int | None = None,
    flush: str | None = None,
    keep_groups: Duration | None = None,
    delay: Duration | None = None,
    ahead: Duration | None = AHEAD,
    idle: str | timedelta | None = None,
    punctuation: bool = False,
) -> PlanChoice:
    """Return the plan that `frames` (for a scheme) or `slide` (for windows) would run with these arguments, and why.

    Parameters
    ----------
    what
        A scheme, as for `wr.frames`, or windows, as for `wr.slide`.
    source, on, by, ...
        The arguments of that function.

    Returns
    -------
    The name of the plan and the reasons for it. It prints as a list, and notebooks show it as HTML.

    Examples
    --------
    >>> import windrow as wr
    >>> loops = wr.session().createDataFrame([(1, 55.0)], "minute int, speed double")
    >>> print(explain(loops, wr.Threshold("speed < 40"), on="minute"))
    plan: native
      - Threshold frames are runs of one label: one window and one aggregation in Catalyst
    >>> print(explain(loops, wr.Sliding(60, every=5), on="minute", agg={"speed": wr.mean("speed")}))
    plan: native
      - panes of 5 units of 'minute', aggregated by Catalyst and combined by the compiled kernel
    """
    options = StreamOptions(
        fragments, ordered, late, buckets, flush, keep_groups, None, delay, ahead, idle, punctuation
    )
    common = (on, by, agg, order_by, nulls_on, plan)
    if not isinstance(what, Scheme):
        if not isinstance(what, Window | Sequence | Mapping) or isinstance(what, str | bytes):
            raise SpecError(f"what: expected a framing scheme or windows, got {quoted(what)}")
        if punctuation:
            raise UnsupportedError("punctuation=True applies only to frames")
        if idle is not None:
            raise UnsupportedError(f"idle={quoted(idle)} applies only to frames")
        if fragments is not False:
            raise UnsupportedError("fragments=True applies only to frames; use emit= to report windows early")
        return plan_slide(source, what, *common, empty, only_changed, using, options)[0]
    for option, value in (("empty", empty), ("only_changed", only_changed)):
        check_switch(value, option)
        if value:
            raise UnsupportedError(f"{option}=True applies only to windows, and {what!r} is a framing scheme")
    if using is not None and not is_one_of(using, (AUTO,)):
        raise UnsupportedError(f"using={quoted(using)} applies only to windows, and {what!r} is a framing scheme")
    choice = plan_frames(source, what, *common, options)[0]
    held = [] if choice.plan == "native" else held_values(agg or {}, "open frame")
    return PlanChoice(choice.plan, (*choice.reasons, *held))
