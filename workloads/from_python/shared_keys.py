"""Keys that many kinds of ops share; they mean what they do in a YAML workload."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from workloads.from_yaml.field_types import Activation, Dtype


class NamedKeys(TypedDict, total=False):
    """``name`` of the op and, unless ``out`` is given, of its output; by default its kind and a number."""

    name: str


class NpuKeys(NamedKeys, total=False):
    """``cycles`` on the NPU in place of those by the chip's model; the ``core`` that runs the op;
    ``scratch``, the bytes of SharedMemory that it needs for itself while it runs."""

    cycles: int
    core: int
    scratch: int | str


class OutputKeys(NpuKeys, total=False):
    """``out``: the name of the output; by default the op's."""

    out: str


class InPlaceKeys(OutputKeys, total=False):
    """``in_place``: whether the output overwrites the first input, which nothing may read afterwards."""

    in_place: bool


class WeightKeys(OutputKeys, total=False):
    """``weights``: bytes of all weights together, by default their number times ``weight_dtype``."""

    weights: int | str
    weight_dtype: Dtype


class LayerKeys(WeightKeys, total=False):
    """Whether each output channel has a ``bias``; the ``activation`` that is applied at no cost."""

    bias: bool
    activation: Activation
