"""The reports of several cores: totals that add up, on the terminal, in the document and on the page."""

from dataclasses import replace
from functools import cache

from chipmodel.answers.result import Result
from chipmodel.model.live_sets import unused_bytes
from chipmodel.model.program import with_ops
from chipmodel.pipeline.request import PlanRequest
from chipmodel.pipeline.run import run
from reports.run.chrome_trace import chrome_trace
from reports.run.cores import MOST_WAITS, core_of_ops, core_totals, core_waits, cores_document, speed_up
from reports.run.document import document
from reports.run.figures import EVENTS, timeline
from reports.run.page import render_page
from reports.run.summary import print_summary
from tests.reports.console import on_console
from tests.support.chips import LUNA_LIKE
from tests.support.folders import WORKLOADS
from workloads.load import load

EXAMPLE = WORKLOADS / "two_cores.yaml"


@cache
def result() -> Result:
    """The example with its last ops on the core that is done first, and so waits for the other one."""
    program = load(str(EXAMPLE))
    body = with_ops(program.body, lambda op: replace(op, core=0) if op.name == "both" else op)
    return run(PlanRequest(replace(program, body=body), replace(LUNA_LIKE, cores=2)))


def test_every_cycle_of_every_core_is_in_the_table() -> None:
    for totals in core_totals(result()):
        assert totals.compute_cycles + sum(totals.stalls.values()) == result().trace.cycles
    assert sum(t.compute_cycles for t in core_totals(result())) == result().trace.busy("npu")
    assert sum(len(t.ops) for t in core_totals(result())) == 11


def test_waits_name_what_each_core_waited_for() -> None:
    waits = core_waits(result(), 1000)
    for totals in core_totals(result()):
        by_cause: dict[str, int] = {}
        for wait in (w for w in waits if w.core == totals.core):
            by_cause[wait.cause] = by_cause.get(wait.cause, 0) + wait.cycles
        assert by_cause == dict(totals.stalls)
    made = {name: plan.core for plan in result().cores for name in plan.part.exports}
    assert {w.words for w in waits if w.cause == "core"} == {f"core {made[n]}: {n}" for n in made}
    assert all(w.words.startswith("the DMA engine: load ") for w in waits if w.cause in ("input", "weights"))
    assert {w.words for w in waits if w.cause == "finished"} <= {"nothing: no op is left for it"}
    assert [w.cycles for w in waits] == sorted((w.cycles for w in waits), reverse=True)
    first = tuple(w for w in waits if w.core == 0)[:MOST_WAITS]
    assert core_totals(result())[0].longest_waits == first


def test_what_one_core_sends_another_receives() -> None:
    totals = core_totals(result())
    assert sum(t.sent_bytes for t in totals) == sum(t.received_bytes for t in totals) == 32
    for each, plan in zip(totals, result().cores, strict=True):
        assert each.unused_bytes == unused_bytes(plan.problem, plan.solved.plan)
        assert each.peak_bytes == plan.solved.peak
    assert result().solved.peak == max(t.peak_bytes for t in totals)


def test_the_document_has_the_cores_and_one_core_has_none() -> None:
    answer = document(result())
    assert answer["one_core_cycles"] == result().one_core_cycles
    assert answer["compute_cycles"] + answer["stall_cycles"] == 2 * result().trace.cycles
    alone = run(PlanRequest(load("zoo:ds_cnn"), LUNA_LIKE, "large-first", "sync"))
    assert cores_document(alone) == {}
    assert core_totals(alone) == ()
    assert set(core_of_ops(alone).values()) == {0}
    assert speed_up(alone) == ""


def test_every_core_has_rows_of_its_own() -> None:
    chart = timeline(result())
    rows = {row for trace in chart.figure["data"] for row in trace["y"]}
    assert rows == {"NPU 0", "NPU 1", "DMA"}
    assert [c.label for c in EVENTS if c.key == "core"] == ["waits for another core"]
    events = chrome_trace(result())["traceEvents"]
    names = {e["args"]["name"]: e["tid"] for e in events if e["name"] == "thread_name"}  # type: ignore[attr-defined]
    assert names == {"NPU 0": 1, "NPU 1": 2, "DMA": 3}
    counters = {e["name"] for e in events if e["ph"] == "C"}  # type: ignore[attr-defined]
    alive = {"SharedMemory live bytes of core 0", "SharedMemory live bytes of core 1"}
    assert counters == {*alive, "Psram MB/s"}


def test_the_page_and_the_summary_have_the_cores() -> None:
    page = render_page(result())
    assert 'id="memory-0"' in page
    assert 'id="memory-1"' in page
    assert "waits mostly for" in page
    assert "times as fast" in page
    text = on_console(lambda console: print_summary(result(), console))
    assert "Cores" in text
    assert "2 cores are " in text
    assert "What cores waited for" in text
    longest = core_waits(result())[0]
    assert longest.words in text
    assert f"<td>{longest.words}</td><td>{longest.op}</td>" in page
    assert max(len(line.rstrip()) for line in text.splitlines()) <= 80
