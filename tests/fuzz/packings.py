"""Every claim of every packer about problems of several parts, whose sizes and alignments differ.

For each seed two to four parts, one after another in time, each with multiples of a number of its own: what
is rounded in one part means nothing in another. Brute force over each part, which knows only ``check``, says
what the best plan is; with ``--buffers`` above 5 a part, CP-SAT on each part alone does, as far as it proves.
Every packer plans the whole without a capacity, and with one that is just enough, ample, or too little;
``exact`` also minimises within them. No bound may be above the peak or the best plan, also on the way there,
nothing "optimal" above the best plan, and each certificate must prove its bound.
"""

from argparse import ArgumentParser
from collections import Counter
from collections.abc import Iterator, Sequence
from random import Random

from chipmodel.errors import BadInput
from chipmodel.geometry.interval import Interval
from chipmodel.model.certificate import excludes
from chipmodel.model.plan import Buffer, Problem, Solved
from chipmodel.verify import offsets
from chipmodel.verify.certificate import verify_certificate
from solvers.core.outcome import Limits
from solvers.exact import cp_sat
from solvers.exact.portfolio import exact
from solvers.registry import packer_named, packers, solve
from tests.fuzz.fuzzer import Check, Fault
from tests.solvers.oracle import smallest_peak
from tests.solvers.random_problems import random_problem

COUNT = 20_000
SMALL = 5
"""Buffers of a part up to which all plans are tried."""
NODES = (1, 50, 2_000, 200_000)
"""Limits: from what ends at once to what is enough for a proof."""
FEW = Limits(nodes=20, threads=1)
"""For packers that improve plans step by step, and use all nodes that they have."""
SCALES = (1, 2, 3, 4, 5)
LATER = 50
"""Positions from one part to the next: more than any lifetime."""


def parts_of(seed: int, most: int = SMALL) -> list[Problem]:
    """Two to four problems of up to ``most`` buffers each; none has memories or a capacity."""
    random = Random(seed)
    constrained = random.random() < 0.4
    return [_part(random, number, most, constrained) for number in range(random.randint(2, 4))]


def _part(random: Random, number: int, most: int, constrained: bool) -> Problem:
    drawn = random_problem(random.randrange(1 << 30), most, constrained and random.random() < 0.5)
    scale, fine = random.choice(SCALES), random.random() < 0.3
    named = {b.name: f"{number}.{b.name}" for b in drawn.buffers}

    def moved(buffer: Buffer) -> Buffer:
        size = buffer.bytes * scale - (fine and buffer.bytes > 1)
        return Buffer(
            named[buffer.name],
            size,
            tuple(Interval(i.start + number * LATER, i.stop + number * LATER) for i in buffer.live),
            random.choice((1, buffer.alignment, buffer.alignment * scale)),
            None if buffer.pinned is None else buffer.pinned * scale,
        )

    return Problem(
        tuple(map(moved, drawn.buffers)),
        colocated=tuple(tuple(named[n] for n in group) for group in drawn.colocated),
        separated=tuple((named[a], named[b]) for a, b in drawn.separated),
    )


def joined(parts: Sequence[Problem], capacity: int | None = None) -> Problem:
    """All parts as one problem."""
    return Problem(
        tuple(b for part in parts for b in part.buffers),
        capacity,
        colocated=tuple(group for part in parts for group in part.colocated),
        separated=tuple(pair for part in parts for pair in part.separated),
    )


def best_peak(parts: Sequence[Problem], most: int) -> int | None:
    """The smallest peak of any plan of all parts; None where there is no plan at all. Raises TimeoutError
    where CP-SAT does not prove one."""
    peaks = [smallest_peak(part) if most <= SMALL else _proven_peak(part) for part in parts]
    return None if None in peaks else max((peak for peak in peaks if peak is not None), default=0)


