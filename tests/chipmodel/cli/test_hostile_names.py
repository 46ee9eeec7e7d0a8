"""Names of files, nodes, graphs and ops are text wherever they come out: terminal, pages, exported tables."""

from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

from tests.support.command_line import call

HOSTILE = "\x1b[31m\u202e"
SHOWN = "\\x1b[31m\\u202e"


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A model whose graph, nodes, tensors and op are called something hostile, in such a file."""
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
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page, plan, result = (tmp_path / name for name in ("page.html", "plan.json", "result.json"))
    code, out, err = call(capsys, "simulate", model, "--html", page, "--plan", plan, "--json", result)
    assert code == 0
    assert f"n{SHOWN}" in out
    assert f"Weird{SHOWN}" in err
    written = [path.read_text(encoding="utf-8") for path in (page, plan, result)]
    assert all(f"n{SHOWN}" in text.replace("\\\\x", "\\x").replace("\\\\u", "\\u") for text in written[:1])
    for file, kind in ((plan, "minimalloc"), (plan, "c-header"), (result, "csv")):
        code, table, said = call(capsys, "export", file, "--as", kind)
        assert code == 0
        written += [table, said]
        assert SHOWN in table or kind == "c-header"
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
