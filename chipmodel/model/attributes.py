"""What an op of vector work needs to know besides its kind and its operands, as ONNX's attributes do.

Axes are those of the first input in the shape under which the op sees it, counted from 0.
"""

from __future__ import annotations

from typing import Literal

from chipmodel.records import dataclass


@dataclass(frozen=True, slots=True)
class AlongAxis:
    """Work along one axis of ``size`` elements: softmax, argmax, concat, split, gather."""

    axis: int
    size: int


@dataclass(frozen=True, slots=True)
class OverAxes:
    """Work over several axes: reductions, and normalisations that do not tell channels apart."""

    axes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ChannelWindow:
    """Normalisation of each element by the ``size`` channels (axis 1) around it, as ONNX's LRN."""

    size: int


@dataclass(frozen=True, slots=True)
class OverGroups:
    """Normalisation of each of ``groups`` groups of channels (axis 1) of each image."""

    groups: int


@dataclass(frozen=True, slots=True)
class AxisOrder:
    """A transpose: the input axis for each output axis."""

    order: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Margins:
    """Elements added before each axis (negative: left out); the output's shape says how many after it."""

    before: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SliceRanges:
    """A slice: the first index along each axis, and the step."""

    starts: tuple[int, ...]
    steps: tuple[int, ...]


ResizeMode = Literal["nearest", "linear", "cubic"]
CornerRule = Literal["half-pixel", "align-corners", "asymmetric", "other"]


@dataclass(frozen=True, slots=True)
class Scaling:
    """A resize: an output element is its nearest input, or a blend of two (``linear``: bilinear) or four
    (``cubic``) along each axis, of axes whose first centres, last centres or first corners lie together; by
    another rule an output may need any input."""

    mode: ResizeMode = "nearest"
    corners: CornerRule = "half-pixel"
    rounded: bool = True
    """Whether the nearest input's place is rounded to a whole number, not rounded down."""


@dataclass(frozen=True, slots=True)
class PixelBlocks:
    """Blocks of ``size`` x ``size`` pixels moved to channels, or back."""

    size: int


@dataclass(frozen=True, slots=True)
class Interleaving:
    """A shuffle of channels (axis 1): ``groups`` equal groups of channels, dealt out in turn."""

    groups: int


Attributes = (
    AlongAxis
    | OverAxes
    | ChannelWindow
    | OverGroups
    | AxisOrder
    | Margins
    | SliceRanges
    | Scaling
    | PixelBlocks
    | Interleaving
)
