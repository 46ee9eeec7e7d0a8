"""Options that many networks of the catalogue have."""

from __future__ import annotations

from collections.abc import Mapping

from workloads.zoo.network import NetworkOption

WIDTH = "the factor on all channel counts"


def image_size(default: int, minimum: int) -> NetworkOption:
    """The size of a square image."""
    return NetworkOption(default, "the height and width of the image in pixels", minimum, 8192)


def class_count(default: int) -> NetworkOption:
    """The number of classes."""
    return NetworkOption(default, "the number of classes", 1, 1_000_000)


def imagenet(minimum: int) -> Mapping[str, NetworkOption]:
    """The options of torchvision's networks; ``minimum`` is the ``min_size`` of its meta data."""
    return {"input": image_size(224, minimum), "classes": class_count(1000)}


def width(default: float) -> NetworkOption:
    """The factor on channels."""
    return NetworkOption(default, WIDTH, 0.05, 8)


def head(default: str) -> NetworkOption:
    """How a classifier ends."""
    text = "how it ends: with logits, or with a softmax (a sigmoid where there is one class)"
    return NetworkOption(default, text, choices=("logits", "softmax"))
