"""Lifetimes, conflicts and transfers in flight against a walk of every path of small random trees."""

from collections.abc import Iterator
from itertools import chain, combinations, count, product
from random import Random

import pytest
from hypothesis import example, given, settings, strategies as st

from chipmodel.geometry.interval import Interval
from chipmodel.model.nesting import in_flight, waits_after
from chipmodel.model.schedule import Step, StepArm, StepIf, StepLoop, StepNode, steps
from chipmodel.passes.liveness import Touch, lifetime, scopes

ONE = Interval(0, 1)


def step(position: int) -> Step:
    return Step(position, f"op{position}", ONE, ONE, 1, (), (), "")


def random_tree(
    random: Random, depth: int, counter: Iterator[int], positions: Iterator[int]
) -> tuple[StepNode, ...]:
    body: list[StepNode] = []
    for _ in range(random.randint(1, 3)):
        kind = random.random()
        name = f"fork{next(counter)}" if depth and kind < 0.7 else ""
        if name and kind < 0.35:
            arms = range(random.randint(1, 3))
            bodies = (
                random_tree(random, depth - 1, counter, positions) if random.random() < 0.8 else ()
                for _ in arms
            )
            body.append(StepIf(name, tuple(StepArm(str(i), inner) for i, inner in enumerate(bodies))))
        elif name:
            body.append(StepLoop(name, 2, random_tree(random, depth - 1, counter, positions)))
        else:
            body.append(step(next(positions)))
    return tuple(body)


Path = tuple[tuple[str, int | str], ...]
MAX_PATHS = 3000


class TooManyPaths(Exception):
    pass


def paths(body: tuple[StepNode, ...]) -> list[Path]:
    """Every path with up to three iterations of each loop: positions, and where forks begin and end."""
    result: list[Path] = [()]
    for node in body:
        match node:
            case Step():
                ways: list[Path] = [(("at", node.position),)]
            case StepIf():
                ways = [way for arm in node.arms for way in paths(arm.body)]
            case StepLoop():
                iteration = paths(node.body)
                ways = [()]
                for iterations in (1, 2, 3):
                    if len(iteration) ** iterations > MAX_PATHS:
                        raise TooManyPaths
                    ways += [
                        tuple(chain.from_iterable(runs)) for runs in product(iteration, repeat=iterations)
                    ]
        if not isinstance(node, Step):
            ways = [(("in", node.name), *way, ("out", node.name)) for way in ways]
        if len(result) * len(ways) > MAX_PATHS:
            raise TooManyPaths
        result = [(*before, *way) for before in result for way in ways]
    return result


def random_paths(seed: int) -> tuple[tuple[StepNode, ...], list[Path], Random]:
    random = Random(seed)
    while True:
        body = random_tree(random, 2, count(), count())
        try:
            return body, paths(body), random
        except TooManyPaths:
            continue


def keep_correct(
    body: tuple[StepNode, ...], wanted: dict[int, str], ask: set[str], defined: bool, kept: dict[int, str]
) -> bool:
    """Keep only accesses that a correct program may have, where every path to a read defines the value: put
    reads and writes into ``kept`` (by position) and leave forks that decide by the value in ``ask``. Returns
    whether the value is defined at the end."""
    for node in body:
        if not isinstance(node, Step) and not defined:
            ask.discard(node.name)
        match node:
            case Step():
                ways = [way for way in wanted.get(node.position, "") if way == "w" or defined]
                if ways:
                    kept[node.position] = "".join(ways)
                    defined = defined or "w" in ways
            case StepIf():
                ends = [keep_correct(arm.body, wanted, ask, defined, kept) for arm in node.arms]
                defined = all(ends)
            case StepLoop():
                ask.discard(node.name)
                defined = keep_correct(node.body, wanted, ask, defined, kept)
    return defined


def random_touches(body: tuple[StepNode, ...], random: Random) -> list[Touch]:
    """Random accesses to one value, as a correct program may have them."""
    wanted = {s.position: random.choice(("", "", "r", "w", "rw", "wr")) for s in steps(body)}
    first = {node.name: position for position, node in inside(body)}
    ask = {name for name in first if random.random() < 0.3}
    kept: dict[int, str] = {}
    keep_correct(body, wanted, ask, False, kept)
    touches = [Touch(p, way == "w") for p, ways in kept.items() for way in ways]
    return touches + [Touch(first[name], False, decides=name) for name in ask]


