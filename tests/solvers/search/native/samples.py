"""Functions that use each part of the subset; the tests run them as Python and as machine code."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from solvers.search import columns as col
from solvers.search.native.mark import compiled

Ints = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]
Floats = npt.NDArray[np.float64]
LIMIT = 7
RATE = 0.1


class Arrays(NamedTuple):
    """One array of each type."""

    ints: Ints
    words: Words
    floats: Floats


@compiled
def add(a: int, b: int) -> int:
    return a + b - 3 * (a - b)


@compiled
def divide(a: int, b: int) -> int:
    return a // b


@compiled
def remainder(a: int, b: int) -> int:
    return a % b


@compiled
def quotient(a: int, b: int) -> float:
    return a / b


@compiled
def left(a: int, b: int) -> int:
    return a << (b & 15)


@compiled
def right(a: int, b: int) -> int:
    return a >> (b & 63)


@compiled
def bits(a: int, b: int) -> int:
    return (a & b) - (a | b) * 2 + (a ^ b)


@compiled
def least(a: int, b: int) -> int:
    return min(a, b, LIMIT) + max(a, -b) * 1000


@compiled
def size(a: int, b: int) -> int:
    return abs(a) - abs(b - a) + -a


@compiled
def order(a: int, b: int) -> int:
    result = 0
    if a < b:
        result += 1
    if a <= b:
        result += 2
    if a > b:
        result += 4
    if a >= b:
        result += 8
    if a == b:
        result += 16
    if a != b:
        result += 32
    return result


@compiled
def both(a: int, b: int) -> bool:
    return a > 0 and b > 0


@compiled
def either(a: int, b: int) -> bool:
    return a > 0 or not b > a


@compiled
def truths(a: int, b: int) -> int:
    """Numbers as conditions."""
    if a and not b:
        return 1
    if a or b:
        return bool(b and a % 2) + 2
    return 0


@compiled
def guarded(a: int, b: int) -> bool:
    """The second part is not computed where the first decides: else this would divide by 0."""
    return b != 0 and a // b > 2


@compiled
def chosen(a: int, b: int) -> float:
    return a if a > b else RATE * b


@compiled
def whole(a: int, b: int) -> int:
    return int(a * 0.37) - int(-b / 7.0) + int(a > b) + int(a)


@compiled
def fractions(a: int, b: int) -> float:
    low = float(a)
    return max(low, b * RATE) - min(low, -1.5) / 3 + abs(a * -0.5) - 1e-9 * b


@compiled
def fractions_in_order(a: int, b: int) -> int:
    x, y = a * 0.5, b * 0.25
    if x < y:
        return -1
    return 1 if x > y or x != y else 0


@compiled
def widened(a: int, b: int) -> float:
    """A variable that is whole at first and a fraction later, in a loop."""
    total = 0
    count = a > b
    for i in range(3):
        total = total * 0.5 + a  # type: ignore[assignment]
        count = count + i  # type: ignore[assignment]
    return total + count


@compiled
def looped(a: int, b: int) -> int:
    """A range up, down, in steps, with a limit and a variable that change, and one that is empty."""
    total, stop, i = 0, a % 9, -1
    for i in range(stop):
        stop += 1
        total += i * b
        i += 5
    for i in range(b % 11, -3, -2):
        total = total * 3 + i
        if total > 1000000:
            break
        if i == 2:
            continue
        total -= 1
    for i in range(5, 2):
        total += 1000 + i
    return total * 100 + i


@compiled
def counted(a: int, b: int) -> int:
    """``while`` with ``break`` and ``continue``, nested."""
    rounds = 0
    a %= 40
    while a > 0:
        a -= 1
        inner = 0
        while True:
            inner += 1
            if inner > b % 5:
                break
            if inner == 2:
                continue
            rounds += inner
        if a == 7:
            continue
        rounds += 1
    return rounds


@compiled
def early(a: int, b: int) -> int:
    """A return in the middle, with text after it that is never reached."""
    for i in range(10):
        if i * a > b:
            return i
        a += 1
    return -1


@compiled
def nothing_to_do(a: int, b: int) -> int:
    """Strings and ``pass`` do nothing."""
    "no effect"
    return col.NEVER - a - b


@compiled
def factorial(a: int, b: int) -> int:
    """Calls, also of itself."""
    n = a % 15
    return 1 if n <= 1 else n * factorial(n - 1, b)


@compiled
def called(a: int, b: int) -> int:
    return twice(both(a, b), a) + twice(b > a, 2)


@compiled
def twice(x: int, times: int) -> int:
    return x * 2 + times


SCALAR = (
    add,
    divide,
    remainder,
    quotient,
    left,
    right,
    bits,
    least,
    size,
    order,
    both,
    either,
    truths,
    guarded,
    chosen,
    whole,
    fractions,
    fractions_in_order,
    widened,
    looped,
    counted,
    early,
    nothing_to_do,
    factorial,
    called,
)
"""Functions of two whole numbers."""


@compiled
def fill(ints: Ints, words: Words, row: int) -> int:
    """Every way to read and change an element."""
    ints[row, 0] = ints[row, 1] = ints.shape[0] * 10 + ints.shape[1]
    ints[row, 2] += row + words.shape[1]
    ints[row, 2] -= 4
    words[row, 0] = 5
    words[row, 1] |= 1 << (row + 60)
    words[row, 1] ^= words[row, 0] >> 1
    words[0, 0] &= words[row, 1] | 3
    return int(words.shape[0])


@compiled
def count_bits(words: Words, row: int) -> int:
    """Shifts that bring in no sign, and comparisons of words."""
    found = 0
    for w in range(words.shape[1]):
        for bit in range(64):
            if (words[row, w] >> bit) & 1:
                found += 1
        if words[row, w] == 0 or words[row, w] != words[row, 0]:
            found += 100
        if words[row, w]:
            found += 1000
    return found


@compiled
def change(arrays: Arrays, row: int, by: float) -> float:
    """Arrays of a record, under names and without, passed on, and of one dimension."""
    ints, floats = arrays.ints, arrays.floats
    again = arrays
    done = fill(ints, arrays.words, row)
    floats[row] = floats[row] * by + done
    floats[0] += ints[row, 2]
    reset(again.floats, again.floats.shape[0] - 1)
    return float(floats[row] + count_bits(arrays.words, row))


@compiled
def reset(floats: Floats, at: int) -> None:
    if at < 0:
        return
    floats[at] = at


@compiled
def is_wide(arrays: Arrays) -> bool:
    return bool(arrays.ints.shape[1] > 3)


TABLES = (change, is_wide)
"""Functions of a record of arrays."""
