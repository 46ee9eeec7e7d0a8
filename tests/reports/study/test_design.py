"""The design space: Pareto fronts, the smallest sufficient memory, and the charts."""

from dataclasses import replace
from itertools import product

from hypothesis import given, strategies as st

from chipmodel.answers.study_results import StudyResults
from reports.chart import Chart
from reports.study.design import (
    CHIP,
    MEMORY,
    Design,
    axes,
    design_words,
    designs,
    front,
    setting_words,
    sufficient_memories,
)
from reports.study.design_chart import panels, series_names
from tests.reports.study.test_charts import traces
from tests.reports.study_sample import designs as sample, network, small

KIB = 1024


def labels(chart: Chart) -> list[str]:
    return list(chart.layout["xaxis"]["ticktext"])


def _design(size: int, cycles: int) -> Design:
    return Design("n", (), size, (network("n", cycles),))


def test_axes_are_the_varied_fields_memory_first() -> None:
    assert axes(sample()) == (MEMORY, "psram.clock_mhz")
    assert axes(small()) == ()
    chips = (network("n", 10, 5, 100, chip="a"), network("n", 10, 5, 200, chip="b"))
    assert axes(StudyResults("chips", chips)) == (MEMORY, CHIP)


def test_each_design_has_the_fastest_plan_that_fits_of_each_planner() -> None:
    found = {(d.workload, d.value(MEMORY), d.value("psram.clock_mhz")): d for d in designs(sample())}
    assert len(found) == 12
    best = found["zoo:two", "256KiB", "200"]
    assert best.bytes == 256 * KIB
    assert [row.point.streamer for row in best.rows] == ["ping-pong", "sync"]
    assert best.milliseconds == 20.4
    none = found["zoo:one", "128KiB", "200"]
    assert none.row is None
    assert none.bytes == 128 * KIB


def test_a_design_where_every_point_failed_still_has_its_bytes() -> None:
    rows = [replace(row, capacity_bytes=None) if row.total_cycles is None else row for row in sample().rows]
    found = designs(replace(sample(), rows=tuple(rows)))
    assert {d.bytes for d in found} == {128 * KIB, 256 * KIB, 512 * KIB}
    assert len(found) == 12


def test_the_smallest_sufficient_memory() -> None:
    one, two = sufficient_memories(designs(sample()))
    assert (one.smallest.bytes, one.least.bytes, one.best.bytes) == (512 * KIB, 256 * KIB, 512 * KIB)
    assert (two.smallest.bytes, two.least.bytes, two.best.bytes) == (256 * KIB, 128 * KIB, 512 * KIB)
    assert round(two.above, 6) == 0.02
    assert setting_words(two.smallest, MEMORY) == "psram.clock_mhz 200"


def test_of_many_workloads_the_answer_is_the_memory_that_all_need() -> None:
    rows = [
        network(f"n{k}", 1000 if size >= need else 2000, 500, size * KIB, overrides=((MEMORY, f"{size}KiB"),))
        for k, need in enumerate((64, 64, 128, 256))
        for size in (64, 128, 256)
    ]
    words = (
        "With 256 KiB of SharedMemory every workload is within 5% of its best latency; 3 of the 4 need less."
    )
    assert design_words(StudyResults("four", tuple(rows))) == words
    only = StudyResults("one", tuple(rows[:3]))
    assert design_words(only) == "The smallest memory within 5% of the best latency of n0 is 64 KiB."
    assert design_words(small()) == ""


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), min_size=1, max_size=30))
def test_the_front_is_exactly_what_nothing_beats(pairs: list[tuple[int, int]]) -> None:
    found = [_design(size, cycles) for size, cycles in pairs]
    ours = {(d.bytes, d.milliseconds) for d in front(found)}
    values = {(d.bytes, d.milliseconds) for d in found}
    unbeaten = {a for a in values if not any(b != a and b[0] <= a[0] and b[1] <= a[1] for b in values)}
    assert ours == unbeaten


def test_few_lines_are_drawn_by_planner_many_by_the_best() -> None:
    study = sample()
    found = designs(study)
    assert series_names(study, MEMORY, found) == tuple(
        f"psram.clock_mhz {mhz}, {streamer}" for mhz, streamer in product((100, 200), ("sync", "ping-pong"))
    )
    names = tuple(f"p{k}" for k in range(4))
    rows = tuple(
        network(
            "n",
            100 + 10 * k + size,
            5,
            size * KIB,
            packer=name,
            overrides=((MEMORY, f"{size}KiB"), ("dma.channels", c)),
        )
        for k, name in enumerate(names)
        for size in (64, 128)
        for c in ("1", "2")
    )
    many = StudyResults("many", rows)
    assert series_names(many, MEMORY, designs(many)) == ("dma.channels 1", "dma.channels 2")
    ((_, chart),) = panels(many, MEMORY, designs(many))
    first = traces(chart)[0]
    assert first["y"] == [0.164, 0.228]
    assert "p0" in first["hovertext"][0]


def test_charts_mark_the_pareto_front_and_values_without_a_plan() -> None:
    study = sample()
    (one, first), (two, second) = panels(study, MEMORY, designs(study))
    assert (one, two) == ("zoo:one", "zoo:two")
    assert first.remark == "no plan fits at 128 KiB"
    assert second.remark == ""
    *lines, marked = traces(second)
    assert [len(line["x"]) for line in lines] == [3, 3, 3, 3]
    assert marked["y"] == [40.0, 20.4, 20.0]
    assert labels(second) == ["128 KiB", "256 KiB", "512 KiB"]
    assert marked["name"] == "Pareto front"
