"""If, Loop and Scan from the user's side: options, errors, and the onnx package's own models."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy
import pytest

from chipmodel.errors import BadInput
from tests.support.command_line import Call
from tests.workloads.from_onnx.support_models import helper, load, model, node
from tests.workloads.from_onnx.support_subgraphs import (
    FLOAT,
    GO_ON,
    INT64,
    SCALAR,
    body,
    branch,
    graph,
    info,
    looped,
    scanned,
)


def test_the_command_line_sets_iterations_and_probabilities(tmp_path: Path, call: Call) -> None:
    then, other = graph([node("Exp", "x", "t")], "t"), graph([node("Neg", "x", "o")], "o")
    nodes = [
        node("ReduceSum", "h", "all", keepdims=0),
        node("Less", "all limit", "on_"),
        node("Add", "h z", "n"),
    ]
    around = looped("_ _ x", "y", body(nodes, "on_ n", "h"))
    constants = {"limit": numpy.array(9, numpy.float32)}
    made = model([branch("c", "z", then, other), around], {"x": [4], "c": []}, "y", constants, types=SCALAR)
    path = tmp_path / "net.onnx"
    path.write_bytes(made.SerializeToString())
    options = ("--iterations", "around=6", "--probability", "gate=0.25", "--json", "-")
    code, out, err = call("simulate", str(path), *options)
    answer = json.loads(out)
    assert (code, err) == (0, "")
    assert answer["path"] == {"gate": "then", "around": "6"}
    chances = {arm["arm"]: arm["probability"] for arm in answer["paths"]["parts"] if arm["arm"]}
    assert chances == {"then": 0.25, "else": 0.75}
    code, _, err = call("simulate", str(path))
    assert (code, "--iterations around=10 sets it" in err) == (0, True)
    code, _, err = call("simulate", str(path), "--probability", "gat=1")
    assert (code, "'gate'" in err) == (2, True)


def _sequence() -> Any:
    inner = graph([node("SequenceConstruct", "x x", "s", "pack")], "s")
    made = branch("c", "y", inner, inner)
    return model(
        [made, node("SequenceAt", "y zero", "z")],
        {"x": [4], "c": []},
        "z",
        {"zero": numpy.array(0)},
        types=SCALAR,
    )


def _unknown_inside() -> Any:
    inner = graph([node("Swirl", "x", "t", "sw", domain="art")], "t")
    made = model([branch("c", "y", inner, inner)], {"x": [4], "c": []}, "y", types=SCALAR)
    made.opset_import.append(helper.make_opsetid("art", 1))
    return made


def _loop(results: str, states: str = "h", nodes: Sequence[Any] = (GO_ON,), inputs: str = "m _ x") -> Any:
    return model([looped(inputs, "y", body(nodes, results, states))], {"x": [4]}, "y", {"m": numpy.array(3)})


def _double() -> Any:
    made = scanned("y", "n", [node("Add", "h s", "n")])
    made.graph.node[0].input.append("others")
    made.graph.node[0].attribute[1].i = 2
    made.graph.node[0].attribute[0].g.input.append(info("t", FLOAT, [4])[0])
    made.graph.input.append(info("others", FLOAT, [5, 4])[0])
    return made


WRONG: dict[str, tuple[Any, str]] = {
    "a sequence": (_sequence, r"node 'pack(_2)?' \(SequenceConstruct\): its output 's(_\d)?' is a sequence"),
    "an unknown operator in a branch": (_unknown_inside, r"node 'sw(_2)?' \(art.Swirl\)"),
    "too few inputs of the body": (
        lambda: _loop("still x", states=""),
        r"'around' \(Loop\): its sub-graph body has 2",
    ),
    "too few results": (lambda: _loop("still"), "has 1 outputs and must have 2"),
    "a result that nothing makes": (lambda: _loop("still ghost"), "'ghost'"),
    "a read that nothing makes": (
        lambda: _loop("still n", nodes=(GO_ON, node("Add", "h ghost", "n", "bad"))),
        "'(bad|around)'.*'ghost'",
    ),
    "a body that is none": (
        lambda: model([node("Loop", "m _ x", "y", "around")], {"x": [4]}, "y", {"m": numpy.array(3)}),
        "'around' .Loop.: it has no sub-graph body",
    ),
    "no first value": (
        lambda: _loop("still n", nodes=(GO_ON, node("Abs", "h", "n")), inputs="m _ _"),
        "no first value",
    ),
    "stacks of two lengths": (_double, r"'over' \(Scan\): its scanned operands have \[5, 6\] slices"),
    "an axis that is none": (
        lambda: scanned("y", "n", [node("Add", "h s", "n")], scan_input_axes=[2]),
        r"'over' \(Scan\): scan_input_axes has the axis 2",
    ),
    "another element type": (
        lambda: _loop("still n", nodes=(GO_ON, node("Cast", "h", "n", to=INT64))),
        "changes its element type",
    ),
}


@pytest.mark.parametrize(("make", "message"), WRONG.values(), ids=WRONG)
def test_the_error_names_the_node(make: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=message) as caught:
        load(tmp_path, make(), strict=True)
    assert str(caught.value).startswith(f"{tmp_path / 'net.onnx'}: ")
    assert "\n  hint: " in str(caught.value)


def test_a_carried_tensor_that_grows_keeps_its_first_shape(tmp_path: Path) -> None:
    made = _loop("still n", nodes=(GO_ON, node("Concat", "h h", "n", axis=0)))
    program = load(tmp_path, made)
    assert "'h' changes its shape from [4] to [8]" in program.notes[0]
    assert program.tensors[program.outputs[0]].shape == (4,)
    with pytest.raises(BadInput, match="changes its shape"):
        load(tmp_path, made, strict=True)
