"""The points of a study: the product of its lists, filtered, each with the hash that its row is stored by."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import astuple, fields, replace
from fnmatch import fnmatchcase
from functools import cache
from hashlib import sha256
from itertools import product

from chipmodel.answers.study_row import Buffers, Point
from chipmodel.errors import BadInput, Place
from chipmodel.hardware.chip import Chip
from chipmodel.hardware.chip_file import load_chip
from chipmodel.records import dataclass
from chipmodel.studies.point_plugins import plugin_identities
from chipmodel.studies.study_file import Study, StudyFilter, reading
from chipmodel.studies.task import PointTask
from chipmodel.studies.workload import Source
from solvers.branches.mergers import packer_of_merge
from solvers.registry import packer_named

_NOWHERE = Place("")
Overrides = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class _StudyChip:
    """A chip as a study varies it: without the origins of its numbers and the networks that it was measured
    with, which have no effect, and whose sets have another order in each process."""

    chip: Chip | None
    digest: str
    error: str = ""


def tasks_of(study: Study) -> tuple[PointTask, ...]:
    """Every point of the study once, in the order of its lists. Raises BadInput for filters that leave none.

    A packing has no chip, merge, streamer and cascades; a planner that does not search takes no seed but the
    first, and no limits, but that of time on a chip, which holds for all of the point. What cannot be, such
    as a field that a chip does not have, becomes a task with an error.
    """
    machines: dict[tuple[str, Overrides], _StudyChip] = {("", ()): _StudyChip(None, "")}
    tasks: dict[Point, PointTask] = {}
    for source, point in _product(study):
        if point in tasks or not _asked(study, point):
            continue
        named = point.chip, point.overrides
        if named not in machines:
            machines[named] = _machine(study, *named)
        tasks[point] = _task(point, source, machines[named])
    if not tasks:
        place = next(filter_.place for filter_ in (*study.include, *study.exclude))
        raise BadInput("the filters leave no point", where=place, hint="let one of them match less")
    return tuple(tasks.values())


def turns(tasks: Sequence[PointTask]) -> list[PointTask]:
    """The tasks in the order in which they are answered: cheap planners first, so that a study that is
    stopped has its baselines; the workloads take turns, case by case, so that it has all of them."""
    cases: dict[str, dict[object, int]] = {}
    ranks = [
        (task.searches, known.setdefault(task.case, len(known)))
        for task in tasks
        for known in (cases.setdefault(task.source.name, {}),)
    ]
    order = sorted(range(len(tasks)), key=ranks.__getitem__)
    return [tasks[index] for index in order]


def idle_filters(study: Study) -> tuple[str, ...]:
    """A note for every filter that matches no point of the whole product: probably a mistake."""
    points = {point for _, point in _product(study)}
    return tuple(
        f"{each.place}: this filter matches no point"
        for each in (*study.include, *study.exclude)
        if not any(_matches(each, point) for point in points)
    )


def _product(study: Study) -> Iterator[tuple[Source, Point]]:
    swept = [[(field, value) for value in values] for field, values in study.sweeps]
    axes = product(
        study.workloads,
        study.chips,
        product(*swept),
        study.packers,
        study.merges,
        study.streamers,
        study.cascades,
        study.seeds,
    )
    limits = study.time_limit, study.node_limit
    buffers: Buffers = "same" if study.same_buffers else "own"
    for source, chip, overrides, packer, merge, streamer, cascade, seed in axes:
        planners = packer, merge, streamer, seed
        point = Point(source.name, chip, *planners, overrides, *limits, cascade, buffers)
        yield source, _plain(study, point, source)


def _plain(study: Study, point: Point, source: Source) -> Point:
    """The point without settings that have no effect on it, so that no question is asked twice."""
    if source.packs:
        point = replace(point, chip="", merge="", streamer="", overrides=(), cascade="", buffers="")
    point = replace(point, packer=packer_of_merge(point.merge, point.packer))
    if not _searches(point.packer):
        limit = point.time_limit if point.chip else None
        point = replace(point, seed=study.seeds[0], time_limit=limit, node_limit=None)
    return point


@cache
def _searches(packer: str) -> bool:
    return packer_named(packer).searches


def _asked(study: Study, point: Point) -> bool:
    included = not study.include or any(_matches(each, point) for each in study.include)
    return included and not any(_matches(each, point) for each in study.exclude)


def _matches(filter_: StudyFilter, point: Point) -> bool:
    overrides = dict(point.overrides)
    for key, patterns in filter_.patterns:
        value = overrides.get(key, "") if "." in key or key in overrides else str(getattr(point, key, ""))
        if not any(_same(key, value, pattern) for pattern in patterns):
            return False
    return True


@cache
def _same(key: str, value: str, pattern: str) -> bool:
    """Whether the text matches, or both are one value of a chip field, as 256KiB and 262144 are."""
    if fnmatchcase(value, pattern):
        return True
    try:
        return bool(reading(key, value, _NOWHERE) == reading(key, pattern, _NOWHERE))
    except (BadInput, KeyError):
        return False


def _machine(study: Study, name: str, overrides: Overrides) -> _StudyChip:
    try:
        chip = load_chip(study.chip_file(name), [f"{field}={value}" for field, value in overrides])
    except BadInput as error:
        return _StudyChip(None, sha256(str(error).encode()).hexdigest(), str(error))
    chip = replace(chip, figures={}, title="", measured=(), measured_energy=())
    values = [getattr(chip, field.name) for field in fields(chip)]
    return _StudyChip(chip, sha256(repr(values).encode()).hexdigest())


def _task(point: Point, source: Source, machine: _StudyChip) -> PointTask:
    plugins = plugin_identities(point, source, machine.chip)
    decisive = [astuple(point), source.digest, machine.digest, *plugins]
    key = sha256(json.dumps(decisive).encode()).hexdigest()
    return PointTask(
        point, key, source, machine.chip, machine.digest, _searches(point.packer), machine.error, plugins
    )
