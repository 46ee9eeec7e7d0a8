"""Name buffers that show why a problem is infeasible: those that its certificate rests on."""

from __future__ import annotations

from chipmodel.model.certificate import Certificate, Contradiction, LiveSet, Regions, Tallest
from chipmodel.model.plan import Problem


def reduced(problem: Problem, certificate: Certificate) -> Certificate:
    """Return the certificate of an infeasible problem with as few buffers as exceed the capacity: of a live
    set the largest ones, where only lifetimes matter."""
    plain = problem.plain and all(buffer.alignment == 1 for buffer in problem.buffers)
    if not isinstance(certificate, LiveSet) or not plain or problem.capacity is None:
        return certificate
    sizes = {buffer.name: buffer.bytes for buffer in problem.buffers}
    names: set[str] = set()
    total = 0
    for name in sorted(certificate.buffers, key=lambda name: -sizes[name]):
        if total <= problem.capacity:
            names.add(name)
            total += sizes[name]
    kept = tuple(name for name in certificate.buffers if name in names)
    return LiveSet(total, certificate.position, kept)


def named(certificate: Certificate) -> tuple[str, ...]:
    """Return the buffers that alone do not fit; none where the proof is about all of them."""
    match certificate:
        case LiveSet() | Regions() | Contradiction():
            return certificate.buffers
        case Tallest():
            return (certificate.buffer,)
        case _:
            return ()
