"""The head of a TensorFlow Lite Micro arena: as the runtime plans it, and as small as it can be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from chipmodel.answers.arena import ArenaAnswer, ArenaRequest
from chipmodel.comparison.packing import WrongClaim
from chipmodel.errors import BadInput, Place
from chipmodel.files.suggestions import listed
from chipmodel.geometry.interval import Interval
from chipmodel.model.plan import Buffer, Plan, Problem, Solved
from chipmodel.pipeline.choices import ARENA_SECONDS, PACKING_PACKER
from chipmodel.verify.fast_offsets import check_fast
from solvers.core.outcome import Limits
from solvers.heuristics.tflm_greedy import ONLINE, greedy_offsets, peak
from solvers.registry import solve
from workloads.from_tflite.arena import (
    ALIGNMENT,
    arena_requests,
    tail_estimate,
    unknown_kernels,
)
from workloads.from_tflite.micro_kernels import refused_parts
from workloads.from_tflite.model_file import TfliteModel, read_model
from workloads.from_tflite.offline_plan import with_offline_plan

RUNTIME = "the runtime's own"
SECONDS_PER_PAIR = 1.2e-7
"""Seconds that the runtime's planner takes three times, for each pair of requests (measured on 5,000)."""


def arena_problem(requests: Sequence[ArenaRequest]) -> Problem:
    """The requests as a packing problem; the runtime's scopes include the last one."""
    return Problem(
        tuple(
            Buffer(str(number), each.bytes, (Interval(each.first, each.last + 1),), ALIGNMENT)
            for number, each in enumerate(requests)
            if each.bytes
        )
    )


def plan_arena(model: TfliteModel, source: str, packer: str, limits: Limits) -> ArenaAnswer:
    """Plan the head of a model's arena.

    The runtime places the memory of its kernels itself, around the tensors of an offline plan; so what counts
    is its planner's answer with our offsets. Where that is no better than without, its own offsets are kept.
    Raises BadInput for an unknown packer or a model that the runtime refuses, WrongClaim for a plan that does
    not hold."""
    refuse_unrunnable(model, source)
    requests, unknown = arena_requests(model), unknown_kernels(model)
    problem = arena_problem(requests)
    running = SECONDS_PER_PAIR * len(requests) ** 2
    solved = solve(problem, packer, replace(limits, deadline=limits.deadline.before(running)))
    _check(problem, solved.plan, "the packer's")
    sizes = [request.bytes for request in requests]
    alone = _as_run(requests, [ONLINE] * len(requests))
    tried = [(peak(sizes, alone), RUNTIME, alone)]
    for name, given in ((solved.planner, _given(requests, solved)), (RUNTIME, alone)):
        offline = zip(requests, given, strict=True)
        offsets = _as_run(requests, [ONLINE if each.tensor is None else at for each, at in offline])
        tried.append((peak(sizes, offsets), name, offsets))
    for _, name, offsets in tried:
        offset_of = {str(number): at for number, at in enumerate(offsets) if requests[number].bytes}
        _check(problem, Plan(offset_of), f"{name} planner's")
    # What a kernel that is not known asks for may lie in the way of any offsets, so the runtime decides.
    head, planner, offsets = tried[0] if unknown else min(tried[1:], key=lambda each: each[0])
    proven = head == solved.lower_bound
    return ArenaAnswer(
        source=source,
        requests=requests,
        kernel_bytes=_kernel_bytes(requests),
        offsets=() if unknown else _by_tensor(model, requests, offsets),
        runtime_head_bytes=tried[0][0],
        head_bytes=head,
        lower_bound_bytes=solved.lower_bound,
        status="unknown" if unknown else "optimal" if proven else "feasible",
        planner=planner,
        tail_estimate_bytes=tail_estimate(model),
        unknown_kernels=unknown,
    )


def refuse_unrunnable(model: TfliteModel, source: str) -> None:
    """Raise BadInput for a model that the runtime refuses."""
    if refused := refused_parts(model):
        raise BadInput(
            f"TensorFlow Lite Micro refuses this model: no kernel for {listed(refused, 3)}",
            where=Place(source),
            hint="convert it to operators and types that the runtime has, such as int8 or float32 for all",
        )


def planned_model(path: Path, limits: Limits | None) -> bytes:
    """The model in a TFLite file with an offline plan of its arena. Raises BadInput."""
    where = Place(str(path))
    model = read_model(path, where)
    answer = plan_arena(model, path.name, PACKING_PACKER, limits or Limits(ARENA_SECONDS))
    return with_arena_plan(model.data, answer, where)


def with_arena_plan(data: bytes, answer: ArenaAnswer, where: Place) -> bytes:
    """A model with the offsets of an answer. Raises BadInput where some kernel's memory is not known."""
    if answer.unknown_kernels:
        what = (
            f"no offsets can be given: the kernels of {', '.join(answer.unknown_kernels)} may ask for memory"
        )
        raise BadInput(what, where=where, hint="leave the plan to the runtime")
    return with_offline_plan(data, answer.offsets, where)


def _as_run(requests: Sequence[ArenaRequest], given: Sequence[int]) -> list[int]:
    return greedy_offsets(
        [request.bytes for request in requests],
        [(request.first, request.last) for request in requests],
        given,
    )


def _given(requests: Sequence[ArenaRequest], solved: Solved) -> list[int]:
    return [solved.plan.offsets.get(str(number), 0) for number in range(len(requests))]


def _check(problem: Problem, plan: Plan, whose: str) -> None:
    if faults := check_fast(replace(problem, capacity=None), plan):
        raise WrongClaim(f"{whose} plan of the arena is wrong: {faults[0]}")


def _by_tensor(
    model: TfliteModel, requests: Sequence[ArenaRequest], offsets: Sequence[int]
) -> tuple[int, ...]:
    """The offsets of all tensors of the model; -1 for those that the arena's head does not hold."""
    count = sum(len(graph.tensors) for graph in model.subgraphs)
    offset_of = {
        each.tensor: at for each, at in zip(requests, offsets, strict=True) if each.tensor is not None
    }
    return tuple(offset_of.get(n, ONLINE) for n in range(count))


def _kernel_bytes(requests: Sequence[ArenaRequest]) -> int:
    """The most memory that kernels ask for at one operator."""
    by_scope: Counter[int] = Counter()
    for request in requests:
        if request.tensor is None:
            by_scope[request.last] += request.bytes
    return max(by_scope.values(), default=0)
