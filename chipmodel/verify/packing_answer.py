"""Verify the answer that ``chipmodel pack --json`` wrote; shares nothing with the packers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from itertools import combinations
from typing import Any

from chipmodel.files.document import plain
from chipmodel.files.json_file import JsonValue, read_json
from chipmodel.files.json_record import COUNT, Codec, JsonRecord, nullable
from chipmodel.files.suggestions import shown
from chipmodel.model.certificate import (
    Certificate,
    Contradiction,
    LiveSet,
    Regions,
    Searched,
    Tallest,
    as_record,
    excludes,
    rests_on,
)
from chipmodel.model.live_sets import largest_alive, live_bytes_curve
from chipmodel.model.plan import Memory, Plan, Problem, Status
from chipmodel.records import dataclass
from chipmodel.verify.certificate import verify_certificate
from chipmodel.verify.fast_offsets import check_fast

DERIVED = ("fits", "gap", "buffers", "largest_live_set")
REPORTED = (
    *("source", "packer", "seconds", "proof", "certificate_verified", "nodes", "trajectory", "notes"),
    "known_optimum_bytes",
)
"""What says how the answer was found, and nothing about the plan."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A packer's answer to a problem; sizes in bytes."""

    status: Status
    peak: int | None
    lower_bound: int
    capacity: int | None
    memories: tuple[Memory, ...]
    offsets: Mapping[str, int] | None
    certificate: Certificate | None
    explanation: tuple[str, ...] = ()
    """Buffers that alone do not fit."""
    arena: int = 0
    """The bytes that the packer allocates, where they are more than its buffers end at."""
    derived: Mapping[str, object] = field(default_factory=dict[str, object])
    """What the answer says and follows from the rest: any of ``DERIVED``."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The faults of an answer, none for a correct one, and in ``ground`` what its lower bound rests on."""

    faults: tuple[str, ...]
    ground: str


def read_claim(text: str, file: str) -> Claim:
    """Read a JSON document. Raises BadInput, with line and column, if it is no answer of ``pack``."""
    hint = "give the file that chipmodel pack --json wrote, or what pack(...).to_json() returns"
    root = read_json(text, file, hint)
    derived = {key: root.at(key).value for key in DERIVED if key in root.mapping()}
    return replace(_CLAIM.read(root), derived=derived)


def _memories(node: JsonValue) -> tuple[Memory, ...]:
    memories = node.each(_memory)
    for a, b in combinations(memories, 2):
        if a.name == b.name:
            node.fail(f"two memories have the name {shown(a.name)}")
        if max(a.start, b.start) < min(a.stop, b.stop):
            node.fail(f"the memories {shown(a.name)} and {shown(b.name)} overlap")
    return memories


def _memory(node: JsonValue) -> Memory:
    name, start, stop = node.at("name").text(), node.at("start").count(), node.at("stop").count()
    if stop < start:
        node.at("stop").fail(f"a memory that begins at {start:,} cannot end at {stop:,}")
    return Memory(name, start, stop)


def judge(problem: Problem, claim: Claim) -> Verdict:
    """Verify ``claim`` for ``problem``, which has the claim's capacity and memories."""
    faults = list(_plan_faults(problem, claim))
    faults += _derived_faults(problem, claim)
    fits = _fits(claim)
    if claim.status in ("optimal", "feasible") and not fits:
        faults.append(f"its status is {claim.status}, but it has no plan that fits")
    if claim.status == "optimal" and claim.peak != claim.lower_bound and claim.capacity is None:
        bounds = f"a peak of {claim.peak} and a lower bound of {claim.lower_bound} bytes"
        faults.append(f"its status is optimal, but it has {bounds}")
    ground, bound_faults = _bound(problem, claim)
    return Verdict((*faults, *bound_faults), ground)


def _fits(claim: Claim) -> bool:
    return claim.peak is not None and (claim.capacity is None or claim.peak <= claim.capacity)


