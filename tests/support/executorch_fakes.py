"""Graphs with the attributes of ExecuTorch's, its planning pass, and a machine that runs them byte by byte.

``plan`` walks graphs as ``apply_algo`` of exir/memory_planning.py does. ``Machine`` does what the emitted
program would: submodules run between jumps, a ``cond`` moves pointers (``MoveCall``), ``map`` copies slices.
Every op marks all bytes of its result with a mark of its own, and whoever reads a tensor finds that mark, or
fails.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count, zip_longest
from random import Random
from typing import cast

from chipmodel.executorch.graphs import PlannedSpec
from tests.support.narrowed import some

Algorithm = Callable[..., list[int]]


@dataclass(eq=False)
class Spec:
    """``TensorSpec``."""

    bytes: int
    mem_id: int | None = None
    lifetime: list[int | None] = field(default_factory=lambda: [None, None])
    mem_offset: int | None = None
    mem_obj_id: int | None = None
    storage_base: PlannedSpec | None = None
    storage_base_offset: int = 0
    alignment: int = 1

    @property
    def allocated_memory(self) -> int:
        return -(-self.bytes // self.alignment) * self.alignment

    def realign(self, new_alignment: int) -> int:
        self.alignment = new_alignment
        return self.allocated_memory


@dataclass(eq=False)
class ViewSpec:
    """``_ViewSpec``: all but the shape is its base's."""

    _base: Spec

    @property
    def base(self) -> Spec:
        return self._base


@dataclass
class Operation:
    """What a ``call_function`` node calls."""

    __name__: str


@dataclass(eq=False)
class Node:
    """``torch.fx.Node``."""

    op: str
    target: object = ""
    args: tuple[object, ...] = ()
    meta: dict[str, object] = field(default_factory=dict[str, object])

    @property
    def spec(self) -> Spec:
        found = self.meta["spec"]
        return found.base if isinstance(found, ViewSpec) else cast("Spec", found)

    @property
    def name(self) -> str:
        return str(getattr(self.target, "__name__", ""))


@dataclass(eq=False)
class Graph:
    nodes: list[Node] = field(default_factory=list[Node])


class Module:
    """``GraphModule``, and the calls that build its graph."""

    def __init__(self) -> None:
        self.meta: dict[str, object] = {}
        self.graph = Graph()
        self.input_mem_buffer_sizes: list[int] = []

    def add(self, op: str, target: object = "", args: tuple[object, ...] = (), spec: object = None) -> Node:
        node = Node(op, target, args, {"spec": spec})
        self.graph.nodes.append(node)
        return node

    def placeholder(self, size: int) -> Node:
        return self.add("placeholder", spec=Spec(size))

    def call(self, inputs: Sequence[Node], size: int, mem_id: int | None = None) -> Node:
        return self.add("call_function", Operation("op"), tuple(inputs), Spec(size, mem_id))

    def view(self, base: Node) -> Node:
        return self.add("call_function", Operation("view"), (base,), ViewSpec(base.spec))

    def inner(self, submodule: Module) -> Node:
        name = f"submodule_{len(self.graph.nodes)}"
        setattr(self, name, submodule)
        return self.add("get_attr", name)

    def control(self, name: str, args: tuple[object, ...], sizes: Sequence[int]) -> list[Node]:
        """A node that runs submodules, and its results."""
        node = self.add("call_function", Operation(name), args, tuple(Spec(size) for size in sizes))
        specs = cast("tuple[Spec, ...]", node.meta["spec"])
        return [
            self.add("call_function", Operation("getitem"), (node, number), spec)
            for number, spec in enumerate(specs)
        ]

    def cond(
        self, arms: tuple[Module, Module], operands: Sequence[Node], sizes: Sequence[int], predicate: Node
    ) -> list[Node]:
        return self.control("cond", (predicate, *map(self.inner, arms), list(operands)), sizes)

    def map(self, body: Module, mapped: Node, operands: Sequence[Node], size: int) -> Node:
        return self.control("map_impl", (self.inner(body), [mapped], list(operands)), [size])[0]

    def output(self, results: Sequence[Node]) -> Module:
        self.add("output", args=(tuple(results),), spec=tuple(node.meta["spec"] for node in results))
        return self


def nodes_in(tree: object) -> Iterator[Node]:
    if isinstance(tree, Node):
        yield tree
    elif isinstance(tree, list | tuple):
        for each in cast("Sequence[object]", tree):
            yield from nodes_in(each)


