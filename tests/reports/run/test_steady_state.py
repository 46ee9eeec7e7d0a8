"""Figures of many inferences: from the trace, in the summary, the document and the page."""

from functools import lru_cache

from chipmodel.answers.result import Result
from chipmodel.pipeline.request import PlanRequest
from chipmodel.pipeline.run import run
from chipmodel.rewrites.steady_state import steady
from reports.run.document import document
from reports.run.page import render_page
from reports.run.steady_state import inference_ends, resident_words, steady_of
from reports.run.summary import print_summary
from tests.reports.console import on_console
from tests.support.chips import LUNA_LIKE, with_memory
from tests.support.narrowed import some
from tests.support.small_networks import small_network


@lru_cache(maxsize=1)
def result() -> Result:
    """Three layers of 64 x 64 in 11 KiB: two blocks of 4,352 B stay, or parts of all."""
    program = steady(small_network("steady_state chain"), 4)
    return run(PlanRequest(program, with_memory(LUNA_LIKE, 11 * 1024), "large-first", "resident-knapsack"))


def test_inferences_end_after_their_stores_and_the_last_one_with_the_run() -> None:
    ends = inference_ends(result())
    assert len(ends) == 4
    assert ends[-1] == result().trace.cycles
    for end in ends[:-1]:
        (before,) = (e for e in result().trace.of("npu") if e.stop == end)
        assert (before.cause, before.kind) == ("output", "wait")
    found = some(steady_of(result()))
    assert found.first_cycles == ends[0]
    assert found.further_cycles == ends[3] - ends[2] == ends[2] - ends[1] < ends[0]
    assert found.inferences == 4


def test_resident_and_moved_weights_add_up() -> None:
    found = some(steady_of(result()))
    weights = result().program.weight_bytes
    assert 0 < found.resident_bytes < weights
    assert found.moved == {
        "load tensor": 64,
        "load weights": weights - found.resident_bytes,
        "store tensor": 64,
    }
    words = resident_words(result())
    assert all(op in words for op in found.resident)


def test_the_document_the_summary_and_the_page_have_the_figures() -> None:
    found = some(steady_of(result()))
    assert sum(op["bytes"] for op in document(result())["steady_state"]["resident"]) == found.resident_bytes
    text = on_console(lambda console: print_summary(result(), console), 200)
    assert "4 inferences take" in text
    assert f"{found.further_cycles:,} cycles" in text.partition("each further one")[2].partition("\n")[0]
    assert f"{found.resident_bytes:,} B" in text
    page = render_page(result())
    assert f"{found.per_second:,.1f} a second" in page
