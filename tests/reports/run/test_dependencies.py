from functools import cache

from chipmodel.answers.result import Result
from chipmodel.pipeline.request import PlanRequest
from chipmodel.pipeline.run import run
from reports.run.dependencies import needs
from tests.reports.sample import EVIL, UNICODE, sample


def named(result: Result, name: str, which: int = 0) -> set[tuple[str, str]]:
    """The kinds and names of what the event needed that is the ``which``-th of its name at work."""
    found = needs(result)
    indices = [i for i, e in enumerate(result.trace.events) if e.name == name and not e.cause]
    return {(result.trace.events[i].kind, result.trace.events[i].name) for i in found[indices[which]]}


def test_a_step_depends_on_its_loads_and_the_ops_before() -> None:
    assert named(sample(), "stem") == {("load weights", "load stem"), ("load tensor", "load audio")}
    assert named(sample(), EVIL) == {("load weights", f"load {EVIL}"), ("compute", "stem")}
    last = f"{UNICODE} rows 21-32"
    assert ("compute", last) in named(sample(), "relu")
    assert ("load tensor", "load relu") in named(sample(), "relu")


def test_a_step_depends_only_on_the_arm_that_ran() -> None:
    assert ("compute", "loud.conv") in named(sample(), "refine.a")
    assert ("compute", "quiet.copy") in named(sample(path="quiet"), "refine.a")
    assert ("compute", "loud.conv") not in named(sample(path="quiet"), "refine.a")


def test_each_iteration_has_its_own_dependencies() -> None:
    result = sample()
    found = needs(result)
    iterations = [i for i, e in enumerate(result.trace.events) if e.name == "refine.b" and not e.cause]
    before = [max(found[i]) for i in iterations]
    assert len(set(before)) == 3
    assert all(result.trace.events[i].name in ("refine.a", "load refine.b") for i in before)


@cache
def _runs() -> tuple[Result, ...]:
    from chipmodel.hardware.chip_file import load_chip
    from workloads.load import load

    chips = load_chip("stm32n6", ("shared_memory.bytes=64KiB",)), load_chip("stm32n6", ("cores=2",))
    names = ("zoo:resnet8", "zoo:branchynet")
    return tuple(run(PlanRequest(load(name), chip)) for name in names for chip in chips)


def test_in_real_runs_dependencies_have_ended_before() -> None:
    for result in (*_runs(), sample()):
        found = needs(result)
        events = result.trace.events
        assert len(found) == len(events)
        assert sum(map(len, found)) > len(events) / 2
        for event, needed in zip(events, found, strict=True):
            for index in needed:
                other = events[index]
                assert not other.cause
                assert other.stop == event.stop if event.cause else other.stop <= event.start


def test_in_real_runs_every_step_with_weights_depends_on_their_load() -> None:
    from chipmodel.model.program import ops

    for result in _runs():
        weighted = {op.name for op in ops(result.program.body) if op.weights}
        found = needs(result)
        for event, needed in zip(result.trace.events, found, strict=True):
            if event.kind == "compute" and event.op in weighted:
                kinds = {result.trace.events[i].kind for i in needed}
                assert "load weights" in kinds, event
