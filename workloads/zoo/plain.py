"""AlexNet and VGG, chains of convolutions before three wide dense layers, as torchvision builds them; Tiny
YOLO v2, a chain of convolutions only; and a chain of dense layers.

The first two end in logits. An adaptive pooling before the dense layers keeps their weights the same for
every input size; at 224 it is the identity.
"""

from __future__ import annotations

from workloads.build.builder import ProgramBuilder
from workloads.build.shapes import Value
from workloads.zoo.layers import adaptive_pool, image, softmax

VGG16_STAGES: tuple[tuple[int, int], ...] = ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3))
"""Channels and 3x3 convolutions of each stage (Simonyan and Zisserman, Table 1, configuration D)."""


def alexnet(net: ProgramBuilder, *, size: int, classes: int) -> None:
    """The one-tower network of Krizhevsky 2014 ("One weird trick"), not the two-GPU one of 2012."""
    net.notes.append("AlexNet of 'One weird trick' (2014), 61.1 M parameters; that of 2012 has 62.4 M")
    x = net.conv("conv1", image(net, size), 64, 11, stride=4, pad=2)
    x = net.pool("maxpool1", x, 3, stride=2)
    x = net.conv("conv2", x, 192, 5, pad=2)
    x = net.pool("maxpool2", x, 3, stride=2)
    for i, channels in ((3, 384), (4, 256), (5, 256)):
        x = net.conv(f"conv{i}", x, channels, 3, pad=1)
    x = net.pool("maxpool3", x, 3, stride=2)
    _dense_layers(net, adaptive_pool(net, "avgpool", x, 6), classes)


def vgg16(net: ProgramBuilder, *, size: int, classes: int) -> None:
    """Configuration D without BatchNorm."""
    x = image(net, size)
    for stage, (channels, convolutions) in enumerate(VGG16_STAGES, start=1):
        for i in range(1, convolutions + 1):
            x = net.conv(f"conv{stage}_{i}", x, channels, 3, pad=1)
        x = net.pool(f"maxpool{stage}", x, 2)
    _dense_layers(net, adaptive_pool(net, "avgpool", x, 7), classes)


ANCHORS = 5


def tiny_yolov2(net: ProgramBuilder, *, size: int, classes: int) -> None:
    """yolov2-tiny.cfg of github.com/pjreddie/darknet up to its last convolution."""
    x = image(net, size)
    for stage in range(6):
        x = net.conv(f"conv{stage + 1}", x, 16 << stage, 3, pad=1)
        stays = stage == 5
        pad = (0, 0, 1, 1) if stays else 0
        x = net.pool(f"maxpool{stage + 1}", x, 2, stride=1 if stays else 2, pad=pad)
    for number, channels in ((7, 1024), (8, 512)):
        x = net.conv(f"conv{number}", x, channels, 3, pad=1)
    net.output(net.conv("conv9", x, ANCHORS * (5 + classes), 1))


def dnn_kws(net: ProgramBuilder, *, size: int, classes: int, width: int) -> None:
    """Keyword spotting by dense layers only: DNN of "Hello Edge" (Zhang et al. 2017, arXiv:1711.07128)."""
    x = net.input("input", (1, size))
    for i in range(1, 4):
        x = net.dense(f"fc{i}", x, width)
    net.output(softmax(net, net.dense("fc4", x, classes)))


def _dense_layers(net: ProgramBuilder, x: Value, classes: int) -> None:
    x = net.flatten(x)
    for i, features in enumerate((4096, 4096, classes), start=1):
        x = net.dense(f"fc{i}", x, features)
    net.output(x)
