"""What sets the lower bound on the time, in words; weights that arrive too late, in all reports."""

from dataclasses import replace

from chipmodel.answers.result import Result
from chipmodel.hardware.chip_file import load_chip
from chipmodel.model.schedule import Late
from chipmodel.model.time_bound import LISTED, Binding, TimeBound
from chipmodel.pipeline.request import PlanRequest
from chipmodel.pipeline.run import run
from chipmodel.rewrites.in_place import reuse
from reports.run.document import document
from reports.run.limits import bound_words, late_ops
from reports.run.page import render_page
from reports.run.summary import print_summary
from tests.reports.console import on_console
from tests.reports.sample import sample
from workloads.load import load


def test_few_segments_are_all_named() -> None:
    bound = TimeBound(30, (Binding("npu", "a", "c", 10), Binding("dma", "d", "d", 20)))
    assert bound_words(bound) == "the NPU from a to c, 10 cycles; the DMA engine at d, 20 cycles"
    assert bound_words(TimeBound(0)) == ""


def test_many_segments_are_added_up_and_the_largest_is_named() -> None:
    segments = [Binding("npu" if i % 2 else "dma", f"f{i}", f"l{i}", 1000 + i) for i in range(6)]
    assert bound_words(TimeBound(6015, tuple(segments))) == (
        "the NPU 3,009 cycles in 3 segments, the DMA engine 3,006 cycles in 3 segments; "
        "most of it: the NPU from f5 to l5, 1,005 cycles"
    )


def test_the_segments_add_up_to_the_bound() -> None:
    chip = load_chip("stm32n6", ())
    for network in ("resnet18", "shufflenetv1"):
        bound = run(PlanRequest(reuse(load(f"zoo:{network}"), "all"), chip, "large-first", "sync")).bound
        assert 0 <= bound.cycles - sum(b.cycles for b in bound.bindings) <= len(bound.bindings)
    assert replace(bound, bindings=()).cycles == bound.cycles


def late_sample(*late: Late) -> Result:
    result = sample()
    return replace(result, schedule=replace(result.schedule, late=late))


def summary(result: Result) -> str:
    return " ".join(on_console(lambda console: print_summary(result, console), 100).split())


LATE = (Late("a", 0, 1000), Late("b", 1, 700), Late("b", 2, 800), Late("<c>", 3, 1))


def test_slices_of_an_op_are_added_up_and_the_worst_comes_first() -> None:
    late = late_ops(late_sample(*LATE).schedule)
    assert late == (("b", 1500), ("a", 1000), ("<c>", 1))
    assert late_ops(sample().schedule) == ()


def test_the_terminal_names_the_worst() -> None:
    text = summary(late_sample(*LATE, Late("d", 4, 2), Late("e", 5, 3)))
    assert "Weights too late (5 ops): b by 1,500 cycles, a by 1,000 cycles, e by 3 cycles, " in text
    assert "d by 2 cycles and 1 more" in text
    assert "too late" not in summary(sample())


def test_both_bounds_are_said_where_listed_plans_have_the_higher_one() -> None:
    result = sample()
    cycles = result.trace.cycles
    bound = TimeBound(cycles - 1, (), LISTED[True], ways=1234, any_plan=cycles // 2)
    result = replace(result, bound=bound)
    said = on_console(lambda console: print_summary(result, console), width=200)
    assert "1,234 listed ways to run ops, with or without cascades" in said
    assert f"of any plan {cycles // 2:,}" in " ".join(said.split())
    assert f'of any plan</th><td class="num">{cycles // 2:,}</td>' in render_page(result)
    found = document(result)
    assert (found["listed_ways"], found["any_plan_bound_cycles"]) == (1234, cycles // 2)
