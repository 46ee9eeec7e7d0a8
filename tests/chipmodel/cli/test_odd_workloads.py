"""Workloads without an op that costs anything, and names that are text wherever they come out."""

import re
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

from tests.support.command_line import call


@pytest.fixture(params=["Identity", "Cast"])
def model(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    kind: str = request.param
    node = helper.make_node(kind, ["x"], ["y"])
    if kind == "Cast":
        node.attribute.append(helper.make_attribute("to", TensorProto.FLOAT))
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 8]) for name in ("x", "y")]
    graph = helper.make_graph([node], "g", ends[:1], ends[1:])
    path = tmp_path / "model.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)  # pyright: ignore[reportUnknownMemberType]
    return str(path)


def test_a_board_with_a_tool_of_its_own_needs_no_time(
    model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page, plan = str(tmp_path / "page.html"), str(tmp_path / "plan.json")
    code, out, _ = call(capsys, "simulate", model, "--chip", "stm32n6", "--html", page)
    assert code == 0
    assert "this plan takes as long" in out
    assert re.search(r"on the board +not known", out)
    code, _, err = call(capsys, "plan", model, "--chip", "stm32n6", "-o", plan)
    assert code == 0
    assert "bound 0 (plans" in err
    assert call(capsys, "check", plan, model)[0] == 0


HOSTILE = "\x1b[31m\u202e"
SHOWN = "\\x1b[31m\\u202e"


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """A hostile whose graph, nodes, tensors and op are called something hostile, in such a file."""
    ends = [
        helper.make_tensor_value_info(f"{name}{HOSTILE}", TensorProto.FLOAT, [1, 8]) for name in ("x", "y")
    ]
    nodes = [
        helper.make_node("Relu", [ends[0].name], [f"h{HOSTILE}"], name=f"n{HOSTILE}"),
        helper.make_node(f"Weird{HOSTILE}", [f"h{HOSTILE}"], [ends[1].name], name=f"w{HOSTILE}"),
    ]
    graph = helper.make_graph(nodes, f"g{HOSTILE}", ends[:1], ends[1:])
    path = tmp_path / f"m{HOSTILE}.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)  # pyright: ignore[reportUnknownMemberType]
    return path


def harmless(text: str) -> bool:
    return "\x1b" not in text and "\u202e" not in text


def test_a_hostile_model_is_shown_as_text_everywhere(
    hostile: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page, plan, result = (tmp_path / name for name in ("page.html", "plan.json", "result.json"))
    code, out, err = call(capsys, "simulate", hostile, "--html", page, "--plan", plan, "--json", result)
    assert code == 0
    assert f"n{SHOWN}" in out
    assert f"Weird{SHOWN}" in err
    written = [path.read_text(encoding="utf-8") for path in (page, plan, result)]
    assert all(f"n{SHOWN}" in text.replace("\\\\x", "\\x").replace("\\\\u", "\\u") for text in written[:1])
    assert call(capsys, "export", plan, hostile, "--as", "c", "--folder", tmp_path / "c")[0] == 0
    written += [each.read_text(encoding="utf-8") for each in (tmp_path / "c").glob("*.[ch]")]
    for file, kind in ((plan, "minimalloc"), (result, "csv")):
        code, table, said = call(capsys, "export", file, "--as", kind)
        assert code == 0
        written += [table, said]
        assert SHOWN in table
    assert all(map(harmless, [out, err, *written]))


def test_errors_name_a_hostile_file_and_op_as_text(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / f"w{HOSTILE}.yaml"
    path.write_text('inputs: {x: [1, 8]}\nops:\n  - {op: "relu\\e[31m", x: x}\n', encoding="utf-8")
    code, out, err = call(capsys, "simulate", path)
    assert (code, out) == (2, "")
    assert f"w{SHOWN}.yaml:3:5" in err
    assert "'relu\\x1b[31m'" in err
    assert harmless(err)
    code, out, err = call(capsys, f"simulate{HOSTILE}")
    assert code == 2
    assert "No such command" in err
    assert harmless(err)
