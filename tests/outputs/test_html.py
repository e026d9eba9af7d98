"""What notebooks show of results: HTML with escaped text."""

from __future__ import annotations

from windrow.outputs.html import html_table, html_text
from windrow.spark.plans.choice import PlanChoice


def test_text_is_escaped_and_keeps_its_lines() -> None:
    assert html_text("a < b\n  & c") == "<pre>a &lt; b\n  &amp; c</pre>"
    assert html_table(["<i>"], [['"', "<script>"]]) == (
        "<table><tr><th>&lt;i&gt;</th></tr><tr><td>&quot;</td><td>&lt;script&gt;</td></tr></table>"
    )
    assert html_table([], []) == "<table></table>"


def test_the_choice_of_a_plan_is_a_list_of_reasons() -> None:
    choice = PlanChoice("native", ("speed < 40 is a run", "one window"))
    assert choice._repr_html_() == (
        "<p>plan: <b>native</b></p><ul><li>speed &lt; 40 is a run</li><li>one window</li></ul>"
    )
