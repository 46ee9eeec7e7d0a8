"""A study file -> Study: every name in it checked, every mistake at its line and column.

    title: How small can SharedMemory be?
    workloads: [zoo:resnet8, models/*.onnx]     # as in chipmodel.studies.workload; * stands for anything
    chips: [luna-arcs, my-chip.yaml]            # presets and chip files, relative to this file
    packers: all                                # a list or one name; all of them
    merges: [conflict]
    streamers: [sync, ping-pong]
    cascades: [off, auto]                       # ops in stripes, one after another: none, or where faster
    seeds: [0, 1, 2]                            # of planners that search
    set:                                        # chip fields, every combination of their values
      shared_memory.bytes: [256KiB, 384KiB, 640KiB]
    requirements: {milliseconds: 20}            # of a run of each network
    columns:                                    # of each design, by formula
      area: 0.9*shared_memory.bytes/1MiB + 0.05*dma.channels
    filters:
      include: [{chip: luna-*}]                 # what matches one of these stays, all where there are none
      exclude: [{packer: exact, workload: [zoo:resnet50, zoo:vgg*]}]
    same_buffers: true                          # packers pack those of one schedule
    time_limit: 60                              # seconds for a point
    node_limit: 100000                          # of planners that search

Everything may be left out. A filter's item matches a point where all of its keys do; a key is one of ``KEYS``
or a field under ``set``; a value is a text in which ``*`` stands for anything, a number, or a list of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import prod
from pathlib import Path
from typing import Any, TypeVar

from chipmodel.errors import BadInput, Place, placed
from chipmodel.files.suggestions import shown, suggest
from chipmodel.files.text_file import read_text
from chipmodel.files.yaml_file import read_yaml, validate
from chipmodel.files.yaml_tree import Document, PathStep
from chipmodel.hardware.chip_file import load_chip, preset_names
from chipmodel.hardware.fields import FIELDS, children, field_at, read_choice, read_number
from chipmodel.pipeline.choices import CASCADE_AUTO, CASCADE_OFF
from chipmodel.records import dataclass
from chipmodel.studies.design_question import AskedDesigns, asked_designs
from chipmodel.studies.schema import FilterItem, StudyFile
from chipmodel.studies.workload import Source, matching, source_of
from dma.stream import streamer_named, streamers
from solvers.branches.mergers import merger_named, mergers
from solvers.registry import packer_named, packers

S = TypeVar("S", str, int)

KEYS = ("workload", "chip", "packer", "merge", "streamer", "cascade", "seed")
"""Keys of a filter, in addition to the fields under ``set``."""
CASCADES = (CASCADE_OFF, CASCADE_AUTO)
"""What a study may say of cascades; names of ops would be those of one workload."""
DEFAULT_WORKLOADS = ("zoo:ds_cnn", "zoo:mobilenetv1_025", "zoo:resnet8", "zoo:autoencoder")
"""The networks of MLPerf Tiny."""
MOST_POINTS = 1_000_000


@dataclass(frozen=True, slots=True)
class StudyFilter:
    """What every matching point has: for each key, one of the patterns."""

    patterns: tuple[tuple[str, tuple[str, ...]], ...]
    place: Place


@dataclass(frozen=True, slots=True)
class Study:
    """What a study file asks: the axes of the product, what is left out, and the limits."""

    name: str
    title: str
    file: Path
    text: str
    workloads: tuple[Source, ...]
    chips: tuple[str, ...]
    packers: tuple[str, ...]
    merges: tuple[str, ...]
    streamers: tuple[str, ...]
    cascades: tuple[str, ...]
    seeds: tuple[int, ...]
    sweeps: tuple[tuple[str, tuple[str, ...]], ...]
    """Chip fields and their values, sorted by field."""
    include: tuple[StudyFilter, ...]
    exclude: tuple[StudyFilter, ...]
    same_buffers: bool
    """Whether the packers and mergers of a case pack the buffers of one schedule."""
    time_limit: float | None
    node_limit: int | None
    designs: AskedDesigns

    def chip_file(self, chip: str) -> str:
        """The preset's name, or the path of the chip file."""
        return _chip_path(chip, self.file.parent)