def _proven_peak(part: Problem) -> int | None:
    outcome = cp_sat.minimise(part, Limits(nodes=2_000_000, threads=1))
    if outcome.status == "infeasible":
        return None
    if outcome.status != "optimal" or outcome.plan is None:
        raise TimeoutError
    return outcome.plan.peak(part)


def claims(problem: Problem, limits: Limits) -> Iterator[tuple[str, Solved]]:
    """What every packer that keeps the constraints says, and ``exact`` where it minimises."""
    for name in packers():
        try:
            yield name, solve(problem, name, limits if packer_named(name).keeps_constraints else FEW)
        except BadInput:
            continue  # It keeps no constraints, or has no plan that keeps these.
    outcome = exact(problem, limits, goal="minimise")
    if outcome.plan is not None:
        peak, points = (
            outcome.plan.peak(problem),
            ((p.seconds, p.peak, p.lower_bound) for p in outcome.trajectory),
        )
        yield (
            "exact, minimising",
            Solved(
                outcome.plan,
                outcome.status,
                outcome.lower_bound,
                peak,
                0.0,
                "exact",
                certificate=outcome.certificate,
                trajectory=tuple(points),
            ),
        )


def faults(problem: Problem, solved: Solved, best: int | None) -> Iterator[str]:
    """What is wrong with a packer's claim, where ``best`` is the smallest peak at any capacity."""
    fits = best is not None and (problem.capacity is None or best <= problem.capacity)
    planned, refused = solved.status in ("optimal", "feasible"), solved.status == "infeasible"
    if planned and not fits:
        yield "has a plan where there is none"
    if refused and fits:
        yield "infeasible, where there is a plan"
    if best is not None and solved.lower_bound > best and not refused:
        yield "a bound above the best plan"
    if any(peak is not None and bound > peak for _, peak, bound in solved.trajectory):
        yield "a bound above the peak on the way"
    yield from _certificate_faults(problem, solved, best)
    if planned and solved.plan.offsets:
        yield from offsets.check(problem, solved.plan)
        if solved.lower_bound > solved.peak:
            yield "a bound above its own peak"
        if (solved.status == "optimal") != (solved.peak == solved.lower_bound):
            yield "optimal exactly where the bound is reached"
        if solved.status == "optimal" and solved.peak != best:
            yield "optimal, above the best plan"


def _certificate_faults(problem: Problem, solved: Solved, best: int | None) -> Iterator[str]:
    certificate = solved.certificate
    if certificate is None:
        return
    yield from verify_certificate(problem, certificate)
    if best is not None and (certificate.bytes or 0) > best:
        yield "a certificate above the best plan"
    if solved.status == "infeasible" and not excludes(certificate, problem.capacity):
        yield "infeasible, which its certificate does not prove"
    if solved.status == "optimal" and certificate.bytes != solved.lower_bound:
        yield "optimal, which its certificate does not prove"


def check_parts(seed: int, most: int = SMALL) -> Counter[str]:
    """All packers on one problem at several capacities."""
    random = Random(seed)
    parts, limits = parts_of(seed, most), Limits(nodes=random.choice(NODES), threads=1)
    try:
        best = best_peak(parts, most)
    except TimeoutError:
        return Counter({"problems without a proof": 1})
    seen = Counter({"problems": 1})
    known = best or random.randint(1, 9)
    for capacity in (None, known, known + random.randint(1, 2 * known + 1), known - 1):
        if capacity is not None and capacity < 0:
            continue
        problem = joined(parts, capacity)
        for name, solved in claims(problem, limits):
            wrong = next(faults(problem, solved, best), None)
            if wrong:
                raise Fault(
                    f"{name} within {capacity} B and {limits.nodes} nodes, best {best}: {wrong}: {solved}"
                )
            seen[solved.status] += 1
    return seen


def search(parser: ArgumentParser, arguments: Sequence[str]) -> Check:
    parser.add_argument("--buffers", type=int, default=SMALL, help="most buffers of a part [%(default)s]")
    most: int = parser.parse_args(arguments).buffers
    return lambda seed: check_parts(seed, most)


check = check_parts
