"""Random nests of If, Loop and Scan: what the imported tree computes is what ONNX's reference computes."""

from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any

import numpy
import pytest
from numpy.typing import NDArray

from chipmodel.model.program import If, Loop, ops
from tests.workloads.from_onnx.support_models import helper, load, node, numpy_helper
from tests.workloads.from_onnx.tree_values import outputs

FLOAT, BOOL, INT64 = 1, 9, 7
WIDE, ITERATIONS = 4, 3
SEEDS = range(120)


class Writer:
    """Writes models of vectors of ``WIDE`` numbers and stacks of ``ITERATIONS`` vectors.

    Sub-graphs use the same names where ONNX allows it.
    """

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.count = 0
        self.constants: dict[str, NDArray[Any]] = {}

    def name(self, prefix: str = "t") -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    def model(self) -> Any:
        vectors, stacks = ["x", "y"], ["xs", "ys"]
        nodes: list[Any] = []
        self.block(nodes, vectors, stacks, 3)
        for index in range(2):
            first, second = self.two(vectors)
            nodes.append(node("Add", f"{first} {second}", f"out{index}"))
        piled = self.recent(stacks)
        nodes.append(node("Add", f"{piled} xs", "out2"))
        infos = [helper.make_tensor_value_info(n, FLOAT, [WIDE]) for n in ("x", "y")]
        infos += [helper.make_tensor_value_info(n, FLOAT, [ITERATIONS, WIDE]) for n in ("xs", "ys")]
        infos += [helper.make_tensor_value_info(n, BOOL, []) for n in ("c0", "c1")]
        results = [helper.make_tensor_value_info(f"out{i}", FLOAT, None) for i in range(3)]
        constants = [numpy_helper.from_array(value, name) for name, value in self.constants.items()]
        graph = helper.make_graph(nodes, "net", infos, results, constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)

    def block(self, nodes: list[Any], vectors: list[str], stacks: list[str], depth: int) -> None:
        for _ in range(self.random.randint(1, 3)):
            kind = self.random.choice(["op", "if", "if", "loop", "loop", "scan"]) if depth else "op"
            match kind:
                case "if":
                    self.branch(nodes, vectors, stacks, depth - 1)
                case "loop":
                    self.loop(nodes, vectors, stacks, depth - 1)
                case "scan":
                    self.scan(nodes, vectors, stacks, depth - 1)
                case _:
                    self.op(nodes, vectors, self.name())

    def op(self, nodes: list[Any], vectors: list[str], out: str) -> None:
        first, second = self.two(vectors)
        second = self.constant() if self.random.random() < 0.3 else second
        nodes.append(node(self.random.choice(["Add", "Max", "Min"]), f"{first} {second}", out))
        vectors.append(out)

    def recent(self, names: list[str]) -> str:
        """One of the last, with high probability, so that most tensors are read."""
        return self.random.choice(names[-3:] if self.random.random() < 0.8 else names)

    def two(self, names: list[str]) -> tuple[str, str]:
        """Two different tensors: the sum of a tensor with itself could be fused as an activation."""
        first = self.recent(names)
        return first, self.random.choice([name for name in names if name != first])

    def constant(self) -> str:
        name = self.name("w")
        self.constants[name] = numpy.array([self.random.randint(-9, 9) for _ in range(WIDE)], numpy.float32)
        return name

    def any(self, vectors: list[str]) -> str:
        return self.constant() if self.random.random() < 0.15 else self.recent(vectors)

    def infos(self, names: list[str]) -> list[Any]:
        return [helper.make_tensor_value_info(name, FLOAT, [WIDE]) for name in names]

    def branch(self, nodes: list[Any], vectors: list[str], stacks: list[str], depth: int) -> None:
        condition = self.random.choice(["c0", "c1"])
        results = [self.name() for _ in range(self.random.randint(1, 2))]
        graphs: dict[str, Any] = {}
        again = self.count
        for arm in ("then_branch", "else_branch"):
            if self.random.random() < 0.5:
                self.count = again  # the other branch uses the same names
            inner: list[Any] = []
            inside = list(vectors)
            if self.random.random() < 0.8:
                self.block(inner, inside, list(stacks), depth)
            given = [self.given(inner, self.any(inside)) for _ in results]
            graphs[arm] = helper.make_graph(inner, arm, [], self.infos(given))
        self.count += 100
        nodes.append(helper.make_node("If", [condition], results, name=self.name("if"), **graphs))
        vectors += results

    def given(self, nodes: list[Any], name: str) -> str:
        """Results may be outer tensors, directly or through an Identity; a graph lists a name once."""
        out = self.name("g")
        nodes.append(node("Identity", name, out))
        return out

    def loop(self, nodes: list[Any], vectors: list[str], stacks: list[str], depth: int) -> None:
        iterations = self.random.choice([0, 1, ITERATIONS, ITERATIONS, ITERATIONS])
        states = [self.name("s") for _ in range(self.random.randint(0 if iterations else 1, 3))]
        inner: list[Any] = [node("Identity", "go" + str(self.count), "gone" + str(self.count))]
        mark = str(self.count)
        inside = [*vectors, *states]
        self.block(inner, inside, list(stacks), depth)
        following = [
            self.random.choice(states) if self.random.random() < 0.4 else self.any(inside) for _ in states
        ]
        # The reference cannot stack the results of no iterations.
        count = self.random.randint(1, 2) if iterations else 0
        piled = [self.given(inner, self.any(inside)) for _ in range(count)]
        nexts = [
            name if self.once(name, following, states) else self.given(inner, name) for name in following
        ]
        body = helper.make_graph(
            inner,
            "body",
            [
                helper.make_tensor_value_info("i" + mark, INT64, []),
                helper.make_tensor_value_info("go" + mark, BOOL, []),
                *self.infos(states),
            ],
            [helper.make_tensor_value_info("gone" + mark, BOOL, []), *self.infos([*nexts, *piled])],
        )
        limit = self.name("m")
        self.constants[limit] = numpy.array(iterations)
        # No constants: those that never change would be folded into others.
        firsts = [self.recent(vectors) for _ in states]
        results, wholes = [self.name() for _ in states], [self.name("p") for _ in piled]
        self.constants["yes"] = numpy.array(True)  # the reference implementation needs it
        made = helper.make_node(
            "Loop", [limit, "yes", *firsts], [*results, *wholes], name=self.name("loop"), body=body
        )
        nodes.append(made)
        vectors += results
        stacks += wholes if iterations == ITERATIONS else []

    def once(self, name: str, following: list[str], states: list[str]) -> bool:
        return following.count(name) == 1 and (name in states or self.random.random() < 0.7)

    def scan(self, nodes: list[Any], vectors: list[str], stacks: list[str], depth: int) -> None:
        states = [self.name("s") for _ in range(self.random.randint(0, 2))]
        slices = [self.name("r") for _ in range(self.random.randint(1, 2))]
        inner: list[Any] = []
        inside = [*vectors, *states, *slices]
        self.block(inner, inside, list(stacks), depth)
        results = [
            self.given(inner, self.any(inside)) for _ in range(len(states) + self.random.randint(1, 2))
        ]
        body = helper.make_graph(inner, "body", self.infos([*states, *slices]), self.infos(results))
        firsts = [self.any(vectors) for _ in states]
        outs = [self.name("p") for _ in results]
        operands = [*firsts, *(self.recent(stacks) for _ in slices)]
        made = helper.make_node(
            "Scan", operands, outs, name=self.name("scan"), body=body, num_scan_inputs=len(slices)
        )
        nodes.append(made)
        vectors += outs[: len(states)]
        stacks += outs[len(states) :]


