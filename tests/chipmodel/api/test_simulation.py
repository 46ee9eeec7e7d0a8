"""``simulate``: the command line's answer, as a value."""

import re
from typing import Any

import pytest

import chipmodel as cm
from chipmodel.api.simulation import PLOTLY
from tests.support.folders import ROOT

TINY = "zoo:ds_cnn"
ARMS = ROOT / "workloads" / "early_exit.yaml"


@pytest.fixture(scope="module")
def run() -> cm.Simulation:
    return cm.simulate(TINY, cm.chip("luna-arcs", shared_memory__bytes="24KiB"))


def test_its_ops_are_a_table_whose_columns_add_up(run: cm.Simulation) -> None:
    table = run.to_dataframe("pandas")
    stalls = [name for name in table.columns if name.startswith("stall_") and name != "stall_cycles"]
    assert list(table["name"]) == [op["name"] for op in run.to_dict()["ops"]]
    assert (table[stalls].sum(axis=1) == table["stall_cycles"]).all()
    assert run.to_dataframe("pyarrow").column_names == list(table.columns)
    with pytest.raises(cm.BadInput, match="backend 'panda' is not known"):
        run.to_dataframe("panda")  # type: ignore[arg-type]


def test_it_says_what_it_is_wherever_it_is_shown(run: cm.Simulation) -> None:
    assert "ds_cnn on luna-arcs" in repr(run)
    shown = getattr(run, "_repr_mimebundle_")(include=None, exclude=None)  # noqa: B009
    assert all("peaks at" in str(form) for form in shown.values())
    assert shown[PLOTLY]["data"]
    assert run.to_html().startswith("<!DOCTYPE html>")
    assert run.accuracy.startswith("before shared_memory.bytes was changed: ")


def test_progress_hears_of_every_stage_and_nobody_else_does(capsys: pytest.CaptureFixture[str]) -> None:
    heard: list[str] = []
    cm.simulate(TINY, streamer="prefetch-greedy", cascade="off", progress=heard.append)
    assert heard[0].startswith("planning and simulating ds_cnn")
    assert heard[-1].startswith("planning ds_cnn as the board's own tool does")
    assert capsys.readouterr() == ("", "")


def test_a_cancelled_call_ends_with_a_plan_and_says_what_it_left_out() -> None:
    asked: list[int] = []

    def cancel() -> bool:
        asked.append(1)
        return len(asked) > 2

    small = cm.chip("luna-arcs", shared_memory__bytes="24KiB")
    run = cm.simulate(TINY, small, streamer="exact", cancel=cancel)
    assert run.result.cut_short
    assert cm.check(run, TINY).correct


def test_paths_are_chosen_by_name_or_by_their_cost() -> None:
    slow = cm.simulate(ARMS, extreme="worst")
    quick = cm.simulate(ARMS, extreme="best")
    assert quick.cycles < slow.cycles
    chosen = dict(quick.result.trace.path)
    assert cm.simulate(ARMS, path=chosen).cycles == quick.cycles
    with pytest.raises(cm.BadInput, match="no if and no loop"):
        cm.simulate(TINY, extreme="worst")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"order": "auto"}, "order 'auto' is not known\n  hint: order is one of given, least-peak, best"),
        ({"in_place": "concats"}, "in_place 'concats' is not known\n  hint: did you mean 'concat'?"),
        ({"gap": -0.1}, "gap is -0.1\n  hint: a share above the bound"),
        ({"time_limit": -1}, "time_limit is -1"),
    ],
)
def test_options_that_mean_nothing_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(cm.BadInput, match=re.escape(message)):
        cm.simulate(TINY, **options)


def test_figures_have_the_charts_that_they_are_named_after(run: cm.Simulation) -> None:
    titles = [
        [title.text for title in each.layout.annotations] for each in (run.timeline(), run.memory_map())
    ]
    assert titles == [["Timeline"], ["SharedMemory"]]
    both = [title.text for title in run.plot().layout.annotations]
    assert both == ["Timeline", "SharedMemory"]
