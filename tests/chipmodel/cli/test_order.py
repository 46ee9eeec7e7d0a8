"""``--order`` of simulate, plan and compare, and what check makes of a plan's order."""

import json
from pathlib import Path

import pytest

from chipmodel.pipeline.order_search import ORDERS
from tests.support.command_line import Call

TIGHT = ("workloads/branches.yaml", "--set", "shared_memory.bytes=160KiB", "--cascade", "off")


@pytest.mark.slow
def test_the_best_order_is_the_quickest_that_was_planned(call: Call, tmp_path: Path) -> None:
    plan, page = tmp_path / "plan.json", tmp_path / "page.html"
    code, out, _ = call(
        *("simulate", *TIGHT, "--order", "best", "--json", "-", "--plan", plan, "--html", page)
    )
    answer = json.loads(out)
    order = answer["order"]
    assert code == 0
    assert (order["requested"], order["chosen"]) == ("best", "least-peak")
    assert [each["order"] for each in order["tried"]] == list(ORDERS)
    assert answer["total_cycles"] == min(each["total_cycles"] for each in order["tried"])
    assert [op["name"] for op in answer["ops"]][:4] != ["stem", "near", "middle", "far"]
    assert "Both lower bounds are for this order" in page.read_text()
    given = json.loads(call("simulate", *TIGHT, "--json", "-")[1])
    assert "order" not in given
    assert order["tried"][0]["total_cycles"] == given["total_cycles"] > answer["total_cycles"]
    assert order["tried"][0]["peak_bytes"] == given["peak_bytes"]
    assert call("check", plan, TIGHT[0])[0] == 0


def test_the_summary_says_what_was_saved(call: Call) -> None:
    _, out, _ = call("simulate", *TIGHT, "--streamer", "ping-pong", "--order", "least-peak")
    words = " ".join(out.split())
    assert "Order of ops: least-peak; 20.9% faster than the order given (1,857,520 cycles), peak " in words
    assert "119,808 B of tensors alive at most, 258,048 B in the order given (proven minimum)." in words
    assert ", for this order" in words


def test_a_plan_alone_and_an_order_that_was_changed(call: Call, tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    code, _, err = call(*("plan", *TIGHT, "--streamer", "ping-pong", "--order", "best", "-o", file))
    assert code == 0
    assert "order of ops: least-peak (best of " in err
    assert call("check", file, TIGHT[0])[0] == 0
    written = json.loads(file.read_text())
    names = written["order"]
    for wrong, what in ((names[::-1], "is ordered before"), (names[:-1], "has 'classes' 0 times")):
        file.write_text(json.dumps(written | {"order": wrong}))
        code, out, _ = call("check", file, TIGHT[0])
        assert code == 1
        assert what in out
