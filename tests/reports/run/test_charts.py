from dataclasses import replace
from typing import Any

from reports.run.charts import charts_data, of_merging, over_time
from tests.reports.run.test_cores import result as two_cores
from tests.reports.run.test_merging import result as merged
from tests.reports.sample import sample


def test_charts_over_time_are_linked_and_the_others_are_not() -> None:
    timed = over_time(sample(), 1000)
    assert [s.id for s in timed] == ["timeline", "memory"]
    others = of_merging(merged())[1]
    assert [s.id for s in others] == ["merging-before", "merging-after"]
    data: Any = charts_data([*timed, *others], {op.name: n for n, op in enumerate(sample().program.ops())})
    assert data["linked"] == [s.id for s in timed]
    assert list(data["charts"]) == [s.id for s in (*timed, *others)]
    assert list(data["needs"]) == ["timeline"]


def test_each_core_with_buffers_has_a_memory() -> None:
    result = two_cores()
    assert [s.id for s in over_time(result, 1000)][1:] == ["memory-0", "memory-1"]
    idle = replace(result.cores[1], problem=replace(result.cores[1].problem, buffers=()))
    alone = replace(result, cores=(result.cores[0], idle))
    assert [s.id for s in over_time(alone, 1000)][1:] == ["memory-0"]


def test_there_is_no_section_on_merging_where_nothing_was_merged() -> None:
    assert of_merging(sample()) == ("", [])


def test_merging_is_shown_for_each_core_that_merged() -> None:
    result, one = two_cores(), merged()
    core = replace(result.cores[1], schedule=one.schedule, problem=one.problem, solved=one.solved)
    words, sections = of_merging(
        replace(result, cores=(result.cores[0], replace(core, unmerged=one.unmerged)))
    )
    assert [s.id for s in sections] == ["merging-before-1", "merging-after-1"]
    assert [s.title for s in sections] == [
        "Before: --merge none on core 1",
        "After: --merge conflict on core 1",
    ]
    assert words.startswith("Core 1: --merge conflict needs")