def read_study(path: Path) -> Study:
    """The study in a file. Raises BadInput, at a line and column, for whatever is wrong with it."""
    return parse_study(read_text(path), path)


def parse_study(text: str, path: Path) -> Study:
    """The same from its text; ``path`` says what other files' paths are relative to."""
    document = read_yaml(text, str(path))
    asked = validate(StudyFile, document)
    reader = _Reader(document, path.parent)
    packing = reader.named("packers", asked.packers, packers, packer_named)
    merges = reader.named("merges", asked.merges, mergers, merger_named)
    several = len(packing) > 1 or len(merges) > 1
    study = Study(
        name=asked.name or path.stem,
        title=asked.title,
        file=path,
        text=text,
        workloads=reader.workloads(asked.workloads),
        chips=reader.chips(asked.chips),
        packers=packing,
        merges=merges,
        streamers=reader.named("streamers", asked.streamers, streamers, streamer_named),
        cascades=reader.named("cascades", asked.cascades, lambda: CASCADES, _check_cascades),
        seeds=reader.distinct("seeds", asked.seeds),
        sweeps=reader.sweeps(asked),
        include=reader.filters(asked, "include"),
        exclude=reader.filters(asked, "exclude"),
        same_buffers=several if asked.same_buffers is None else asked.same_buffers,
        time_limit=asked.time_limit,
        node_limit=asked.node_limit,
        designs=asked_designs(asked.requirements, asked.columns, text, document),
    )
    _refuse_too_many(study, document)
    _refuse_unknown_energy(study, document)
    return study


def _chip_path(name: str, folder: Path) -> str:
    return name if name in preset_names() else str(folder / name)


def _refuse_unknown_energy(study: Study, document: Document) -> None:
    """Raise BadInput where energy is limited on a chip whose file says nothing of it."""
    if study.designs.requirements.microjoules is None or "energy.model" in dict(study.sweeps):
        return
    for chip in study.chips:
        if load_chip(study.chip_file(chip)).energy is None:
            where = document.place(("requirements", "microjoules"))
            hint = "give its file an 'energy:' section, or leave the requirement out"
            raise BadInput(f"nothing is known of the energy of {chip}", where=where, hint=hint)


def _refuse_too_many(study: Study, document: Document) -> None:
    axes = (study.workloads, study.chips, study.packers, study.merges, study.streamers)
    number = prod(map(len, (*axes, study.cascades, study.seeds))) * prod(
        len(values) for _, values in study.sweeps
    )
    if number > MOST_POINTS:
        what = f"the study asks {number:,} points; {MOST_POINTS:,} are the most"
        raise BadInput(what, where=document.place(()), hint="split it into several studies")


