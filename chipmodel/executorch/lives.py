"""When the bytes of each tensor are in use, over a method's graph and its submodules.

The results of a ``cond`` are not copied: ``MoveCall`` lets the result point to where the arm computed it
(runtime/executor/method.cpp). The bytes in the arm are so in use for as long as the result; a tensor that is
a view of the result, however, has the result's planned address (``_emit_view``). Both are right where result
and arms have the same address, which is what is planned wherever it can be.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from chipmodel.errors import BadInput
from chipmodel.executorch.graphs import FxModule, PlannedSpec, bytes_owner, is_view, leaves
from chipmodel.executorch.linear_order import COND, MAP, SCAN, InnerGraphs, PlacedGraph
from chipmodel.geometry.interval import Interval

Lives = dict[PlannedSpec, list[Interval]]
SpecsOf = Callable[[FxModule], Sequence[PlannedSpec]]
"""The specs of a graph, submodules aside, that need bytes."""
Pins = Mapping[PlannedSpec, int | None]
"""The memory that a pass before the planner gave to a spec, if any."""


@dataclass(slots=True)
class SpecLives:
    """Positions at which the bytes of each spec are in use; specs that are not in it need none."""

    positions: Lives = field(default_factory=dict[PlannedSpec, list[Interval]])
    results: list[tuple[PlannedSpec, ...]] = field(default_factory=list[tuple[PlannedSpec, ...]])
    """A result of a ``cond`` and what each arm returns for it, to lie at one address."""
    outlived: list[tuple[PlannedSpec, PlannedSpec]] = field(
        default_factory=list[tuple[PlannedSpec, PlannedSpec]]
    )
    """Pairs of which the first has to live at all positions of the second too."""
    moved: set[PlannedSpec] = field(default_factory=set[PlannedSpec])
    """Results of a ``cond`` that point elsewhere than to their planned address."""


def first_and_last(spec: PlannedSpec) -> tuple[int, int]:
    """The nodes at which a spec's lifetime begins and ends. Raises BadInput where it has none."""
    first, last = spec.lifetime
    if first is None or last is None:
        raise BadInput("a tensor has no lifetime", hint="run the planner as part of MemoryPlanningPass")
    return first, last


def spec_lives(root: PlacedGraph, specs_of_graph: SpecsOf, pins: Pins) -> SpecLives:
    """The lives of all specs of ``root`` and what it runs. Raises BadInput for what cannot be planned."""
    lives = SpecLives()
    runs = list(root.all_runs())
    _refuse_shared_arms(runs)
    for run in runs:
        _add_own(lives, run, specs_of_graph)
    for run in reversed(runs):
        for inner in run.inner:
            if inner.kind == COND:
                _tie_results(lives, run, inner, pins)
            elif inner.kind not in (MAP, SCAN):
                _keep_results(lives, run, inner)
    _extend(lives)
    return lives


def _refuse_shared_arms(runs: Sequence[PlacedGraph]) -> None:
    """Raise BadInput for a submodule that is an arm of two nodes: the later run would overwrite a result."""
    arms = [arm.module for run in runs for inner in run.inner if inner.kind == COND for arm in inner.runs]
    if any(arm is other for number, arm in enumerate(arms) for other in arms[:number]):
        raise BadInput(
            "two nodes run the same submodule, so the results of one overwrite those of the other",
            hint="give each cond functions of its own",
        )


def _add_own(lives: SpecLives, run: PlacedGraph, specs_of_graph: SpecsOf) -> None:
    """The lives that the lifetimes of a graph's own specs give."""
    ends = {spec: inner for inner in run.inner if inner.kind == COND for spec in inner.results}
    for spec in specs_of_graph(run.module):
        if spec in run.bound:
            continue
        first, last = first_and_last(spec)
        start, stop = run.spans[first].start, run.spans[last].stop
        made_by = ends.get(spec)
        if made_by is not None and made_by.number == first:
            start = run.spans[first].stop - 1
        lives.positions.setdefault(spec, []).extend(_until_last_read(run, spec, Interval(start, stop), last))