def inside(body: tuple[StepNode, ...]) -> Iterator[tuple[int, StepIf]]:
    """Every ``if`` with a step in it, and the position of its first step."""
    for node in body:
        if isinstance(node, StepIf):
            first = next((s.position for arm in node.arms for s in steps(arm.body)), None)
            if first is not None:
                yield first, node
            for arm in node.arms:
                yield from inside(arm.body)
        elif isinstance(node, StepLoop):
            yield from inside(node.body)


def kept_on(path: Path, touches: list[Touch]) -> set[int]:
    """Indices of the path's events at which the value is kept: at every access, and from a write to the last
    read before the next write."""
    kept: set[int] = set()
    written: int | None = None
    for now, (kind, what) in enumerate(path):
        if kind == "in":
            reads = [t for t in touches if t.decides == what]
        else:
            reads = [t for t in touches if kind == "at" and t.position == what and not t.decides]
        for touch in reads:
            if touch.writes:
                written = now
            elif written is not None:
                kept |= set(range(written, now + (kind == "at")))
            if kind == "at":
                kept.add(now)
    return kept


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(st.integers(0, 1 << 40))
def test_lifetimes_and_conflicts_are_those_of_all_paths(seed: int) -> None:
    """Against a walk of every path: a position is in a lifetime exactly if the value is kept there on some
    path, and two lifetimes overlap exactly if both values are kept at once on some path."""
    body, every, random = random_paths(seed)
    values = [random_touches(body, random) for _ in range(3)]
    control = scopes(body)
    lives = [{p for i in lifetime(v, control) for p in range(i.start, i.stop)} for v in values]
    walked: list[set[int | str]] = [set() for _ in values]
    conflicts: set[tuple[int, int]] = set()
    for path in every:
        kept = [kept_on(path, value) for value in values]
        for index, indices in enumerate(kept):
            walked[index] |= {path[i][1] for i in indices if path[i][0] == "at"}
        at = [{i for i in indices if path[i][0] == "at"} for indices in kept]
        conflicts |= {(a, b) for a, b in combinations(range(3), 2) if at[a] & at[b]}
    assert lives == walked
    assert conflicts == {(a, b) for a, b in combinations(range(3), 2) if lives[a] & lives[b]}


def around(body: tuple[StepNode, ...], position: int) -> list[StepIf | StepLoop]:
    """The forks around a position, outermost first."""
    for node in body:
        if isinstance(node, StepIf | StepLoop) and any(s.position == position for s in steps((node,))):
            bodies = [arm.body for arm in node.arms] if isinstance(node, StepIf) else [node.body]
            return [node, *(found for inner in bodies for found in around(inner, position))]
    return []


def arm_of(fork: StepIf | StepLoop, position: int) -> str:
    """The arm of ``fork`` that ``position`` lies in; a loop has one without a name."""
    arms = fork.arms if isinstance(fork, StepIf) else ()
    return next((arm.name for arm in arms if any(s.position == position for s in steps(arm.body))), "")


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 1 << 40))
@example(27109).via("due in another arm than issue: the loop around both carries it")
def test_a_transfer_is_in_flight_where_some_path_has_it(seed: int) -> None:
    """Until ``due``; or the end of the outermost fork with ``due`` in it but not ``issue``; or, where ``due``
    cannot follow ``issue`` in one iteration, the end of the innermost loop around both."""
    body, every, random = random_paths(seed)
    control = scopes(body)
    count = len(control.region)
    if not count:
        return
    issue, due = random.randrange(count), random.randrange(count)
    outer, inner = around(body, issue), around(body, due)
    both = [fork for fork in inner if fork in outer]
    next_iteration = due < issue or any(arm_of(fork, issue) != arm_of(fork, due) for fork in both)
    if next_iteration:
        ends = [fork.name for fork in both if isinstance(fork, StepLoop)][-1:]
        if not ends:
            return
    else:
        ends = [fork.name for fork in inner if fork not in outer][:1]
    walked: set[int | str] = set()
    for path in every:
        flying = False
        for kind, what in path:
            flying = flying or (kind, what) == ("at", issue)
            if flying and kind == "at":
                walked.add(what)
            if (kind, what) == ("at", due) or (kind == "out" and what in ends):
                flying = False
    found = {p for i in in_flight(control.section, issue, due) for p in range(i.start, i.stop)}
    assert found == walked
    assert waits_after(control.section, issue, due) == (ends[0] if ends and issue != due else None)