def specs_in(node: Node) -> list[Spec]:
    """``get_node_tensor_specs``: for a view, its base's."""
    found = node.meta.get("spec")
    if isinstance(found, ViewSpec):
        return [found.base]
    specs = cast("Sequence[object]", found if isinstance(found, tuple) else (found,))
    return [each for each in specs if isinstance(each, Spec)]


def set_lifetimes(module: Module) -> None:
    """``update_all_tensors_lifetime``."""
    for number, node in enumerate(module.graph.nodes):
        for each in (node, *nodes_in(node.args)):
            for spec in specs_in(each):
                first, last = spec.lifetime
                start = number if first is None else min(first, number)
                spec.lifetime = [0 if node.op == "placeholder" else start, max(last or 0, number)]


def plan(
    algorithm: Algorithm, module: Module, alignment: int = 1, padding: int = 0, inputs: bool = True
) -> list[int]:
    """``apply_algo``: submodules first, then the graph itself; the bytes of each memory."""
    set_lifetimes(module)
    ends: set[Spec] = set()
    if not inputs:
        ends = {spec for node in module.graph.nodes if node.op == "placeholder" for spec in specs_in(node)}
    specs = dict.fromkeys(spec for node in module.graph.nodes for spec in specs_in(node) if spec not in ends)
    sizes: list[int] = []
    for node in module.graph.nodes:
        for each in nodes_in(node.args) if node.name in ("cond", "map_impl", "while_loop", "scan") else ():
            if each.op == "get_attr":
                inner = cast("Module", getattr(module, str(each.target)))
                own = plan(algorithm, inner, alignment, padding, node.name in ("map_impl", "scan"))
                sizes = [max(pair) for pair in zip_longest(own, sizes, fillvalue=0)]
    module.input_mem_buffer_sizes = sizes
    found = algorithm(alignment, list(specs), module, None, padding)
    module.meta["non_const_buffer_sizes"] = found
    return found


@dataclass
class Value:
    """A runtime value: where a tensor's bytes are at present."""

    mem_id: int
    start: int
    stop: int


Held = tuple[Value, list[int]]
"""A value, and the marks that equal parts of it should hold."""


class Clobbered(Exception):
    """A tensor was read whose bytes another had overwritten."""


