"""Proofs of lower bounds on the peak, as data that ``chipmodel.verify`` checks.

Every certificate makes the same claim: no plan that satisfies the problem's constraints, apart from its
capacity, has a peak below ``bytes``. ``bytes`` None claims that there is no plan at any capacity. So a
problem is proven infeasible where ``bytes`` is None or more than its capacity.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass

from chipmodel.errors import BadInput


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
class Reachable:
    """Moved down as far as possible, every buffer starts at 0, at a pin, or on top of another, so the peak is
    a sum of sizes; there is no such sum between the bound of ``floor`` and ``bytes``."""

    bytes: int
    floor: LiveSet | Tallest | Regions


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Buffers with contradictory constraints: colliding pins, or a chain of colocated buffers whose ends must
    not share bytes or are pinned to different offsets."""

    buffers: tuple[str, ...]
    bytes: None = None


@dataclass(frozen=True, slots=True)
class Core:
    """A few buffers that do not fit below ``bytes`` even alone; few enough to try all their plans."""

    bytes: int | None
    buffers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Searched:
    """A solver claims to have searched everything: there is no independent proof."""

    bytes: int | None
    solver: str
    nodes: int
    record: str
    """What was searched, in a few words."""


Certificate = LiveSet | Tallest | Regions | Reachable | Contradiction | Core | Searched
FLOORS = ("LiveSet", "Tallest", "Regions")
KINDS = {
    kind.__name__: kind for kind in (LiveSet, Tallest, Regions, Reachable, Contradiction, Core, Searched)
}


def as_record(certificate: Certificate) -> dict[str, object]:
    """``certificate`` as values for JSON, with its ``kind``."""
    record: dict[str, object] = {"kind": type(certificate).__name__, **asdict(certificate)}
    if isinstance(certificate, Reachable):
        record["floor"] = as_record(certificate.floor)
    return record


def from_record(record: Mapping[str, object]) -> Certificate:
    """The certificate that ``as_record`` wrote. Raises BadInput where it is not one."""
    values = dict(record)
    kind = values.pop("kind", None)
    if kind not in KINDS:
        raise BadInput(f"unknown kind of certificate {kind!r}", hint=f"one of {', '.join(KINDS)}")
    if isinstance(values.get("floor"), Mapping):
        values["floor"] = from_record(values["floor"])  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    if isinstance(values.get("buffers"), list):
        values["buffers"] = tuple(values["buffers"])  # type: ignore[arg-type]  # pyright: ignore
    try:
        certificate: Certificate = KINDS[str(kind)](**values)  # type: ignore[arg-type]  # pyright: ignore
    except TypeError as error:
        raise BadInput(f"this is no {kind} certificate: {error}") from None
    faults = _malformed(certificate)
    if faults:
        raise BadInput(f"this is no {kind} certificate: {faults}")
    return certificate


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
        case Reachable():
            return "sums of sizes"
        case Contradiction():
            return "constraints that exclude each other"
        case Core():
            return f"all plans of {len(certificate.buffers)} buffers"
        case Searched():
            return f"the word of {certificate.solver}"


def excludes(certificate: Certificate | None, capacity: int | None) -> bool:
    """Whether the certificate proves that there is no plan within ``capacity``."""
    if certificate is None:
        return False
    if certificate.bytes is None:
        return True
    return capacity is not None and certificate.bytes > capacity


def _malformed(certificate: Certificate) -> str:
    """The first field of a wrong type, in words; empty for none."""
    for name, value in asdict(certificate).items():
        if name in ("bytes", "position", "unit", "nodes"):
            good = isinstance(value, int) and not isinstance(value, bool)
            good = good or (
                name == "bytes" and value is None and not isinstance(certificate, LiveSet | Reachable)
            )
        elif name == "buffers":
            good = isinstance(value, tuple) and all(isinstance(part, str) for part in value)  # pyright: ignore
        elif name == "floor":
            good = isinstance(certificate, Reachable) and type(certificate.floor).__name__ in FLOORS
        else:
            good = isinstance(value, str)
        if not good:
            return f"{name} is {value!r}"
    return ""
