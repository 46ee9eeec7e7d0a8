"""Deliberately broken merges of arms: the verifier and the plan check must notice each that corrupts.

For each random tree of branches and loops, lifetimes are broken in one of the ways in which frameworks have
broken them (ExecuTorch issue 21490 is the first), and the buffers packed by them. Whether that corrupts is
decided here, by walking paths with stamps on the bytes: a read that finds its value overwritten by
another buffer. Where it does, the verifier and the check of the plan must both object; and a correct plan
(each merger in turn) must pass both, and the walk too, with loops left out as well.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from random import Random

from chipmodel.geometry.interval import Interval, merged
from chipmodel.model.nesting import Fork, Section
from chipmodel.model.plan import Buffer, Plan, Problem
from chipmodel.model.program import Program
from chipmodel.model.schedule import Part, Schedule, Step, StepIf, StepLoop, StepNode
from chipmodel.passes.liveness import lifetime, liveness, scopes, touches_of
from chipmodel.passes.lower import lower
from chipmodel.verify import offsets
from chipmodel.verify.commands import verify
from dma.stream import stream
from solvers.branches.mergers import merge_arms, mergers
from solvers.core.outcome import Limits
from solvers.registry import solve
from tests.fuzz.fuzzer import Fault
from tests.support.chips import LUNA_LIKE, with_memory
from tests.support.random_programs import TreeShape, random_program

LARGE_CHIP = with_memory(LUNA_LIKE, 1 << 24)
"""With memory for everything, so that every objection is about the merge."""
COUNT = 5000
PATHS = 80
"""Paths walked of each tree."""
PACKERS = ("large-first", "sequential", "greedy-best-fit", "conflict-first")
Break = Callable[[Schedule, Problem], Problem]
Access = tuple[str, str, bool]
"""Buffer, value, and whether it is written."""


# -- what is broken ----------------------------------------------------------------------------


def later_conditional(schedule: Schedule, problem: Problem) -> Problem:
    """An ``if`` forgets the buffers that are alive across it and that it does not touch itself."""
    touched = touches_of(schedule)

    def without(buffer: Buffer) -> Buffer:
        positions = {t.position for t in touched[buffer.name]}
        live = buffer.live
        for fork in _forks(scopes(schedule.body).section):
            if not fork.repeats and not any(p in fork.extent for p in positions):
                live = _less(live, fork.extent)
        return replace(buffer, live=live)

    return replace(problem, buffers=tuple(map(without, problem.buffers)))


def nested_conditional(schedule: Schedule, problem: Problem) -> Problem:
    """As ``later_conditional``, of an ``if`` inside of an arm alone."""
    touched = touches_of(schedule)
    outer = [f for f in _forks(scopes(schedule.body).section) if not f.repeats]
    inner = [f for fork in outer for arm in fork.arms for f in _forks(arm) if not f.repeats]

    def without(buffer: Buffer) -> Buffer:
        positions = {t.position for t in touched[buffer.name]}
        live = buffer.live
        for fork in inner:
            if not any(p in fork.extent for p in positions):
                live = _less(live, fork.extent)
        return replace(buffer, live=live)

    return replace(problem, buffers=tuple(map(without, problem.buffers)))


def results_end_with_their_arm(schedule: Schedule, problem: Problem) -> Problem:
    """What an arm defines is given back at the end of the ``if``, results included, but where it is read."""
    touched = touches_of(schedule)
    forks = [f for f in _forks(scopes(schedule.body).section) if not f.repeats]

    def without(buffer: Buffer) -> Buffer:
        live = buffer.live
        kept = [Interval(t.position, t.position + 1) for t in touched[buffer.name]]
        for fork in forks:
            if any(t.writes and t.position in fork.extent for t in touched[buffer.name]):
                live = _less(live, Interval(fork.extent.stop, 1 << 40))
        return replace(buffer, live=merged([*live, *kept]))

    return replace(problem, buffers=tuple(map(without, problem.buffers)))


def no_back_edge(schedule: Schedule, problem: Problem) -> Problem:
    """A loop's body is looked at as if it ran once."""
    control = scopes(schedule.body)
    once = replace(control, section=_once(control.section))
    touched = touches_of(schedule)
    taken = {name: [spec.held] for name, spec in schedule.buffers.items()}
    for transfer in schedule.transfers:
        taken[transfer.buffer].append(Interval(transfer.issue, transfer.due + 1))

    def without(buffer: Buffer) -> Buffer:
        return replace(buffer, live=merged([*lifetime(touched[buffer.name], once), *taken[buffer.name]]))

    return replace(problem, buffers=tuple(map(without, problem.buffers)))


BREAKS: Mapping[str, Break] = {
    "later conditional": later_conditional,
    "nested conditional": nested_conditional,
    "results end with their arm": results_end_with_their_arm,
    "no back edge": no_back_edge,
}


def _forks(section: Section) -> Iterator[Fork]:
    for fork in section.forks:
        yield fork
        for arm in fork.arms:
            yield from _forks(arm)


def _less(live: tuple[Interval, ...], hole: Interval) -> tuple[Interval, ...]:
    parts = [Interval(i.start, min(i.stop, hole.start)) for i in live]
    parts += [Interval(max(i.start, hole.stop), i.stop) for i in live]
    return merged(parts)


def _once(section: Section) -> Section:
    forks = tuple(
        replace(fork, repeats=False, arms=tuple(_once(arm) for arm in fork.arms)) for fork in section.forks
    )
    return Section(section.extent, forks)


