"""``ping-pong`` (Wang et al. 2025, Algorithm 3): the order of its instructions, and its two buffers."""

from collections.abc import Iterable, Iterator
from itertools import count, pairwise
from random import Random

import pytest

from chipmodel.errors import BadInput
from chipmodel.geometry.interval import Interval
from chipmodel.model.commands import Branch, Command, Compute, DmaStart, DmaWait, Repeat
from chipmodel.model.program import Node, Program
from chipmodel.model.tree import walk
from chipmodel.pipeline.plan import plan
from chipmodel.pipeline.request import PlanRequest
from dma.stream import stream
from tests.support.chips import LUNA_LIKE, with_memory
from workloads.build.builder import ProgramBuilder
from workloads.build.shapes import Value


def chain(*sizes: int) -> Program:
    """Dense layers whose weight blocks have these bytes, a ReLU after each."""
    builder = ProgramBuilder("chain")
    x = builder.input("x", (1, 64))
    for index, size in enumerate(sizes):
        x = builder.dense(f"n{index}", x, 64, weights=[builder.weight(f"w{index}", size)])
        x = builder.elementwise("relu", f"r{index}", [x])
    builder.output(x)
    return builder.build()


def words(commands: Iterable[Command]) -> list[str]:
    result: list[str] = []
    for command in commands:
        match command:
            case DmaStart():
                result.append(f"start {command.name}")
            case DmaWait():
                result.append(f"wait {command.name}")
            case Compute():
                result.append(f"compute {command.label}")
            case Branch() | Repeat():
                result.append(command.name)
            case _:
                pass
    return result


def test_the_next_load_starts_between_a_wait_and_its_compute() -> None:
    commands = plan(PlanRequest(chain(4096, 8192, 2048), LUNA_LIKE)).commands
    said = [w for w in words(commands) if "weights" in w or "compute n" in w]
    assert said == [
        "start load weights of n0",
        "wait load weights of n0",
        "start load weights of n1",
        "compute n0",
        "wait load weights of n1",
        "start load weights of n2",
        "compute n1",
        "wait load weights of n2",
        "compute n2",
    ]


def test_the_place_of_the_wait_is_late_or_early() -> None:
    late, plain = (
        plan(PlanRequest(chain(4096, 8192, 2048), LUNA_LIKE, streamer=streamer)).commands
        for streamer in ("ping-pong:wait=late", "ping-pong")
    )
    assert late == plain
    for text in ("early", "wait=", "wait=early,", "wait=late=early"):
        with pytest.raises(BadInput, match="no place of the wait"):
            stream(chain(64), LUNA_LIKE, f"ping-pong:{text}", 4096)


class _Listing:
    """A random network with nested ifs, and Algorithm 3 written down beside it while it is built: text of the
    paper (section 1.4), no code of the product."""

    def __init__(self, random: Random) -> None:
        self.random, self.number = random, count()
        self.builder = ProgramBuilder("random")

    def region(self, x: Value, depth: int) -> tuple[Value, list[str]]:
        """Add ops and ifs; return the last tensor and the instructions."""
        listing: list[str] = []
        run: list[tuple[str, bool]] = []
        for _ in range(self.random.randint(1, 6)):
            name = f"n{next(self.number)}"
            kind = self.random.choice(("dense", "relu", "relu", "if") if depth else ("dense", "relu"))
            if kind == "if":
                listing += [*self.instructions(run), name]
                run = []
                blocks: list[tuple[str, list[Node]]] = []
                for arm in ("left", "right"):
                    with self.builder.block() as block:
                        y, inside = self.region(x, depth - 1)
                        self.builder.elementwise("relu", f"{name}.{arm}", [y], outputs=[f"{name}.y"])
                    blocks.append((arm, block))
                    listing += [*inside, f"compute {name}.{arm}"]
                self.builder.add_if(name, blocks)
                x = self.builder.tensor(f"{name}.y", (1, 64))
            elif kind == "dense":
                x = self.builder.dense(name, x, 64)
                run.append((name, True))
            else:
                x = self.builder.elementwise("relu", name, [x])
                run.append((name, False))
        return x, [*listing, *self.instructions(run)]

    def instructions(self, run: list[tuple[str, bool]]) -> Iterator[str]:
        """A Region of the paper: op i + 1's start before op i computes, its wait after op i has ended."""
        weighted = [name for name, has_weights in run if has_weights]
        following = dict(pairwise(weighted))
        for name, _ in run:
            if weighted[:1] == [name]:
                yield from (f"start load weights of {name}", f"wait load weights of {name}")
            if name in following:
                yield f"start load weights of {following[name]}"
            yield f"compute {name}"
            if name in following:
                yield f"wait load weights of {following[name]}"


def test_random_networks_have_the_instructions_of_algorithm_3() -> None:
    branched = 0
    for seed in range(40):
        made = _Listing(Random(seed))
        x, listing = made.region(made.builder.input("x", (1, 64)), 2)
        made.builder.output(x)
        commands = plan(
            PlanRequest(made.builder.build(), LUNA_LIKE, streamer="ping-pong:wait=early")
        ).commands
        said = [
            w for w in words(walk(commands)) if w.partition(" ")[0] not in ("start", "wait") or "weights" in w
        ]
        assert said == listing, seed
        branched += any(isinstance(command, Branch) for command in commands)
    assert branched > 10


def test_two_buffers_each_of_the_largest_block_of_its_parity_alive_throughout() -> None:
    schedule = stream(chain(4096, 8192, 2048, 1024, 6144), LUNA_LIKE, "ping-pong", 384 * 1024)
    weights = {s.name: s for s in schedule.buffers.values() if s.kind == "weights"}
    assert {name: spec.bytes for name, spec in weights.items()} == {
        "ping buffer of n0..n4 weights": 6144,
        "pong buffer of n1..n3 weights": 8192,
    }
    assert {spec.held for spec in weights.values()} == {Interval(0, 10)}


def test_blocks_that_do_not_fit_are_sliced_by_output_channels() -> None:
    program = chain(65536, 65536)
    planned = plan(PlanRequest(program, with_memory(LUNA_LIKE, 40 * 1024), streamer="ping-pong"))
    slices = [t for t in planned.schedule.transfers if t.part.weights and t.part.name == "n0"]
    assert len(slices) > 1
    assert sum(t.bytes for t in slices) == 65536
    assert not planned.schedule.striped
    assert planned.solved.peak <= 40 * 1024
