from dataclasses import replace

from chipmodel.geometry.interval import Interval
from reports.run.memory_map import memory_map
from tests.reports.run.test_figures import traces
from tests.reports.sample import EVIL, large, sample


def test_names_are_escaped_for_plotly_which_reads_html() -> None:
    text = str(memory_map(sample()).figure)
    assert EVIL not in text
    assert "dw&lt;script&gt;" in text


def test_boxes_lie_at_their_addresses() -> None:
    boxes: dict[str, tuple[float, float]] = {}
    for trace in traces(memory_map(sample())):
        if trace["type"] == "bar":
            boxes |= {
                c[0]: (y, w) for c, y, w in zip(trace["customdata"], trace["y"], trace["width"], strict=True)
            }
    assert boxes["relu.stripe"] == (16.0, 32.0)
    assert boxes["w.even"] == (44 + 5, 10.0)


def test_a_low_plan_is_not_squashed_under_the_capacity() -> None:
    chart = memory_map(large(10))
    assert [c.label for c in chart.legend] == ["tensors", "weights", "live bytes"]
    assert "lies above the chart" in chart.remark
    assert "capacity 64.0 KiB" in [c.label for c in memory_map(sample()).legend]


def test_too_many_iterations_become_one_box_per_buffer() -> None:
    result = sample()
    first, *others = result.problem.buffers
    twice = replace(first, live=(Interval(0, 1), Interval(3, 4)))
    result = replace(result, problem=replace(result.problem, buffers=(twice, *others)))
    number = len(result.problem.buffers)
    assert memory_map(result).marks == number + 1
    chart = memory_map(result, most=number)
    assert "one box from its first to its last use" in chart.remark
    assert "not drawn" not in chart.remark
    assert chart.marks == number


def test_of_too_many_buffers_the_largest_are_drawn() -> None:
    chart = memory_map(sample(), most=5)
    assert (
        f"The {len(sample().problem.buffers) - 5} buffers with the fewest bytes times cycles" in chart.remark
    )
    assert chart.marks == 5
    names = {c[0] for trace in traces(chart) if trace["type"] == "bar" for c in trace["customdata"]}
    assert {"w.even", "w.odd"} <= names
    assert "softmax" not in names