@dataclass
class Machine:
    """Memories by number; ``choose`` says for each ``cond`` that is reached which arm runs."""

    sizes: Sequence[int]
    choose: Callable[[], bool]
    iterations: int = 2
    holds: dict[tuple[int, int], int] = field(default_factory=dict[tuple[int, int], int])
    values: dict[Spec, Value] = field(default_factory=dict[Spec, Value])
    marks: Iterator[int] = field(default_factory=count)

    def value(self, spec: Spec) -> Value:
        """The one value of a spec; at first where it was planned."""
        if spec not in self.values:
            assert spec.mem_offset is not None
            assert spec.mem_offset % spec.alignment == 0
            value = Value(some(spec.mem_id), spec.mem_offset, spec.mem_offset + spec.bytes)
            assert value.stop <= self.sizes[value.mem_id], "beyond the end of its memory"
            self.values[spec] = value
        return self.values[spec]

    def write(self, value: Value, part: tuple[int, int] | None = None) -> int:
        mark = next(self.marks)
        start, stop = part or (0, value.stop - value.start)
        for byte in range(value.start + start, value.start + stop):
            self.holds[value.mem_id, byte] = mark
        return mark

    def read(self, value: Value, expected: Sequence[int]) -> None:
        """Find the expected marks, one for each of equal parts."""
        part = (value.stop - value.start) // len(expected)
        for number in range(part * len(expected)):
            if self.holds.get((value.mem_id, value.start + number)) != expected[number // part]:
                raise Clobbered(f"memory {value.mem_id}, bytes {value.start} to {value.stop}")

    def run(self, module: Module, bound: Sequence[Held | None]) -> list[Held]:
        """Run a graph whose placeholders are ``bound``, or have memory of their own that is written here;
        return its results."""
        known: dict[Node, Held] = {}
        given = iter(bound)
        for node in module.graph.nodes:
            for each in nodes_in(node.args):
                if each in known:
                    self.read(*known[each])
            if node.op == "placeholder":
                outside = next(given)
                value = outside[0] if outside else self.value(node.spec)
                known[node] = outside or (value, [self.write(value)])
            elif node.op == "output":
                return [known[each] for each in nodes_in(node.args)]
            elif node.name == "view":
                known[node] = self.view(node, known)
            elif node.name == "cond":
                self.cond(module, node, known)
            elif node.name == "map_impl":
                self.map(module, node, known)
            elif node.name == "op":
                value = self.value(node.spec)
                known[node] = value, [self.write(value)]
        raise AssertionError("a graph without output")

    def view(self, node: Node, known: dict[Node, Held]) -> Held:
        """``_emit_view``: the planned address of the base if it has one, else where the base is now."""
        (base,) = nodes_in(node.args)
        value, marks = known[base]
        spec = base.spec
        if spec.mem_offset is None:
            return value, marks
        return Value(cast("int", spec.mem_id), spec.mem_offset, spec.mem_offset + spec.bytes), marks

    def results(self, module: Module, node: Node) -> list[Node]:
        return [each for each in module.graph.nodes if each.name == "getitem" and each.args[0] is node]

    def cond(self, module: Module, node: Node, known: dict[Node, Held]) -> None:
        _, *arms, operands = node.args
        arm = cast("Node", arms[0] if self.choose() else arms[1])
        inside = cast("Module", getattr(module, str(arm.target)))
        returned = self.run(inside, [known[each] for each in nodes_in(operands)])
        for result, (value, marks) in zip(self.results(module, node), returned, strict=True):
            moved = self.value(result.spec)
            moved.mem_id, moved.start, moved.stop = value.mem_id, value.start, value.stop
            known[result] = moved, list(marks)

    def map(self, module: Module, node: Node, known: dict[Node, Held]) -> None:
        body, (mapped,), operands = cast("tuple[Node, list[Node], list[Node]]", node.args)
        inside = cast("Module", getattr(module, str(body.target)))
        (result,) = self.results(module, node)
        value = self.value(result.spec)
        part = (value.stop - value.start) // self.iterations
        marks: list[int] = []
        for number in range(self.iterations):
            self.read(*known[mapped])
            ((inner, expected),) = self.run(inside, [None, *(known[each] for each in operands)])
            self.read(inner, expected)
            marks.append(self.write(value, (number * part, (number + 1) * part)))
        known[result] = value, marks


def random_module(random: Random, unit: int = 1, depth: int = 2) -> Module:
    """A small method with branches, loops and views; sizes are multiples of ``unit``."""
    module = Module()
    inputs = [module.placeholder(unit * random.randint(1, 4)) for _ in range(random.randint(1, 2))]
    return _filled(random, module, inputs, [unit * random.randint(1, 4)], unit, depth)


def _filled(
    random: Random, module: Module, inputs: list[Node], outputs: Sequence[int], unit: int, depth: int
) -> Module:
    """``module`` with nodes that read ``inputs`` and an output of each size of ``outputs``."""
    nodes = list(inputs)
    for _ in range(random.randint(1, 4)):
        kind = random.random()
        operands = random.sample(nodes, random.randint(1, min(2, len(nodes))))
        size = unit * random.randint(1, 5)
        if kind < 0.3 and depth:
            sizes = [size, *([unit] if random.random() < 0.4 else [])]
            arms = (
                _submodule(random, operands, sizes, unit, depth),
                _submodule(random, operands, sizes, unit, depth),
            )
            nodes += module.cond(arms, operands, sizes, random.choice(nodes))
        elif kind < 0.4 and depth:
            mapped, *others = operands
            body = Module()
            slices = [body.placeholder(unit), *(body.placeholder(each.spec.bytes) for each in others)]
            nodes.append(
                module.map(_filled(random, body, slices, [size], unit, depth - 1), mapped, others, 2 * size)
            )
        elif kind < 0.5:
            nodes.append(module.view(random.choice([each for each in nodes if each.name != "view"])))
        else:
            nodes.append(module.call(operands, size))
    results: list[Node] = []
    for size in outputs:
        there = [each for each in nodes if each.name != "view" and each.spec.bytes == size]
        made = not there or random.random() < 0.5
        results.append(module.call([random.choice(nodes)], size) if made else random.choice(there))
    return module.output(results)


def _submodule(
    random: Random, operands: Sequence[Node], sizes: Sequence[int], unit: int, depth: int
) -> Module:
    arm = Module()
    return _filled(
        random, arm, [arm.placeholder(each.spec.bytes) for each in operands], sizes, unit, depth - 1
    )
