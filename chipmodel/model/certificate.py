"""Proofs of lower bounds on the peak, as data that ``chipmodel.verify`` checks.

Every certificate makes the same claim: no plan that satisfies the problem's constraints, apart from its
capacity, has a peak below ``bytes``. ``bytes`` None claims that there is no plan at any capacity. So a
problem is proven infeasible where ``bytes`` is None or more than its capacity.
"""

from __future__ import annotations

from dataclasses import asdict

from chipmodel.records import dataclass


@dataclass(frozen=True, slots=True)
class LiveSet:
    """Buffers that are alive at one position and so share no byte: the peak is at least their sum.

    Where all their alignments are multiples of ``unit``, all but the topmost take whole units.
    """

    bytes: int
    position: int
    buffers: tuple[str, ...]
    unit: int = 1


@dataclass(frozen=True, slots=True)
class Tallest:
    """One buffer at the lowest offset that its pin, its memories and its alignment allow."""

    bytes: int | None
    buffer: str


@dataclass(frozen=True, slots=True)
class Regions:
    """A live set that must fill the gaps between its pinned buffers, or several memories.

    In each gap it can use at most the largest sum of its buffers' sizes that fits there.
    """

    bytes: int | None
    position: int
    buffers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Buffers with contradictory constraints: colliding pins, or a chain of colocated buffers whose ends must
    not share bytes or are pinned to different offsets."""

    buffers: tuple[str, ...]
    bytes: None = None


@dataclass(frozen=True, slots=True)
class Searched:
    """A solver claims to have searched everything: there is no independent proof."""

    bytes: int | None
    solver: str
    nodes: int
    record: str
    """What was searched, in a few words."""


Certificate = LiveSet | Tallest | Regions | Contradiction | Searched


def as_record(certificate: Certificate) -> dict[str, object]:
    """``certificate`` as values for JSON, with its ``kind``."""
    return {"kind": type(certificate).__name__, **asdict(certificate)}


def rests_on(certificate: Certificate) -> str:
    """The proof in a few words."""
    match certificate:
        case LiveSet(unit=1):
            return "a live set"
        case LiveSet():
            return "a live set and its alignment"
        case Tallest():
            return "a single buffer"
        case Regions():
            return "a live set and the gaps that it has to fill"
        case Contradiction():
            return "constraints that exclude each other"
        case Searched():
            return f"the word of {certificate.solver}"


def excludes(certificate: Certificate | None, capacity: int | None) -> bool:
    """Whether the certificate proves that there is no plan within ``capacity``."""
    if certificate is None:
        return False
    if certificate.bytes is None:
        return True
    return capacity is not None and certificate.bytes > capacity
