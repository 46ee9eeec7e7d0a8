"""The arena of TensorFlow Lite Micro: what the runtime asks memory for, and how it may be laid out."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from chipmodel.model.plan import Status


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
    """The head of a model's arena by the runtime's own planner and by ours, in bytes.

    ``offsets`` has an entry for each tensor of the model: its offset in the head, or -1 where the runtime is
    to decide or the tensor is none of the head's; it is empty where some kernel is ``unknown``.
    ``head_bytes`` is what the runtime then takes, the memory of its kernels included, and no plan takes less
    than ``lower_bound``."""

    source: str
    requests: tuple[ArenaRequest, ...]
    offsets: tuple[int, ...]
    runtime_bytes: int
    head_bytes: int
    lower_bound: int
    status: Status
    planner: str
    tail_estimate: int
    """Bytes of the part that stays for good, on a processor of 32 bits: an estimate."""
    unknown: tuple[str, ...] = ()
    """Operators whose kernels may ask for memory that is not known here."""

    @property
    def scratch_bytes(self) -> int:
        """The most memory that kernels ask for at one operator."""
        by_scope: dict[int, int] = {}
        for each in self.requests:
            if each.tensor is None:
                by_scope[each.last] = by_scope.get(each.last, 0) + each.bytes
        return max(by_scope.values(), default=0)


@dataclass(frozen=True, slots=True)
class ArenaPlace:
    """Where a request lies: in SRAM or, with ``in_psram``, in Psram, at an offset in that memory's arena.

    ``price`` is what its accesses take, or would take, in Psram: cycles of the chip's model, or bytes."""

    request: ArenaRequest
    in_psram: bool
    offset: int
    price: int


@dataclass(frozen=True, slots=True)
class SplitArenaAnswer:
    """Requests of a model over two memories: ``places`` in the order in which the runtime adds them.

    ``sram_bytes`` and ``psram_bytes`` are what the places take of the ``sram_limit`` and ``psram_limit``.
    ``price`` adds up what lies in Psram, in cycles of ``chip`` at ``core_mhz``, or, without a chip, in bytes;
    no choice has less than ``lower_bound``. Memory of kernels is always in SRAM."""

    source: str
    places: tuple[ArenaPlace, ...]
    sram_bytes: int
    psram_bytes: int
    sram_limit: int
    psram_limit: int
    price: int
    lower_bound: int
    tail_estimate: int
    chip: str = ""
    core_mhz: Fraction = Fraction(0)
    unknown: tuple[str, ...] = ()

    @property
    def moved(self) -> tuple[ArenaPlace, ...]:
        """What lies in Psram, the most expensive first."""
        return tuple(sorted((each for each in self.places if each.in_psram), key=lambda each: -each.price))
