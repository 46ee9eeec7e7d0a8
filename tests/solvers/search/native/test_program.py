"""The translator: what it compiles does what Python does; what leaves the subset is refused with its line."""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# Some functions are untyped on purpose.

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from solvers.search.native.cache import FOLDER
from solvers.search.native.machine import MachineCode
from solvers.search.native.mark import compiled
from solvers.search.native.program import modules_of, program
from solvers.search.native.types import Untranslatable
from tests.solvers.search.native import samples
from tests.solvers.search.native.samples import SCALAR, TABLES, Arrays, Ints, Words

NUMBERS = some.one_of(
    some.integers(-20, 20),
    some.integers(-(1 << 40), 1 << 40),
    some.sampled_from((0, 1, -1, 1 << 45, -(1 << 45))),
)


@pytest.fixture(autouse=True, scope="module")
def _cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The samples are compiled once in each run of the tests, whatever an earlier run kept."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(FOLDER, str(tmp_path_factory.mktemp("cache")))
        yield


@cache
def machine_code() -> MachineCode:
    return MachineCode((*SCALAR, *TABLES), "samples")


@cache
def as_machine_code(function: Callable[..., Any]) -> Callable[..., Any]:
    return machine_code().function(function)


def same(one: object, other: object) -> bool:
    """Equal, to the last bit where they are floats; a whole number may stand for the float it equals."""
    return one == other or (one != one and other != other)


@pytest.mark.parametrize("function", SCALAR, ids=lambda function: function.__name__)
@given(NUMBERS, NUMBERS)
def test_scalars_are_computed_as_in_python(function: Callable[[int, int], object], a: int, b: int) -> None:
    if function in (samples.divide, samples.remainder, samples.quotient) and b == 0:
        return
    assert same(as_machine_code(function)(a, b), function(a, b))


@pytest.mark.parametrize("a", [-7, -6, -1, 0, 1, 6, 7])
@pytest.mark.parametrize("b", [-3, -2, -1, 1, 2, 3])
def test_division_rounds_down(a: int, b: int) -> None:
    assert as_machine_code(samples.divide)(a, b) == a // b
    assert as_machine_code(samples.remainder)(a, b) == a % b


def test_sums_beyond_64_bits_wrap() -> None:
    assert as_machine_code(samples.add)(-(1 << 62), 1 << 62) == -(1 << 63)


def random_arrays(seed: int) -> Arrays:
    random = np.random.default_rng(seed)
    rows, columns = int(random.integers(1, 5)), int(random.integers(3, 6))
    return Arrays(
        ints=random.integers(-99, 99, (rows, columns)),
        words=random.integers(0, 1 << 64, (rows, 3), dtype=np.uint64),
        floats=random.normal(size=rows),
    )


def addresses(arrays: Arrays) -> Any:
    return np.array([(a.ctypes.data, a.shape[0], a.shape[-1]) for a in arrays], dtype=np.int64)


@given(some.integers(0, 10**6), some.floats(-1e6, 1e6))
def test_arrays_are_changed_as_in_python(seed: int, by: float) -> None:
    machine, python = random_arrays(seed), random_arrays(seed)
    row = seed % len(machine.ints)
    table = addresses(machine)
    views: Any = Arrays(*(memoryview(array) for array in python))  # type: ignore[arg-type]
    assert as_machine_code(samples.change)(table.ctypes.data, row, by) == samples.change(views, row, by)
    for one, other in zip(machine, python, strict=True):
        assert np.array_equal(one, other)
    assert as_machine_code(samples.is_wide)(table.ctypes.data) is samples.is_wide(views)


def test_the_modules_of_a_program_are_those_of_all_that_it_calls() -> None:
    assert modules_of((samples.change,)) == {samples.__name__}


def unmarked(x: int) -> int:
    return x


@compiled
def calls_python(x: int) -> int:
    y = x + 1
    return unmarked(y)


@compiled
def raises(x: int) -> int:
    if x:
        raise ValueError
    return x


@compiled
def makes_a_list(x: int) -> int:
    return len([x])


@compiled
def compares_twice(x: int) -> bool:
    return 0 < x < 3


@compiled
def number_as_value(x: int) -> int:
    return x or 3


@compiled
def returns_another_type(x: int) -> int:
    return x * 0.5  # type: ignore[return-value]


@compiled
def large_constant(x: int) -> int:
    return x + 10**19


@compiled
def sum_of_words(words: Words) -> int:
    return int(words[0, 0] + 1)


@compiled
def order_of_words(words: Words) -> bool:
    return bool(words[0, 0] < words[0, 1])


@compiled
def negative_word(words: Words) -> bool:
    return bool(words[0, 0] == -1)


@compiled
def power(x: int) -> int:
    return int(x**2)


@compiled
def floor_of_fraction(x: float) -> float:
    return x // 2


@compiled
def step_that_varies(x: int) -> int:
    for i in range(0, 9, x):
        x += i
    return x


@compiled
def array_named_twice(one: Ints, other: Ints) -> int:
    if one[0, 0]:  # noqa: SIM108
        best = one
    else:
        best = other
    return int(best[0, 0])


@compiled
def wrong_array(one: Ints) -> bool:
    return bool(samples.count_bits(one, 0))  # type: ignore[arg-type]


@compiled
def unknown_name(x: int) -> int:
    return x + nowhere  # type: ignore[name-defined,no-any-return] # noqa: F821


@compiled
def too_few(x: int) -> int:
    return min(x)  # type: ignore[call-overload,no-any-return]


@compiled
def loop_with_else(x: int) -> int:
    while x:
        x -= 1
    else:
        x = 7
    return x


OUTSIDE = (
    calls_python,
    raises,
    makes_a_list,
    compares_twice,
    number_as_value,
    returns_another_type,
    large_constant,
    sum_of_words,
    order_of_words,
    negative_word,
    power,
    floor_of_fraction,
    step_that_varies,
    array_named_twice,
    wrong_array,
    unknown_name,
    too_few,
    loop_with_else,
)


@pytest.mark.parametrize("function", OUTSIDE, ids=lambda function: function.__name__)
def test_what_leaves_the_subset_is_refused_with_its_line(function: Callable[..., Any]) -> None:
    first = function.__code__.co_firstlineno
    with pytest.raises(Untranslatable, match=r"test_program\.py:\d+: ") as refused:
        program((function,))
    line = int(str(refused.value).split(":")[1])
    assert first < line <= first + 7


def test_signatures_need_types_of_the_subset() -> None:
    @compiled
    def text(x: str) -> int:
        return 1

    @compiled
    def several(*x: int) -> int:
        return 1

    @compiled
    def untyped(x) -> int:  # type: ignore[no-untyped-def]
        return 1

    for function in (text, several, untyped):
        with pytest.raises(Untranslatable):
            program((function,))
