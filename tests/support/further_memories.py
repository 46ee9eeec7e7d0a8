"""Further memories of small chips, at random."""

from fractions import Fraction
from random import Random

from chipmodel.hardware.further_memories import FurtherMemory


def further(random: Random) -> tuple[FurtherMemory, ...]:
    """One or two memories, from too small for anything to roomy, from slower than any Psram to free."""

    def memory(name: str) -> FurtherMemory:
        rates = [Fraction(random.choice((1, 2, 8, 64)), random.choice((1, 3))) for _ in range(2)]
        latencies = [random.choice((0, 0, 3, 20)) for _ in range(2)]
        size = random.choice((64, 200, 512, 4096))
        return FurtherMemory(name, size, latencies[0], rates[0], latencies[1], rates[1])

    return tuple(memory(name) for name in ("second", "third")[: random.randint(1, 2)])
