"""Small TensorFlow Lite models, and hostile changes of the numbers in them."""

from functools import cache
from random import Random

from tests.support.tflite_models import MODELS

WORDS = (0, 1, 2, 3, 5, 127, 1 << 16, 1 << 20, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, (1 << 32) - 4)
"""Numbers of 32 bits: sizes, offsets and operators that a file should not have."""
STEPS = (-64, -8, -4, -1, 1, 4, 8, 64)
"""Changes of an offset that may lead to another table."""


@cache
def tflite_models() -> tuple[bytes, ...]:
    """Valid models: convolutional, recurrent, with branches and loops."""
    return tuple(made().bytes() for made in MODELS.values())


def mutated_words(raw: bytes, random: Random) -> bytes:
    """``raw`` with some of its words of 32 bits changed: all of a flatbuffer's structure is in these."""
    changed = bytearray(raw)
    for _ in range(random.choice([1, 1, 2, 8])):
        at = 4 * random.randrange(max(1, len(changed) // 4))
        old = int.from_bytes(changed[at : at + 4], "little")
        new = random.choice(WORDS) if random.random() < 0.5 else (old + random.choice(STEPS)) % (1 << 32)
        changed[at : at + 4] = new.to_bytes(4, "little")
    return bytes(changed)
