"""If, Loop and Scan from the user's side: options, errors, and the onnx package's own models."""

import json
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from math import prod
from pathlib import Path
from typing import Any

import numpy
import pytest

from chipmodel.errors import BadInput
from chipmodel.model.program import Loop
from chipmodel.pipeline.request import PlanRequest
from chipmodel.pipeline.run import run
from chipmodel.verify.commands import verify
from tests.support.chips import LUNA_LIKE
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
from workloads.from_onnx.program import load_onnx


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


def _graphs(each: Any) -> list[Any]:
    found = [each]
    for inner in [a.g for n in each.node for a in n.attribute if a.HasField("g")]:
        found += _graphs(inner)
    return found


def _has_control(made: Any) -> bool:
    nodes = [n for each in _graphs(made.graph) for n in each.node]
    nodes += [n for function in made.functions for n in function.node]
    return any(n.op_type in ("If", "Loop", "Scan") for n in nodes)


def own_cases() -> list[Any]:
    """Test cases with an If, Loop or Scan, also inside functions. (Making all cases would take long.)"""
    package: Any = import_module("onnx.backend.test.case.node")
    for name in ("if_", "loop", "scan", "range", "linear_attention", "affinegrid", "sequence_map"):
        with suppress(ModuleNotFoundError):  # not every version has all of them
            import_module(f"onnx.backend.test.case.node.{name}")
    return list(package._NodeTestCases)  # collect_testcases would import all


@pytest.mark.slow
def test_the_onnx_packages_own_models(tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    """Each is imported with the right shapes, planned and simulated, or refused by a name in the model."""
    cases = {c.name: c for c in own_cases() if c.model is not None and _has_control(c.model)}
    refused: dict[str, str] = {}
    for name, case in cases.items():
        path = tmp_path / f"{name}.onnx"
        path.write_bytes(case.model.SerializeToString())
        inputs, expected = case.data_sets[0]
        try:
            program = load_onnx(path)
        except BadInput as error:
            refused[name] = str(error)
            continue
        loops = [each for each in program.nodes() if isinstance(each, Loop)]
        if "range" in name:  # the number of iterations depends on data
            program = load_onnx(path, iterations={loops[0].name: len(expected[0])})
        assert inputs
        sizes = [prod(program.tensors[t].shape) for t in program.outputs]
        assert sizes == [value.size for value in expected], name
        result = run(PlanRequest(program, LUNA_LIKE))
        assert not verify(program, result_commands(result), LUNA_LIKE), name
    assert {"test_if", "test_loop11", "test_scan9_sum", "test_scan_sum"} <= cases.keys() - refused.keys()
    assert all("node '" in text or "the input '" in text for text in refused.values())
    unsized = [n for n, text in refused.items() if "sequence" in text or "optional" in text]
    assert {"test_if_seq", "test_if_opt", "test_loop13_seq", "test_loop16_seq_none"} <= set(unsized)
    # In the others a shape depends on data.
    assert all("affine_grid" in n for n in refused if n not in unsized)


def result_commands(result: Any) -> Any:
    from chipmodel.passes.lower import lower

    return lower(result.schedule, result.solved.plan)
