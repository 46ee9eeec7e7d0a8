"""Workloads without an op that costs anything, and names that are text wherever they come out."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.command_line import Call
from tests.workloads.from_onnx.support_models import FLOAT, model, node


@pytest.fixture(params=["Identity", "Cast"])
def costless(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    more: dict[str, Any] = {"to": FLOAT} if request.param == "Cast" else {}
    path = tmp_path / "model.onnx"
    path.write_bytes(model([node(request.param, "x", "y", **more)], {"x": [1, 8]}, "y").SerializeToString())
    return str(path)


def test_a_board_with_a_tool_of_its_own_needs_no_time(costless: str, tmp_path: Path, call: Call) -> None:
    page, plan = str(tmp_path / "page.html"), str(tmp_path / "plan.json")
    code, out, _ = call("simulate", costless, "--chip", "stm32n6", "--html", page)
    assert code == 0
    assert "this plan takes as long" in out
    assert re.search(r"on the board +not known", out)
    code, _, err = call("plan", costless, "--chip", "stm32n6", "-o", plan)
    assert code == 0
    assert "bound 0 (plans" in err
    assert call("check", plan, costless)[0] == 0


HOSTILE = "\x1b[31m\u202e"
SHOWN = "\\x1b[31m\\u202e"


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """A hostile whose graph, nodes, tensors and op are called something hostile, in such a file."""
    nodes = [
        node("Relu", f"x{HOSTILE}", f"h{HOSTILE}", f"n{HOSTILE}"),
        node(f"Weird{HOSTILE}", f"h{HOSTILE}", f"y{HOSTILE}", f"w{HOSTILE}"),
    ]
    made = model(nodes, {f"x{HOSTILE}": [1, 8]}, f"y{HOSTILE}", declared={f"y{HOSTILE}": [1, 8]})
    made.graph.name = f"g{HOSTILE}"
    path = tmp_path / f"m{HOSTILE}.onnx"
    path.write_bytes(made.SerializeToString())
    return path


def harmless(text: str) -> bool:
    return "\x1b" not in text and "\u202e" not in text


def test_a_hostile_model_is_shown_as_text_everywhere(hostile: Path, tmp_path: Path, call: Call) -> None:
    page, plan, result = (tmp_path / name for name in ("page.html", "plan.json", "result.json"))
    code, out, err = call("simulate", hostile, "--html", page, "--plan", plan, "--json", result)
    assert code == 0
    assert f"n{SHOWN}" in out
    assert f"Weird{SHOWN}" in err
    written = [path.read_text(encoding="utf-8") for path in (page, plan, result)]
    assert all(f"n{SHOWN}" in text.replace("\\\\x", "\\x").replace("\\\\u", "\\u") for text in written[:1])
    assert call("export", plan, hostile, "--as", "c", "--folder", tmp_path / "c")[0] == 0
    written += [each.read_text(encoding="utf-8") for each in (tmp_path / "c").glob("*.[ch]")]
    for file, kind in ((plan, "minimalloc"), (result, "csv")):
        code, table, said = call("export", file, "--as", kind)
        assert code == 0
        written += [table, said]
        assert SHOWN in table
    assert all(map(harmless, [out, err, *written]))


def test_errors_name_a_hostile_file_and_op_as_text(tmp_path: Path, call: Call) -> None:
    path = tmp_path / f"w{HOSTILE}.yaml"
    path.write_text('inputs: {x: [1, 8]}\nops:\n  - {op: "relu\\e[31m", x: x}\n', encoding="utf-8")
    code, out, err = call("simulate", path)
    assert (code, out) == (2, "")
    assert f"w{SHOWN}.yaml:3:5" in err
    assert "'relu\\x1b[31m'" in err
    assert harmless(err)
    code, out, err = call(f"simulate{HOSTILE}")
    assert code == 2
    assert "No such command" in err
    assert harmless(err)
