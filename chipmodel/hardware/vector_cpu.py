"""A CPU with vector instructions that does the NPU's work and reads its memory through a data cache."""

from __future__ import annotations

from fractions import Fraction
from typing import Literal, get_args

from chipmodel.hardware.field_values import Values, read_as
from chipmodel.records import dataclass

Kernels = Literal["esp-dl", "esp-nn"]
KERNELS: tuple[str, ...] = get_args(Kernels)


@dataclass(frozen=True, slots=True)
class DataCache:
    """A cache whose sets drop the line that was used least recently."""

    bytes: int
    ways: int
    line_bytes: int

    @property
    def sets(self) -> int:
        return max(1, self.bytes // (self.ways * self.line_bytes))


@dataclass(frozen=True, slots=True)
class VectorCpu:
    """``npu.model: vector-cpu``."""

    kernels: Kernels
    """The library whose kernels run: ``esp-dl``, or ``esp-nn`` as TensorFlow Lite Micro calls it."""
    launch_cycles: int
    """Core cycles of calling the kernel of each part of an op."""
    cache: DataCache
    weight_line_cycles: Fraction
    """Core cycles in which the cache reads a line of weights again; 0 for weights that need no cache."""
    cores: int = 1
    """Cores that share the rows of a convolution, and the cache."""
    first: DataCache | None = None
    """A smaller cache in front of the other."""
    first_cache_line_cycles: Fraction = Fraction(0)
    """Core cycles in which it reads a line from the other cache."""


def vector_cpu_of(values: Values) -> VectorCpu:
    """The fields ``npu.vector`` of a chip file."""
    first = read_as(DataCache, "npu.vector.first_cache", values)
    return read_as(
        VectorCpu,
        "npu.vector",
        values,
        launch_cycles=int(values["npu.launch_cycles"]),
        cache=read_as(DataCache, "npu.vector.cache", values),
        first=first if first.bytes else None,
    )
