"""Two of the four reference models of MLPerf Tiny v1 (Banbury et al. 2021, arXiv:2106.07597).

ResNet-8 follows the Keras code in github.com/mlcommons/tiny (16 filters), DS-CNN a public port of
it: padding is TensorFlow's "same" and the classifiers end in a softmax.
"""

from __future__ import annotations

from workloads.build.builder import ProgramBuilder
from workloads.build.shapes import Value
from workloads.zoo.layers import add, classifier, image, separable_chain, softmax


def ds_cnn(net: ProgramBuilder, *, size: int, coefficients: int, classes: int) -> None:
    """Keyword spotting: a ``size`` frames by ``coefficients`` MFCC spectrogram, as one channel."""
    x = net.input("input", (1, 1, size, coefficients))
    x = net.conv("conv1", x, 64, (10, 4), stride=2, pad="same")
    x = separable_chain(net, x, [(64, 1)] * 4)
    # The reference pools by half of the input, rounded down: 24 of the 25 rows that 49 frames leave.
    x = net.pool("avgpool", x, (size // 2, coefficients // 2), kind="average_pool")
    net.output(softmax(net, net.dense("fc", net.flatten(x), classes)))


def resnet8(net: ProgramBuilder, *, size: int, classes: int) -> None:
    """CIFAR-10: three residual stacks of 16, 32 and 64 filters, one block each."""
    x = net.conv("conv1", image(net, size), 16, 3, pad="same")
    for stack, (filters, stride) in enumerate(((16, 1), (32, 2), (64, 2)), start=1):
        x = _residual(net, f"stack{stack}", x, filters, stride)
    net.output(softmax(net, classifier(net, "fc", x, classes)))


def _residual(net: ProgramBuilder, name: str, x: Value, filters: int, stride: int) -> Value:
    y = net.conv(f"{name}.conv1", x, filters, 3, stride=stride, pad="same")
    y = net.conv(f"{name}.conv2", y, filters, 3, pad="same")
    if stride != 1:
        x = net.conv(f"{name}.shortcut", x, filters, 1, stride=stride, pad="same")
    return add(net, f"{name}.add", x, y)
