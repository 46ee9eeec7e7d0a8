"""Dataclasses made quickly are what the standard library makes of the same text."""

import dataclasses
import inspect
import pickle
from collections.abc import Callable
from dataclasses import field
from typing import Any

import pytest

from chipmodel.records import dataclass


def made_by(decorator: Any, **options: bool) -> tuple[Any, Any]:
    """A class and one based on it."""

    @decorator(frozen=True, slots=True, **options)
    class Base:
        first: int
        second: str = "x"
        third: list[int] = field(default_factory=list[int])
        quiet: int = field(default=0, repr=False, compare=False)
        derived: int = field(init=False)

        def __post_init__(self) -> None:
            object.__setattr__(self, "derived", self.first * 2)

    @decorator(frozen=True, slots=True, kw_only=True, **options)
    class Further(Base):
        last: int
        fixed: int = field(init=False, default=7)

        def __repr__(self) -> str:
            return "its own text"

    return Base, Further


def behaviour(cls: Any, one: Any, same: Any, other: Any) -> list[object]:
    """What a class does whose first two objects are equal."""
    told: list[object] = [
        " at 0x" in repr(one) or repr(one),
        one == same,
        one == other,
        one != 3,
        other == one,
    ]
    told += [dataclasses.asdict(one), dataclasses.replace(one, first=5).derived, one.__match_args__]
    told += [str(inspect.signature(cls)), hasattr(one, "__dict__"), cls.__slots__]
    acts: list[Callable[[], object]] = [
        lambda: hash(one),
        lambda: setattr(one, "first", 3),
        lambda: delattr(one, "first"),
        cls,
    ]
    for act in acts:
        try:
            told.append(act() is None)
        except (TypeError, AttributeError) as error:
            told.append((type(error), str(error)))
    return told


@pytest.mark.parametrize("options", [{}, {"repr": False}, {"eq": False}], ids=str)
def test_a_class_does_what_the_standard_one_does(options: dict[str, bool]) -> None:
    given: list[tuple[tuple[Any, ...], dict[str, Any]]]
    given = [((1,), {}), ((1, "x", [], 9), {}), ((2, "x"), {"third": [3]})]
    pairs = zip(made_by(dataclass, **options), made_by(dataclasses.dataclass, **options), strict=True)
    for classes, last in zip(pairs, ({}, {"last": 1}), strict=True):
        quick, standard = (
            behaviour(cls, *(cls(*values, **named, **last) for values, named in given)) for cls in classes
        )
        assert quick == standard


@dataclass(frozen=True, slots=True)
class Pair:
    one: int
    other: tuple[int, ...] = ()


def test_objects_hash_by_their_values_and_survive_a_pickle() -> None:
    assert pickle.loads(pickle.dumps(Pair(1, (2,)))) == Pair(1, (2,))
    assert len({Pair(1), Pair(1), Pair(2)}) == 2