# -- whether it corrupts -----------------------------------------------------------------------


def corrupts(schedule: Schedule, plan: Plan, random: Random, least_iterations: int) -> bool:
    """Whether some walked path, of loops with ``least_iterations`` to three iterations, reads a value whose
    bytes a write to another buffer has taken. A path that reads what it never wrote is none of the
    program's."""
    shared, moved = _shared(schedule, plan), _moved(schedule)
    return any(
        _corrupted(_walk(schedule.body, moved, random, least_iterations), shared) for _ in range(PATHS)
    )


def _corrupted(path: Iterator[Access], shared: Mapping[str, list[str]]) -> bool:
    there: set[tuple[str, str]] = set()
    lost: set[tuple[str, str]] = set()
    corrupted = False
    for buffer, value, writes in path:
        if writes:
            gone = {(other, what) for other, what in there if other in shared[buffer]}
            lost |= gone
            there -= gone
            there.add((buffer, value))
            lost.discard((buffer, value))
        elif (buffer, value) in lost:
            corrupted = True
        elif (buffer, value) not in there:
            return False
    return corrupted


def _shared(schedule: Schedule, plan: Plan) -> dict[str, list[str]]:
    """Every buffer with those that have bytes in common with it."""
    spans = {
        n: Interval(plan.offsets[n], plan.offsets[n] + spec.bytes) for n, spec in schedule.buffers.items()
    }
    return {a: [b for b in spans if b != a and spans[a].overlaps(spans[b])] for a in spans}


def _moved(schedule: Schedule) -> dict[tuple[str, int], list[Access]]:
    """What transfers do at each position, in the order of events of ``chipmodel.model.schedule``."""
    found: dict[tuple[str, int], list[Access]] = {}
    for transfer in schedule.transfers:
        value = _value(transfer.part)
        if transfer.direction == "load":
            found.setdefault(("due", transfer.due), []).append((transfer.buffer, value, True))
            if transfer.issue < transfer.due:
                found.setdefault(("issue", transfer.issue), []).append((transfer.buffer, "on its way", True))
        else:
            found.setdefault(("store", transfer.issue), []).append((transfer.buffer, value, False))
            found.setdefault(("stored", transfer.due), []).append((transfer.buffer, value, False))
    return found


def _value(part: Part) -> str:
    return f"weights of {part.name}" if part.weights else part.name


def _walk(
    body: tuple[StepNode, ...], moved: Mapping[tuple[str, int], list[Access]], random: Random, least: int
) -> Iterator[Access]:
    for node in body:
        match node:
            case Step():
                for when in ("due", "issue"):
                    yield from moved.get((when, node.position), ())
                yield from ((o.buffer, _value(o.part), False) for o in node.reads)
                yield from ((o.buffer, _value(o.part), True) for o in node.writes)
                for when in ("store", "stored"):
                    yield from moved.get((when, node.position), ())
            case StepIf():
                if node.condition is not None:
                    yield node.condition.buffer, _value(node.condition.part), False
                yield from _walk(random.choice(node.arms).body, moved, random, least)
            case StepLoop():
                for _ in range(random.choice((least, 1, 2, 3)) if node.iterations else 0):
                    yield from _walk(node.body, moved, random, least)


# -- whether it is noticed ---------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class MergeCase:
    """A random tree with its schedule and its true conflicts."""

    program: Program
    schedule: Schedule
    problem: Problem
    packer: str


def case(seed: int) -> MergeCase:
    """The same for the same seed: depths 1 to 5, both streamers, several packers."""
    program = random_program(seed, TreeShape(ops=5, depth=1 + seed % 5, side=4, channels=4))
    schedule = stream(
        program, LARGE_CHIP, ("sync", "ping-pong")[seed // 5 % 2], LARGE_CHIP.shared_memory.bytes
    )
    return MergeCase(program, schedule, liveness(schedule, LARGE_CHIP), PACKERS[seed // 10 % len(PACKERS)])


def objections(case: MergeCase, plan: Plan) -> tuple[str, str]:
    """What the verifier, which knows no lifetimes, and the check on the true conflicts say first."""
    said = verify(case.program, lower(case.schedule, plan), LARGE_CHIP)
    found = offsets.check(case.problem, plan)
    return (said or ("",))[0], (found or ("",))[0]


def check(seed: int) -> Counter[str]:
    """Break the merges of one tree. Raises Fault where a corruption is not noticed, or a correct plan is not
    accepted."""
    tree = case(seed)
    random = Random(seed)
    nesting = scopes(tree.schedule.body).section
    merge = list(mergers())[seed % len(mergers())]
    right = merge_arms(tree.problem, nesting, tree.packer, merge, Limits(nodes=20_000)).plan
    if any(objections(tree, right)) or corrupts(tree.schedule, right, random, 0):
        raise Fault(f"seed {seed}, {merge}: a correct plan is refused: {objections(tree, right)}")
    seen = Counter({"trees": 1})
    for name, breaks in BREAKS.items():
        broken = breaks(tree.schedule, tree.problem)
        plan = solve(replace(broken, capacity=None), tree.packer).plan
        if not corrupts(tree.schedule, plan, random, 1):
            continue
        verifier, checked = objections(tree, plan)
        if not verifier or not checked:
            raise Fault(f"seed {seed}, {name}: noticed only by {verifier or checked or 'neither check'}")
        seen[name] += 1
    seen["corrupted"] += any(seen[name] for name in BREAKS)
    return seen
