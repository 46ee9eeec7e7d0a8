"""Programs on several cores: parts, partition, bound, and the mistakes that the verifier must find."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from chipmodel.bounds.cores import least_compute_cycles
from chipmodel.errors import BadInput
from chipmodel.geometry.interval import Interval
from chipmodel.hardware.chip import Chip
from chipmodel.machine.simulate import simulate_cores
from chipmodel.model.commands import Acquire, Branch, Command, Compute, Deadlock, DmaStart, Release
from chipmodel.model.core_parts import same_core_groups, split, uses
from chipmodel.model.program import Loop, Node, Op, Program, ops
from chipmodel.pipeline.multicore import plan_cores
from chipmodel.pipeline.partition import assigned, balanced, on_one_core
from chipmodel.pipeline.psram_of_cores import one_psram
from chipmodel.pipeline.request import PlanRequest
from chipmodel.pipeline.run import run
from chipmodel.verify.cores import verify_cores
from tests.chipmodel.verify.test_commands import once, rewritten
from tests.support.bounds import lower_bound_cycles
from tests.support.chips import LUNA_LIKE
from tests.support.folders import WORKLOADS
from tests.support.narrowed import some
from tests.support.small_networks import small_network
from workloads.build.builder import ProgramBuilder
from workloads.load import load

TWO = replace(LUNA_LIKE, cores=2)
FOUR = replace(LUNA_LIKE, cores=4)
EXAMPLE = WORKLOADS / "two_cores.yaml"
Streams = tuple[tuple[Command, ...], ...]


DIAMOND = small_network("diamond")
"""``a``, then ``b`` and ``c`` in parallel, then ``d`` of both."""


def looped() -> Program:
    """A loop that carries ``state``, which ``early`` reads before it and ``late`` after it."""
    builder = ProgramBuilder("looped")
    x = builder.input("x", (1, 8, 8, 8))
    state = builder.elementwise("copy", "start", [x], outputs=["state"])
    builder.output(builder.elementwise("relu", "early", [state]))
    with builder.block() as body:
        inner = builder.conv("inner", state, 8, 3, pad=1)
        builder.elementwise("copy", "next", [inner], outputs=["state"])
    builder.add_loop("loop", 3, body, ["state"])
    builder.output(builder.elementwise("relu", "late", [state]))
    return builder.build()


def on(program: Program, **cores: int) -> Program:
    """``program`` with the given cores for ops, by name."""

    def put(op: Op) -> Op:
        return replace(op, core=cores.get(op.name, op.core))

    def inside(node: Node) -> Node:
        if isinstance(node, Op):
            return put(node)
        assert isinstance(node, Loop)
        return replace(node, body=tuple(inside(n) for n in node.body))

    return replace(program, body=tuple(inside(node) for node in program.body))


# -- parts -------------------------------------------------------------------------------------------


def test_a_shared_tensor_is_an_output_of_one_part_and_an_input_of_another() -> None:
    zero, one = split(DIAMOND, {"a": 0, "b": 0, "c": 1, "d": 0}, 2)
    assert [op.name for op in ops(zero.program.body)] == ["a", "b", "d"]
    assert zero.program.inputs == ("x", "c")
    assert zero.program.outputs == ("d", "a")
    assert (zero.imports, zero.exports) == ({"c": 1}, {"a": "a"})
    assert zero.program.arrivals == {"c": 2}  # d is the first op here that comes after c
    assert (one.imports, one.exports) == ({"a": 0}, {"c": "c"})
    assert one.program.arrivals == {"a": 0}
    assert set(one.program.weights) == {"c.weight", "c.bias"}


def test_nothing_overwrites_a_shared_tensor() -> None:
    program = small_network("core_parts chain")
    apart, together_ = split(program, {"a": 0, "b": 1}, 2), split(program, {"a": 0, "b": 0}, 1)
    assert [op.overwrites for part in apart for op in ops(part.program.body)] == [None, None]
    assert [op.overwrites for op in ops(together_[0].program.body)] == [None, "a"]


def test_definitions_of_a_tensor_and_reads_before_the_last_are_on_one_core() -> None:
    program = looped()
    names = [[program.body[i].name for i in group] for group in same_core_groups(program, uses(program))]
    assert names == [["start", "early", "loop"], ["late"]]


def test_cores_that_exchange_tensors_do_not_deadlock() -> None:
    streams = planned(small_network("to and fro"), a=1, b=0, c=1, d=0)
    names = [
        c.tensor if isinstance(c, Acquire) else c.op for c in streams[1] if isinstance(c, Acquire | Compute)
    ]
    assert names == ["a", "b", "c"]


def test_a_tensor_of_another_core_is_not_loaded_before_it_can_be_ready() -> None:
    streams = planned(small_network("arms"), a=1, b=0, gate=1)
    outermost = [
        c.tensor if isinstance(c, Acquire) else c.name for c in streams[1] if isinstance(c, Acquire | Branch)
    ]
    assert outermost == ["b", "gate"]


# -- partition ---------------------------------------------------------------------------------------


def test_cores_given_by_the_workload_are_kept() -> None:
    program = on(DIAMOND, b=3, d=2)
    chosen = balanced(program, FOUR)
    assert (chosen["b"], chosen["d"]) == (3, 2)
    assert on_one_core(program, 4) == {"a": 0, "b": 3, "c": 0, "d": 2}


def test_an_unknown_core_is_refused_at_its_place() -> None:
    program = load(str(EXAMPLE))
    with pytest.raises(BadInput, match=r"two_cores\.yaml:\d+:\d+: op 'a1' is for core 1, .* one core"):
        run(PlanRequest(program, LUNA_LIKE, "large-first", "sync"))


@pytest.mark.parametrize("cores", [{"inner": 0, "next": 1}, {"start": 1, "inner": 0}])
def test_a_loop_and_what_it_carries_are_on_one_core(cores: dict[str, int]) -> None:
    with pytest.raises(BadInput, match="both must run on one"):
        assigned(on(looped(), **cores), 2)


def test_the_core_of_one_op_holds_for_its_whole_loop() -> None:
    assert assigned(on(looped(), next=1), 2) == {"start": 1, "early": 1, "loop": 1}


def test_parallel_branches_run_on_different_cores_where_that_is_faster() -> None:
    program = small_network("branches")
    quick = replace(FOUR, shared_memory=replace(FOUR.shared_memory, bytes=1 << 20))
    result = run(PlanRequest(program, quick))
    assert sorted(len(tuple(ops(p.part.program.body))) for p in result.cores) == [1, 1, 1, 2]
    assert result.bound.cycles <= result.trace.cycles < some(result.one_core_cycles)


def test_a_chain_stays_on_one_core() -> None:
    result = run(PlanRequest(small_network("five in a row"), FOUR))
    assert result.trace.cycles == result.one_core_cycles
    assert [len(p.part.program.body) for p in result.cores] == [5, 0, 0, 0]


# -- bound -------------------------------------------------------------------------------------------


def test_the_bound_by_hand() -> None:
    cycles = {"a": 10, "b": 20, "c": 30, "d": 5}
    assert least_compute_cycles(DIAMOND, 1, cycles) == 65
    assert least_compute_cycles(DIAMOND, 2, cycles) == 45  # a, c and d follow one another
    assert least_compute_cycles(DIAMOND, 2, {"b": 20, "c": 30}) == 30
    wide = {"a": 0, "b": 20, "c": 20, "d": 0}
    assert least_compute_cycles(DIAMOND, 2, wide) == 20


def test_a_loop_is_not_split_by_the_bound() -> None:
    assert least_compute_cycles(looped(), 4, {"inner": 30, "next": 3}) == 33
    # late comes after it, but start may be made while the loop does something else.
    assert least_compute_cycles(looped(), 4, {"start": 7, "inner": 30, "next": 3, "late": 2}) == 35


@pytest.mark.parametrize("cores", [1, 2, 3])
def test_more_cores_never_raise_the_bound(cores: int) -> None:
    program = load("zoo:googlenet")
    bounds = [lower_bound_cycles(program, replace(LUNA_LIKE, cores=n), {}) for n in (cores, cores + 1)]
    assert bounds[0] >= bounds[1]


# -- verify ------------------------------------------------------------------------------------------


def planned(program: Program, chip: Chip = TWO, **core_of: int) -> Streams:
    plans = plan_cores(PlanRequest(program, chip), core_of)
    streams = tuple(p.commands for p in plans)
    assert verify_cores(program, streams, chip) == ()
    simulate_cores(streams, chip)
    return streams


def changed(streams: Streams, core: int, kind: type, change: Callable[[Command], Command | None]) -> Streams:
    return tuple(
        rewritten(s, once(kind, change, 0)) if index == core else s for index, s in enumerate(streams)
    )


def drop(_: Command) -> None:
    return None


def test_a_missing_wait_for_another_core_is_found() -> None:
    streams = planned(DIAMOND, a=0, b=0, c=1, d=0)
    for core, name in ((0, "c"), (1, "a")):
        faults = verify_cores(DIAMOND, changed(streams, core, Acquire, drop), TWO)
        assert any(f"loads '{name}', which is not completely in Psram" in fault for fault in faults)


def test_a_release_that_is_missing_or_early_is_found() -> None:
    streams = planned(DIAMOND, a=0, b=0, c=1, d=0)
    faults = verify_cores(DIAMOND, changed(streams, 1, Release, drop), TWO)
    assert any("'c' is never released" in fault for fault in faults)
    assert any("core 0 waits forever for 'c' of core 1 before op 'd'" in fault for fault in faults)
    early = (streams[0], (Release("c", "c"), *rewritten(streams[1], once(Release, drop, 0))))
    faults = verify_cores(DIAMOND, early, TWO)
    assert "core 1: 'c' is released before all of it has been made and stored" in faults
    assert "core 1: 'c' is released, which is not completely in Psram" in faults


def test_cores_that_wait_in_a_circle_are_found() -> None:
    streams = planned(DIAMOND, a=0, b=0, c=1, d=0)
    later = rewritten(streams[0], once(Acquire, drop, 0))
    circle = ((Acquire("c", 1, "a"), *later), streams[1])
    faults = verify_cores(DIAMOND, circle, TWO)
    assert faults == (
        "core 0 waits forever for 'c' of core 1 before op 'a'",
        "core 1 waits forever for 'a' of core 0 before op 'c'",
    )


def test_cores_that_wait_forever_get_no_places_in_psram() -> None:
    plans = plan_cores(PlanRequest(DIAMOND, TWO, "large-first", "sync"), {"a": 0, "b": 0, "c": 1, "d": 0})
    parts, schedules = [plan.part for plan in plans], [plan.schedule for plan in plans]
    with pytest.raises(Deadlock, match="core 1 waits for 'a' of core 0 before op 'c'"):
        one_psram(DIAMOND, [replace(parts[0], exports={}), parts[1]], schedules, capacity=1)


def test_a_tensor_loaded_from_a_wrong_address_is_found() -> None:
    streams = planned(DIAMOND, a=0, b=0, c=1, d=0)

    def far(command: Command) -> Command:
        assert isinstance(command, DmaStart)
        return replace(command, psram=1 << 20, home=Interval(1 << 20, (1 << 20) + len(command.home)))

    loads = [
        i for i, c in enumerate(c for c in streams[1] if isinstance(c, DmaStart)) if c.at.part.name == "a"
    ]
    moved = (streams[0], rewritten(streams[1], once(DmaStart, far, loads[0])))
    assert any("'a' in Psram: at" in fault for fault in verify_cores(DIAMOND, moved, TWO))


def test_an_op_on_two_cores_or_on_the_wrong_one_is_found() -> None:
    streams = planned(DIAMOND, a=0, b=0, c=1, d=0)
    twice = (streams[0], (*streams[1], *(c for c in streams[0] if isinstance(c, Compute))))
    assert "'a' runs on cores 0, 1" in verify_cores(DIAMOND, twice, TWO)
    assert verify_cores(on(DIAMOND, b=1), streams, TWO) == (
        "op 'b' runs on core 0, the workload assigns it to core 1",
    )


def test_reading_an_older_value_on_another_core_is_found() -> None:
    streams = planned(looped(), start=0, early=0, loop=0, late=1)
    early = tuple(c for c in streams[0] if isinstance(c, Compute) and c.op == "early")
    torn = (tuple(c for c in streams[0] if c not in early), (*early, *streams[1]))
    assert "core 1 reads 'state', which another core defines again later" in verify_cores(looped(), torn, TWO)
