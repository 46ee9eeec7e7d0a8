"""A workload without an op that costs anything has an answer from every command."""

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
    assert "What the board takes is not known" in out
    code, _, err = call(capsys, "plan", model, "--chip", "stm32n6", "-o", plan)
    assert code == 0
    assert "bound 0 (plans" in err
    assert call(capsys, "check", plan, model)[0] == 0
