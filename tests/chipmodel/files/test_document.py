"""Answers as JSON values."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from chipmodel.files.document import document, left_out


@dataclass(frozen=True, slots=True)
class Part:
    size_bytes: int
    seconds: float = 0.0
    note: str | None = left_out()


@dataclass(frozen=True, slots=True)
class Whole:
    parts: tuple[Part, ...]
    best: Part | None
    shares: dict[str, Fraction]
    FORMAT: ClassVar = "whole/2"
    KEYS: ClassVar = ("total", "note=best.note?", "best_bytes=best.size_bytes", "parts", "shares")

    @property
    def total(self) -> int:
        return sum(part.size_bytes for part in self.parts)


def test_fields_are_keys_and_none_leaves_a_key_out_where_the_class_says_so() -> None:
    assert document(Part(3, 0.12345678)) == {"size_bytes": 3, "seconds": 0.123457}
    assert list(document(Part(3, note="n"))) == ["size_bytes", "seconds", "note"]


def test_named_keys_come_in_their_order_and_reach_into_inner_values() -> None:
    found = document(Whole((Part(3), Part(4)), None, {"a": Fraction(1, 2)}))
    assert list(found) == ["format", "total", "best_bytes", "parts", "shares"]
    assert (found["format"], found["total"], found["best_bytes"]) == ("whole/2", 7, None)
    assert found["parts"][1] == {"size_bytes": 4, "seconds": 0.0}
    assert found["shares"] == {"a": 0.5}
    assert document(Whole((), Part(5, note="why"), {}))["note"] == "why"
