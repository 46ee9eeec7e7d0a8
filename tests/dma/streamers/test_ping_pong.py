"""``ping-pong`` (Wang et al. 2025, Algorithm 3): the order of its instructions, and its two buffers."""

from chipmodel.geometry.interval import Interval
from chipmodel.model.commands import Branch, Command, Compute, DmaStart, DmaWait, Repeat
from chipmodel.model.program import Program
from chipmodel.pipeline.plan import plan
from chipmodel.pipeline.request import PlanRequest
from dma.stream import stream
from tests.support.chips import LUNA_LIKE, with_memory
from workloads.build.builder import ProgramBuilder


def chain(*sizes: int) -> Program:
    """Dense layers whose weight blocks have these bytes, a ReLU after each."""
    builder = ProgramBuilder("chain")
    x = builder.input("x", (1, 64))
    for index, size in enumerate(sizes):
        x = builder.dense(f"n{index}", x, 64, weights=[builder.weight(f"w{index}", size)])
        x = builder.elementwise("relu", f"r{index}", [x])
    builder.output(x)
    return builder.build()


def words(commands: tuple[Command, ...]) -> list[str]:
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


def test_two_buffers_each_of_the_largest_block_of_its_parity_alive_throughout() -> None:
    schedule = stream(chain(4096, 8192, 2048, 1024, 6144), LUNA_LIKE, "ping-pong", 384 * 1024)
    weights = {s.name: s for s in schedule.buffers.values() if s.kind == "weights"}
    assert {name: spec.bytes for name, spec in weights.items()} == {
        "ping buffer of n0..n4 weights": 6144,
        "pong buffer of n1..n3 weights": 8192,
    }
    assert {spec.held for spec in weights.values()} == {Interval(0, 10)}


def test_sync_computes_nothing_while_a_load_is_in_flight() -> None:
    commands = plan(PlanRequest(chain(4096, 8192), LUNA_LIKE, "large-first", "sync")).commands
    in_flight: set[str] = set()
    for command in commands:
        match command:
            case DmaStart():
                in_flight.add(command.name)
            case DmaWait():
                in_flight.remove(command.name)
            case _:
                assert not in_flight
    assert not in_flight


def test_every_region_starts_without_weights() -> None:
    builder = ProgramBuilder("regions")
    x = builder.input("x", (1, 64))
    x = builder.dense("before", x, 64)
    with builder.block() as left:
        builder.dense("left", x, 64, outputs=["y"])
    with builder.block() as right:
        builder.dense("right", x, 64, outputs=["y"])
    builder.add_if("gate", [("left", left), ("right", right)])
    y = builder.tensor("y", (1, 64))
    builder.output(builder.dense("after", y, 64))
    planned = plan(PlanRequest(builder.build(), LUNA_LIKE))
    for transfer in planned.schedule.transfers:
        if transfer.part.weights:
            assert transfer.issue == transfer.due, transfer.name
    assert any(isinstance(c, Branch) for c in planned.commands)


def test_blocks_that_do_not_fit_are_sliced_by_output_channels() -> None:
    program = chain(65536, 65536)
    planned = plan(PlanRequest(program, with_memory(LUNA_LIKE, 40 * 1024)))
    slices = [t for t in planned.schedule.transfers if t.part.weights and t.part.name == "n0"]
    assert len(slices) > 1
    assert sum(t.bytes for t in slices) == 65536
    assert not planned.schedule.striped
    assert planned.solved.peak <= 40 * 1024