def feeds(seed: int) -> dict[str, NDArray[Any]]:
    numbers = numpy.random.default_rng(seed)
    shapes = {"x": (WIDE,), "y": (WIDE,), "xs": (ITERATIONS, WIDE), "ys": (ITERATIONS, WIDE)}
    values: dict[str, NDArray[Any]] = {
        name: numbers.integers(-9, 9, shape).astype(numpy.float32) for name, shape in shapes.items()
    }
    return values | {name: numpy.array(bool(numbers.integers(2))) for name in ("c0", "c1")}


@pytest.mark.parametrize(
    "seed", [*SEEDS[:15], *(pytest.param(seed, marks=pytest.mark.slow) for seed in SEEDS[15:])]
)
def test_the_tree_computes_what_the_model_computes(seed: int, tmp_path: Path) -> None:
    writer = Writer(seed)
    made = writer.model()
    reference: Any = import_module("onnx.reference").ReferenceEvaluator(made)
    program = load(tmp_path, made, strict=True)
    for again in range(3):
        given = feeds(10 * seed + again)
        results: list[NDArray[Any]] = reference.run(None, given)
        expected = {f"out{index}": value for index, value in enumerate(results)}
        for name, value in outputs(program, given, writer.constants).items():
            assert value.tolist() == expected[name].reshape(-1).tolist(), name
            assert program.tensors[name].shape == expected[name].shape


@pytest.mark.slow
def test_random_models_cover_all_features(tmp_path: Path) -> None:
    programs = [load(tmp_path, Writer(seed).model()) for seed in range(60)]
    found = [each for program in programs for each in program.nodes()]
    assert sum(isinstance(each, If) for each in found) > 15
    assert sum(isinstance(each, Loop) for each in found) > 50
    every = [op for program in programs for op in ops(program.body)]
    for kind in ("collect", "slice", "copy", "allocate"):
        assert sum(op.kind == kind for op in every) > 10
    assert sum(".old" in op.name for op in every) > 3  # carried tensors that are swapped