def _derived_faults(problem: Problem, claim: Claim) -> Iterator[str]:
    gap = None
    if claim.peak is not None:
        gap = (claim.peak - claim.lower_bound) / claim.lower_bound if claim.lower_bound else 0.0
    live = largest_alive(problem, live_bytes_curve(problem))
    true: dict[str, object] = dict(
        zip(DERIVED, (_fits(claim), gap, len(problem.buffers), plain(live)), strict=True)
    )
    for key, said in claim.derived.items():
        if said != true[key] or isinstance(said, bool) != isinstance(true[key], bool):
            yield f"it says {key} {shown(said)}, and it is {shown(true[key])}"
    known = {buffer.name for buffer in problem.buffers}
    yield from (
        f"its explanation names {shown(name)}, no buffer" for name in claim.explanation if name not in known
    )


def _plan_faults(problem: Problem, claim: Claim) -> tuple[str, ...]:
    if claim.offsets is None:
        return () if claim.peak is None else (f"it states a peak of {claim.peak}, but has no offsets",)
    plan = Plan(claim.offsets, claim.arena)
    known = {b.name for b in problem.buffers}
    if unknown := [name for name in claim.offsets if name not in known]:
        return (f"the problem has no buffer {shown(unknown[0])}",)
    if faults := check_fast(replace(problem, capacity=None), plan):
        return faults
    peak = plan.peak(problem)
    return () if peak == claim.peak else (f"its plan has a peak of {peak} bytes, not {claim.peak}",)


def _bound(problem: Problem, claim: Claim) -> tuple[str, tuple[str, ...]]:
    """What the bound rests on, and the faults of that."""
    certificate = claim.certificate
    needed = claim.status == "infeasible" and not excludes(certificate, claim.capacity)
    if certificate is None:
        missing = ("its status is infeasible, but it has no certificate",)
        return f"the bound of {claim.lower_bound:,} B has no certificate", missing if needed else ()
    if needed:
        return "", (f"its certificate of {certificate.bytes} bytes does not exclude a plan that fits",)
    if isinstance(certificate, Searched):
        return f"the bound of {claim.lower_bound:,} B is not verified: {rests_on(certificate)}", ()
    faults = verify_certificate(problem, certificate)
    if certificate.bytes is not None and certificate.bytes < claim.lower_bound and not faults:
        proven = f"the certificate proves {certificate.bytes:,} B"
        return f"{proven}; the bound of {claim.lower_bound:,} B is the packer's statement, not verified", ()
    if faults and faults[0].endswith("not verified"):
        return f"the bound of {claim.lower_bound:,} B is not verified: {faults[0]}", ()
    if certificate.bytes is None:
        return f"verified that there is no plan: {rests_on(certificate)}", faults
    return f"the bound of {claim.lower_bound:,} B is verified: {rests_on(certificate)}", faults


def _record(kind: type, *keys: str, **codecs: Codec[Any]) -> JsonRecord[Any]:
    counts: dict[str, Codec[Any]] = {"bytes": nullable(COUNT), "nodes": COUNT}
    return JsonRecord(kind, *keys, codecs={**counts, **codecs}, also=("kind",))


def _by_kind(*records: JsonRecord[Any]) -> Codec[Any]:
    known = {record.kind.__name__: record for record in records}
    return Codec(lambda node: known[node.at("kind").choice(known)].read(node), as_record)


def _no_size(node: JsonValue) -> None:
    if node.value is not None:
        node.fail("a contradiction excludes plans of any size: expected null")


CERTIFICATES = _by_kind(
    _record(LiveSet, "bytes", "position", "buffers", "unit?", bytes=COUNT),
    _record(Tallest),
    _record(Regions),
    _record(Contradiction, bytes=Codec(_no_size, as_record)),
    _record(Searched),
)
_CLAIM: JsonRecord[Claim] = JsonRecord(
    Claim,
    *("status", "peak_bytes=peak", "lower_bound_bytes=lower_bound", "capacity_bytes=capacity", "memories"),
    *("offsets", "certificate", "explanation?", "arena_bytes=arena?"),
    codecs={
        int: COUNT,
        "lower_bound": Codec(lambda node: node.optional(JsonValue.count) or 0, int),
        "memories": Codec(_memories, plain),
        "certificate": nullable(CERTIFICATES),
    },
    also=(*DERIVED, *REPORTED),
)
