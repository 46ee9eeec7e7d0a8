"""The tiered-memory search on networks that do not fit, against a bound on all states.

Seeds number chips, shares of their SharedMemory and networks of the zoo, about three hundred in all; later
ones start again. No state may cost more than the initial rule's or less than the bound. What is counted:
cases with something to decide, those where the bound leaves room to save, and those where the search saves.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache

from chipmodel.errors import DoesNotFit
from chipmodel.hardware.chip import Chip
from chipmodel.hardware.chip_file import load_chip
from chipmodel.model.program import Program
from dma.residency.chip_tiers import ChipTierProblem
from dma.residency.greedy import decide
from dma.streamers import ping_pong
from tests.fuzz.fuzzer import Fault
from tests.solvers.tiers.relaxation import least_cycles
from tests.support.networks import PLANNED
from tests.support.tiers import initial_state
from workloads.zoo import build

CHIPS = ("luna-arcs", "luna-csk6", "esp32s3", "gap9-psram", "stm32n6", "alif-e7")
PARTS = (1, 2, 4)
TOLERANCE = Fraction(1, 100_000)
"""An initial state that costs no more than this share above the bound counts as the cheapest."""
PART_FOR_WEIGHTS = 16
"""The streamer reserves 1/16 of the memory for a weight buffer, one of the four shares that it tries."""


@dataclass(frozen=True, slots=True)
class TierCase:
    """A network on a chip that has a share of its SharedMemory."""

    network: str
    chip: Chip

    def asked(self, program: Program) -> ChipTierProblem | None:
        """The tier problem; None where the network fits, or cannot run at all."""
        size = self.chip.shared_memory.bytes
        reserve = ping_pong.STREAMER.reserve(program, size // PART_FOR_WEIGHTS)
        try:
            decide(program, size, reserve, spill=False)
            return None
        except DoesNotFit:
            pass
        try:
            asked = ChipTierProblem(program, self.chip, size, reserve)
            initial_state(asked.problem)
        except DoesNotFit:
            return None
        return asked


def cases(chips: Sequence[str], parts: Sequence[int]) -> Iterator[TierCase]:
    """Every network of the zoo on each chip, with 1/part of its SharedMemory."""
    for name in chips:
        whole = load_chip(name)
        for part in parts:
            memory = whole.shared_memory
            size = memory.bytes // part // memory.alignment * memory.alignment
            chip = replace(whole, shared_memory=replace(memory, bytes=size))
            yield from (TierCase(network.name, chip) for network in PLANNED)


CASES = len(CHIPS) * len(PARTS) * len(PLANNED)
COUNT = CASES


def check_case(case: TierCase) -> Counter[str]:
    """Search the states of one case. Raises Fault where one is dearer than the first or cheaper than all."""
    asked = case.asked(build(case.network))
    if asked is None:
        return Counter()
    found = asked.found()
    initial, cycles = found.initial.cycles, found.state.cycles
    least = least_cycles(asked.problem)
    if not least <= cycles <= initial:
        raise Fault(f"{case.network} on {case.chip.name}: {cycles} cycles, from {initial}, bound {least}")
    improvable = cycles < initial or least * (1 + TOLERANCE) < initial
    return Counter(cases=1, improved=cycles < initial, improvable=improvable)


def check(seed: int) -> Counter[str]:
    return check_case(_every_case()[seed % CASES])


@cache
def _every_case() -> list[TierCase]:
    return list(cases(CHIPS, PARTS))
