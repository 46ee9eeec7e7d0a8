"""Networks whose ops may run in many orders, for ``bench.order``: cells found by search, random wiring."""

from __future__ import annotations

import networkx

from chipmodel.model.program import Program
from workloads.build.builder import ProgramBuilder
from workloads.build.shapes import Value
from workloads.zoo.layers import classified

Edge = tuple[str, int]
NORMAL: tuple[Edge, ...] = (
    *(("sep_conv_3x3", 0), ("sep_conv_3x3", 1), ("sep_conv_3x3", 0), ("sep_conv_3x3", 1)),
    *(("sep_conv_3x3", 1), ("skip_connect", 0), ("skip_connect", 0), ("dil_conv_3x3", 2)),
)
REDUCTION: tuple[Edge, ...] = (
    *(("max_pool_3x3", 0), ("max_pool_3x3", 1), ("skip_connect", 2), ("max_pool_3x3", 1)),
    *(("max_pool_3x3", 0), ("skip_connect", 2), ("skip_connect", 2), ("max_pool_3x3", 1)),
)
"""The cells of DARTS, second order (Liu et al. 2019, "DARTS: Differentiable Architecture Search",
arXiv:1806.09055; genotype DARTS_V2 of its code): two edges for each of four nodes."""


def darts(size: int = 224, channels: int = 48, cells: int = 14, classes: int = 1000) -> Program:
    """DARTS on ImageNet, its ops in the order of its code, without the auxiliary head."""
    net = ProgramBuilder("darts")
    x = net.conv(
        "stem0.a", net.input("input", (1, 3, size, size)), channels // 2, 3, stride=2, pad=1, bias=False
    )
    s0 = net.conv("stem0.b", x, channels, 3, stride=2, pad=1)
    s1 = _relu_conv(net, "stem1", s0, channels, kernel=3, stride=2)
    shrunk = True
    for index in range(cells):
        reduces = index in (cells // 3, 2 * cells // 3)
        channels *= 2 if reduces else 1
        s0, s1 = s1, _cell(net, f"cell{index}", s0, s1, channels, reduces, shrunk)
        shrunk = reduces
    net.output(classified(net, "fc", s1, classes, "logits"))
    return net.build()


def _cell(
    net: ProgramBuilder, name: str, s0: Value, s1: Value, channels: int, reduces: bool, shrunk: bool
) -> Value:
    first = _halved if shrunk else _relu_conv
    states = [first(net, f"{name}.in0", s0, channels), _relu_conv(net, f"{name}.in1", s1, channels)]
    genes = REDUCTION if reduces else NORMAL
    for node in range(len(genes) // 2):
        edges = genes[2 * node : 2 * node + 2]
        made = [
            _edge(net, f"{name}.n{node}{side}", kind, states[source], 2 if reduces and source < 2 else 1)
            for side, (kind, source) in zip("ab", edges, strict=True)
        ]
        states.append(net.elementwise("add", f"{name}.n{node}", made))
    return net.concat(f"{name}.out", states[2:])


def _edge(net: ProgramBuilder, name: str, kind: str, x: Value, stride: int) -> Value:
    channels = x.shape[1]
    match kind:
        case "skip_connect":
            return x if stride == 1 else _halved(net, name, x, channels)
        case "max_pool_3x3":
            return net.pool(name, x, 3, stride=stride, pad=1)
        case "dil_conv_3x3":
            return _separable(net, name, x, channels, stride, dilation=2)
        case _:
            x = _separable(net, f"{name}.1", x, channels, stride)
            return _separable(net, f"{name}.2", x, channels, 1)


def _relu_conv(
    net: ProgramBuilder, name: str, x: Value, channels: int, kernel: int = 1, stride: int = 1
) -> Value:
    x = net.elementwise("relu", f"{name}.relu", [x])
    return net.conv(name, x, channels, kernel, stride=stride, pad=kernel // 2)


def _halved(net: ProgramBuilder, name: str, x: Value, channels: int) -> Value:
    """Factorised reduction: two 1x1 convolutions of stride 2, the second one pixel further."""
    x = net.elementwise("relu", f"{name}.relu", [x])
    halves = [net.conv(f"{name}.{i}", x, channels // 2, 1, stride=2) for i in range(2)]
    return net.concat(name, halves)


def _separable(
    net: ProgramBuilder, name: str, x: Value, channels: int, stride: int, dilation: int = 1
) -> Value:
    inside = x.shape[1]
    x = net.elementwise("relu", f"{name}.relu", [x])
    x = net.conv(
        *(f"{name}.dw", x, inside, 3),
        stride=stride,
        pad=dilation,
        dilation=dilation,
        groups=inside,
        bias=False,
    )
    return net.conv(f"{name}.pw", x, channels, 1)


def randwire(seed: int, nodes: int = 32, size: int = 56, channels: int = 78) -> Program:
    """One stage of a randomly wired network, WS(4, 0.75) (Xie et al. 2019, "Exploring Randomly Wired Neural
    Networks for Image Recognition", arXiv:1904.01569): each node adds what comes in, then ReLU and a
    separable 3x3 convolution; those without a node before have stride 2. Nodes run by their numbers."""
    net = ProgramBuilder(f"randwire-{seed}")
    x = net.input("x", (1, channels // 2, size, size))
    graph = networkx.connected_watts_strogatz_graph(nodes, 4, 0.75, seed=seed)
    made: dict[int, Value] = {}
    for node in range(nodes):
        sources = [made[other] for other in sorted(graph.neighbors(node)) if other < node]
        into = x if not sources else sources[0]
        for number, other in enumerate(sources[1:]):
            into = net.elementwise("add", f"n{node}.add{number}", [into, other])
        made[node] = _separable(net, f"n{node}", into, channels, 1 if sources else 2)
    ends = [made[n] for n in range(nodes) if all(other < n for other in graph.neighbors(n))]
    out = ends[0]
    for number, end in enumerate(ends[1:]):
        out = net.elementwise("add", f"out{number}", [out, end])
    net.output(out)
    return net.build()
