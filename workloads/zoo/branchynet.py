"""BranchyNet: early exits (Teerapittayanon, McDanel, Kung, ICPR 2016, arXiv:1709.01686).

B-AlexNet for CIFAR-10 and B-LeNet for MNIST, layer by layer as in the authors' code
(github.com/kunglab/branchynet, networks/alex_cifar10.py and lenet_mnist.py), whose pooling rounds up.
A side branch's classifier gives probabilities; where their entropy is below a threshold the run ends there
(the paper's Figure 2). Each exit is an ``if``: its arm ``exit`` outputs the branch's result, ``continue``
holds the rest of the network with its own exits. Probabilities: the paper's Table I, column Exit (%).
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from chipmodel.model.attributes import AlongAxis, OverAxes
from chipmodel.records import dataclass
from workloads.build.builder import ProgramBuilder
from workloads.build.shapes import Value
from workloads.zoo.control_flow import choose, copy_to
from workloads.zoo.layers import image

Layers = Callable[[ProgramBuilder, str, Value], Value]
"""(net, prefix of the names, input) -> output."""


@dataclass(frozen=True, slots=True)
class BranchyStage:
    """A segment of the main branch, and the side branch after it: None for the last stage."""

    main: Layers
    side: Layers | None
    leaving: Fraction = Fraction(1)
    """The share of all inputs that exit here."""


def branchynet(net: ProgramBuilder, *, variant: str, classes: int) -> None:
    """Output: ``output`` (1, classes), the probabilities from the exit that was taken."""
    size, channels, stages = VARIANTS[variant]
    _from_stage(net, stages, 0, image(net, size, channels), Fraction(1), classes)
    net.output(Value("output", (1, classes), net.dtype))


def _from_stage(
    net: ProgramBuilder, stages: tuple[BranchyStage, ...], index: int, x: Value, left: Fraction, classes: int
) -> None:
    """Build stage ``index`` and those after it; ``left`` is the share of the inputs that reach it."""
    stage, name = stages[index], f"exit{index + 1}"
    x = stage.main(net, "", x)
    if stage.side is None:
        scores = _scores(net, "fc", x, classes)
        net.vector("softmax", "softmax", [scores], outputs=["output"], attributes=AlongAxis(1, classes))
        return
    scores = _scores(net, f"{name}.fc", stage.side(net, f"{name}.", x), classes)
    guess = net.vector("softmax", f"{name}.softmax", [scores], attributes=AlongAxis(1, classes))

    choose(
        net,
        name,
        _entropy(net, name, guess),
        {
            "exit": lambda: copy_to(net, f"{name}.answer", guess, "output"),
            "continue": lambda: _from_stage(net, stages, index + 1, x, left - stage.leaving, classes),
        },
        {"exit": stage.leaving / left},
    )


def _scores(net: ProgramBuilder, name: str, x: Value, classes: int) -> Value:
    return net.dense(name, net.flatten(x), classes)


def _entropy(net: ProgramBuilder, name: str, guess: Value) -> Value:
    """The sum of p log p over the classes, to be compared with the exit's threshold."""
    logs = net.elementwise("log", f"{name}.log", [guess])
    products = net.elementwise("mul", f"{name}.products", [guess, logs])
    return net.vector("reduce_sum", f"{name}.entropy", [products], (1, 1), rows=1, attributes=OverAxes((1,)))


def _pool(net: ProgramBuilder, name: str, x: Value, kernel: int) -> Value:
    return net.pool(name, x, kernel, stride=2, ceil=True)


def _normed_pool(net: ProgramBuilder, name: str, x: Value) -> Value:
    return net.vector("lrn", f"{name}norm", [_pool(net, f"{name}pool", x, 3)], rows=1)


def _alex1(net: ProgramBuilder, name: str, x: Value) -> Value:
    x = _normed_pool(net, f"{name}1.", net.conv(f"{name}conv1", x, 32, 5, pad=2))
    return net.conv(f"{name}conv2", x, 64, 5, pad=2)


def _alex1_side(net: ProgramBuilder, name: str, x: Value) -> Value:
    x = _normed_pool(net, name, x)
    x = net.conv(f"{name}conv2", net.conv(f"{name}conv1", x, 32, 3, pad=1), 32, 3, pad=1)
    return _pool(net, f"{name}last_pool", x, 3)


def _alex2(net: ProgramBuilder, name: str, x: Value) -> Value:
    return net.conv(f"{name}conv3", _normed_pool(net, f"{name}2.", x), 96, 3, pad=1)


def _alex2_side(net: ProgramBuilder, name: str, x: Value) -> Value:
    x = net.conv(f"{name}conv1", _normed_pool(net, name, x), 32, 3, pad=1)
    return _pool(net, f"{name}last_pool", x, 3)


def _alex3(net: ProgramBuilder, name: str, x: Value) -> Value:
    x = net.conv(f"{name}conv5", net.conv(f"{name}conv4", x, 96, 3, pad=1), 64, 3, pad=1)
    x = net.flatten(_pool(net, f"{name}5.pool", x, 3))
    return net.dense(f"{name}fc2", net.dense(f"{name}fc1", x, 256), 128)


def _lenet1(net: ProgramBuilder, name: str, x: Value) -> Value:
    return net.conv(f"{name}conv1", x, 5, 5, pad=3)


def _lenet1_side(net: ProgramBuilder, name: str, x: Value) -> Value:
    x = net.conv(f"{name}conv1", _pool(net, f"{name}pool", x, 2), 10, 3, pad=1)
    return _pool(net, f"{name}last_pool", x, 2)


def _lenet2(net: ProgramBuilder, name: str, x: Value) -> Value:
    x = net.conv(f"{name}conv2", _pool(net, f"{name}1.pool", x, 2), 10, 5, pad=3)
    x = net.conv(f"{name}conv3", _pool(net, f"{name}2.pool", x, 2), 20, 5, pad=3)
    return net.dense(f"{name}fc1", net.flatten(_pool(net, f"{name}3.pool", x, 2)), 84)


def _percent(text: str) -> Fraction:
    return Fraction(text) / 100


VARIANTS: dict[str, tuple[int, int, tuple[BranchyStage, ...]]] = {
    "alexnet": (
        32,
        3,
        (
            BranchyStage(_alex1, _alex1_side, _percent("65.6")),
            BranchyStage(_alex2, _alex2_side, _percent("25.2")),
            BranchyStage(_alex3, None),
        ),
    ),
    "lenet": (28, 1, (BranchyStage(_lenet1, _lenet1_side, _percent("94.3")), BranchyStage(_lenet2, None))),
}
"""Side and channels of the image, and the stages. Table I: B-AlexNet 65.6, 25.2 and 9.2 %, B-LeNet 94.3 and
5.63 %; here the last exit has the remainder."""
