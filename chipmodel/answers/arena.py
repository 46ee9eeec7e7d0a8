"""The arena of TensorFlow Lite Micro: what the runtime asks memory for, and how it may be laid out."""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar

from chipmodel.model.plan import Status
from chipmodel.records import dataclass


@dataclass(frozen=True, slots=True)
class ArenaRequest:
    """Bytes that the runtime plans in the head of the arena.

    ``first`` and ``last`` are the runtime's allocation scopes, both included: a scope for each operator, and
    one for each subgraph that an operator runs. ``tensor`` is the number among all tensors of the model, None
    for memory that a kernel asks for when it is prepared, which has no place in an offline plan. ``reads``
    and ``writes`` count the operators that read and write the tensor; an operator that runs a subgraph counts
    as a run of it, and copies what goes in and what comes out.
    """

    name: str
    bytes: int
    first: int
    last: int
    tensor: int | None
    reads: int = 0
    writes: int = 0


@dataclass(frozen=True, slots=True)
class ArenaAnswer:
    """The head of a model's arena by the runtime's own planner and by ours."""

    source: str
    planner: str
    status: Status
    head_bytes: int
    """What the runtime takes with ``offsets``, the memory of its kernels included."""
    lower_bound_bytes: int
    """No plan takes less."""
    runtime_head_bytes: int
    """What the runtime takes by its own planner."""
    kernel_bytes: int
    """The most memory that kernels ask for at one operator."""
    tail_estimate_bytes: int
    """The part that stays for good, on a processor of 32 bits: an estimate."""
    unknown_kernels: tuple[str, ...]
    """Operators whose kernels may ask for memory that is not known here."""
    offsets: tuple[int, ...]
    """For each tensor of the model its offset in the head, or -1 where the runtime is to decide or the tensor
    is none of the head's; empty where some kernel is unknown."""
    requests: tuple[ArenaRequest, ...]


@dataclass(frozen=True, slots=True)
class ArenaPlace:
    """Where a request lies: in SRAM or, with ``in_psram``, in Psram, at an offset in that memory's arena.

    ``price`` is what its accesses take, or would take, in Psram: cycles of the chip's model, or bytes."""

    request: ArenaRequest
    in_psram: bool
    offset: int
    price: int
    KEYS: ClassVar = (
        *("name=request.name", "tensor=request.tensor", "memory", "offset", "bytes=request.bytes"),
        *("first=request.first", "last=request.last", "reads=request.reads", "writes=request.writes"),
        "price",
    )

    @property
    def memory(self) -> str:
        """The memory's name in the document."""
        return "psram" if self.in_psram else "sram"


@dataclass(frozen=True, slots=True)
class SplitArenaAnswer:
    """Requests of a model over two memories, and what the places take of both."""

    source: str
    sram_bytes: int
    sram_limit_bytes: int
    psram_bytes: int
    psram_limit_bytes: int
    price: int
    """The sum of what lies in Psram, in cycles of ``chip`` at ``core_mhz``, or, without a chip, in bytes."""
    price_lower_bound: int
    """No choice has less."""
    tail_estimate_bytes: int
    places: tuple[ArenaPlace, ...]
    """In the order in which the runtime adds them. Memory of kernels is always in SRAM."""
    chip: str = ""
    core_mhz: Fraction = Fraction(0)
    unknown_kernels: tuple[str, ...] = ()
    KEYS: ClassVar = (
        *("source", "sram_bytes", "sram_limit_bytes", "psram_bytes", "psram_limit_bytes", "chip", "unit"),
        *("price", "price_lower_bound", "tail_estimate_bytes", "unknown_kernels", "places"),
    )

    @property
    def unit(self) -> str:
        """The unit of prices."""
        return "cycles" if self.chip else "B"

    @property
    def moved(self) -> tuple[ArenaPlace, ...]:
        """What lies in Psram, the most expensive first."""
        return tuple(sorted((place for place in self.places if place.in_psram), key=lambda each: -each.price))