@dataclass(frozen=True, slots=True)
class _Reader:
    """Turns the lists of a study file into names that exist."""

    document: Document
    folder: Path

    def workloads(self, names: Sequence[str] | None) -> tuple[Source, ...]:
        sources: list[Source] = []
        for index, name in enumerate(names or DEFAULT_WORKLOADS):
            place = self._place("workloads", index)
            for each in self._spread(name, place):
                with placed(place):
                    sources.append(source_of(each, self.folder))
        self.distinct("workloads", [source.name for source in sources])
        return tuple(sources)

    def _spread(self, name: str, place: Place) -> list[str]:
        if "*" not in name:
            return [name]
        with placed(place):
            matches = matching(name, self.folder)
        if not matches:
            hint = "check the folder, which is relative to the study file" if ":" not in name else ""
            raise BadInput(f"no workload matches {shown(name)}", where=place, hint=hint)
        return matches

    def chips(self, names: Sequence[str]) -> tuple[str, ...]:
        def check(name: str) -> None:
            load_chip(name if name in preset_names() else self._chip_path(name))

        return self.named("chips", names, preset_names, check)

    def _chip_path(self, name: str) -> str:
        path = self.folder / name
        if path.is_file():
            return str(path)
        hint = suggest(name, preset_names(), "presets are") + "; or give a chip file, relative to the study"
        raise BadInput(f"no chip is called {shown(name)}", hint=hint)

    def named(
        self,
        key: str,
        names: Sequence[str],
        known: Callable[[], Iterable[str]],
        check: Callable[[str], object],
    ) -> tuple[str, ...]:
        """The ``names``, each checked, with those that are ``known`` for "all"."""
        if list(names) == ["all"]:
            return tuple(known())
        for index, name in enumerate(names):
            with placed(self._place(key, index)):
                check(name)
        return self.distinct(key, names)

    def distinct(self, key: str, values: Sequence[S]) -> tuple[S, ...]:
        seen: set[S] = set()
        for index, value in enumerate(values):
            if value in seen:
                what = f"{shown(value)} is listed twice under {key}"
                raise BadInput(what, where=self._place(key, index), hint="remove one of the two")
            seen.add(value)
        return tuple(values)

    def _place(self, *path: PathStep) -> Place:
        return self.document.place(path)

    def sweeps(self, asked: StudyFile) -> tuple[tuple[str, tuple[str, ...]], ...]:
        return tuple((field, self._values(field, asked.set[field])) for field in sorted(asked.set))

    def _values(self, field: str, values: Sequence[object]) -> tuple[str, ...]:
        if field_at(field) is None:
            below = [f"{field}.{key}" for key in children(field)]
            what = f"'{field}' holds several fields" if below else f"unknown chip field {shown(field)}"
            hint = f"set one of {', '.join(below)}" if below else suggest(field, FIELDS, "fields are")
            raise BadInput(what, where=self._place("set", field), hint=hint)
        texts = [self._text("set", field, index) for index in range(len(values))]
        read = [reading(field, text, self._place("set", field, index)) for index, text in enumerate(texts)]
        for index, value in enumerate(read):
            if value in read[:index]:
                where = self._place("set", field, index)
                raise BadInput(f"{field} has the value {texts[index]} twice", where=where, hint="remove one")
        return tuple(texts)

    def _text(self, *path: PathStep) -> str:
        """A scalar as it stands in the file, so that 0.10 stays so: an item of a list, or one alone."""
        try:
            return self.document.written(path).strip()
        except KeyError:
            return self.document.written(path[:-1]).strip()

    def filters(self, asked: StudyFile, kind: str) -> tuple[StudyFilter, ...]:
        items: Sequence[FilterItem] = getattr(asked.filters, kind)
        return tuple(self._filter(asked, kind, index, item) for index, item in enumerate(items))

    def _filter(self, asked: StudyFile, kind: str, index: int, item: FilterItem) -> StudyFilter:
        known = (*KEYS, *asked.set)
        patterns: list[tuple[str, tuple[str, ...]]] = []
        for key, values in item.items():
            place = self._place("filters", kind, index, key)
            if key not in known:
                hint = suggest(key, known, "keys here are")
                raise BadInput(f"a filter cannot ask for {shown(key)}", where=place, hint=hint)
            texts = [self._text("filters", kind, index, key, each) for each in range(len(values))]
            patterns.append((key, tuple(texts)))
        return StudyFilter(tuple(patterns), self._place("filters", kind, index))


def _check_cascades(name: str) -> None:
    if name not in CASCADES:
        hint = f"cascades of a study are {' or '.join(CASCADES)}"
        raise BadInput(f"cascades cannot be {shown(name)}", hint=hint)


def reading(field: str, text: str, place: Place) -> Any:
    """The value that ``text`` gives a chip field, to be compared. Raises BadInput at ``place``."""
    known = field_at(field)
    if known is None:
        raise KeyError(field)
    read = read_choice if known.kind == "choice" else read_number
    return read(field, text, place)