def _until_last_read(run: PlacedGraph, spec: PlannedSpec, whole: Interval, last: int) -> list[Interval]:
    """``whole``; where a ``cond`` is the last to read it, in each arm until that arm last reads it."""
    inner = next((each for each in run.inner if each.number == last and each.kind == COND), None)
    if inner is None:
        return [whole]
    parts = [Interval(whole.start, run.spans[last].start + 1)]
    for arm in inner.runs:
        for placeholder, outside in arm.bound.items():
            if outside is spec:
                _, read = first_and_last(placeholder)
                parts.append(Interval(arm.spans[0].start, arm.spans[read].stop))
    return parts


def _tie_results(lives: SpecLives, run: PlacedGraph, inner: InnerGraphs, pins: Pins) -> None:
    """Give each result of a ``cond`` and what its arms return one address, or keep the latter for as long."""
    returned = [[_outside(arm, spec) for spec in arm.outputs] for arm in inner.runs]
    for number, result in enumerate(inner.results):
        if result is None:
            continue
        from_arms = [specs[number] if number < len(specs) else None for specs in returned]
        own = [spec for spec in from_arms if spec is not None and spec in lives.positions]
        homes = {pins.get(spec) for spec in (result, *own)} - {None}
        if len(homes) <= 1 and _at_one_address(lives, inner, number, result, from_arms):
            lives.results.append((result, *own))
            lives.outlived += [(spec, result) for spec in own]
            continue
        lives.moved.add(result)
        if (
            any(is_view(node) and _views(node.args, result) for node in run.nodes)
            and result in lives.positions
        ):
            raise BadInput(
                f"a view of result {number} of {inner.node} needs an address that its arms do not have",
                hint="set remove_view_copy=False in ExecutorchBackendConfig",
            )
        for spec in own:
            _outlive(lives, run, inner, spec, result)


def _views(args: Sequence[object], result: PlannedSpec) -> bool:
    specs = (leaf for node in leaves(args[:1]) for leaf in leaves(getattr(node, "meta", {}).get("spec")))
    return any(bytes_owner(spec) is result for spec in specs)


def _at_one_address(
    lives: SpecLives,
    inner: InnerGraphs,
    number: int,
    result: PlannedSpec,
    from_arms: Sequence[PlannedSpec | None],
) -> bool:
    """Whether a result and what the arms return for it may lie at one address: tensors of the arms' own, of
    the same size, each returned once, none of them within the bytes of another or moved itself."""
    for arm, spec in zip(inner.runs, from_arms, strict=True):
        if (
            spec is None
            or spec not in lives.positions
            or spec in lives.moved
            or arm.outputs[number] is not spec
        ):
            return False
        if arm.outputs.count(spec) > 1 or spec.allocated_memory != result.allocated_memory:
            return False
    specs = [result, *(spec for spec in from_arms if spec is not None)]
    return result in lives.positions and not any(getattr(spec, "storage_base", None) for spec in specs)


def _outside(run: PlacedGraph, spec: PlannedSpec | None) -> PlannedSpec | None:
    return None if spec is None else run.bound.get(spec, spec)


def _outlive(
    lives: SpecLives, run: PlacedGraph, inner: InnerGraphs, spec: PlannedSpec, result: PlannedSpec
) -> None:
    if result in lives.positions:
        lives.outlived.append((spec, result))
    else:
        _, last = first_and_last(result)
        lives.positions[spec].append(Interval(run.spans[inner.number].stop - 1, run.spans[last].stop))


def _keep_results(lives: SpecLives, run: PlacedGraph, inner: InnerGraphs) -> None:
    """Keep what the submodules of a ``while_loop``, or of an unknown operator, return throughout the node and
    for as long as its results: the next iteration may read it."""
    for each in inner.runs:
        for spec in (_outside(each, spec) for spec in each.outputs):
            if spec is None or spec not in lives.positions:
                continue
            lives.positions[spec].append(run.spans[inner.number])
            for result in inner.results:
                if result is not None:
                    _outlive(lives, run, inner, spec, result)


def _extend(lives: SpecLives) -> None:
    """Extend lives until every pair of ``outlived`` holds."""
    changed = True
    while changed:
        changed = False
        for spec, result in lives.outlived:
            added = [each for each in lives.positions[result] if each not in lives.positions[spec]]
            lives.positions[spec] += added
            changed = changed or bool(added)
