"""Every figure and every algorithm of the five source documents, next to what comes out here.

    python -m bench.published [SECTION]        # free-list, tiered-memory, edge-framework ... shapes
    python -m bench.published algorithms

A row has the document (docs/references.md), the item, the planners that stand for it, the command that prints
the rows of that document alone, both figures and the difference; nothing is left out because it differs. Of
an algorithm it has what the named command gives: the peak of SharedMemory, and the cycles of a run. The
networks behind the figures are not public: those of Wang et al. 2025 are the shapes of
``bench.control_flow_table``, peaks are those of tensors alone on ``luna-csk6``, and where several figures
stand in one cell they are those of ``large-first``, ``short-first`` and ``sequential``.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations, product

from bench.control_flow_table import CHIP, SHAPES, MeasuredShape, face_align, face_detect, measure, tensors_of
from bench.framework_memory import MIB, NETWORKS, PUBLISHED, platform, row
from bench.known_answers import (
    FIGURE_4,
    SIX_OPS,
    feature_maps,
    free_list_example,
    lifetimes,
    made_for_denoise,
    made_for_face_align,
    made_for_face_detect,
    made_for_fusion_detect,
)
from chipmodel.geometry.interval import Interval
from chipmodel.hardware.chip_file import load_chip
from chipmodel.model.nesting import Section
from chipmodel.model.plan import Buffer, Problem
from chipmodel.model.program import Program
from chipmodel.npu.cycles import op_cycles
from chipmodel.rewrites.in_place import reuse
from chipmodel.timing.transfer import transfer_cycles
from dma.residency.chip_tiers import ChipTierProblem
from docs.tools.markdown import code, table
from docs.tools.samples import json_document
from solvers.branches.mergers import merge_arms
from solvers.heuristics.free_list import free_list
from solvers.heuristics.pool import pool_nodes
from workloads.zoo import build

ORDERS = ("large-first", "short-first", "sequential")
BEFORE, AFTER = ("straight-line", "none"), ("unified-results", "unified-block")
"""The two readings of what Wang et al. compare Algorithm 2 with, and the two of Algorithm 2."""
Peaks = tuple[int, int, int]
FREE_LIST = "free-list patent (CN, 2022)"
TIERED = "tiered-memory patent (CN, 2022)"
CORES = "many-core patent (CN, 2023)"
FRAMEWORK = "edge-framework patent (CN, 2021)"
PAPER = "Wang et al. 2025"


@dataclass(frozen=True, slots=True)
class PublishedPeaks:
    """A network of Tables 1 and 2: bytes by ``ORDERS``, before Algorithm 2 and, with branches, after it;
    ``made``: a few tensors that are made for them."""

    name: str
    make: Callable[[], Program]
    naive: int
    before: Peaks
    after: Peaks | None = None
    made: Callable[[], tuple[Problem, Section]] | None = None


PEAKS = (
    PublishedPeaks(
        "FaceDetect", face_detect, 934_000, (409_600, 409_600, 440_320), made=made_for_face_detect
    ),
    PublishedPeaks("FaceAlign", face_align, 202_429, (46_080, 46_668, 46_668), made=made_for_face_align),
    PublishedPeaks(
        "wake word", partial(build, "wakeword"), 312_664, (24_152, 24_152, 24_152), (24_152, 24_152, 24_152)
    ),
    PublishedPeaks(
        "FusionDetect",
        partial(build, "fusiondetect"),
        26_502_400,
        (489_600, 489_600, 604_800),
        (460_800, 460_800, 576_000),
        made_for_fusion_detect,
    ),
    PublishedPeaks(
        "denoise",
        partial(build, "denoise"),
        794_128,
        (99_840, 117_760, 142_848),
        (98_340, 116_224, 141_312),
        made_for_denoise,
    ),
)

Row = tuple[str, str, str, str, str, str]
"""Document, item, planners, published, ours, difference."""
_SIMULATE = "chipmodel simulate zoo:{} --chip luna-csk6 --cascade off"
_TIERS = (
    "--set shared_memory.bytes=10KiB --set memories.sram2.bytes=16KiB "
    "--set memories.sram2.load.bytes_per_cycle=8 --set memories.sram2.store.bytes_per_cycle=8"
)
ALGORITHMS = (
    (
        FREE_LIST,
        "68, 104: lifetimes; 108: free list, its largest block enlarged",
        "ds_cnn --packer free-list",
    ),
    (
        TIERED,
        "80 to 88: initial rule; 53 to 70: move, swap and reuse in segments; 90 to 98: cost; three tiers",
        f"resnet8 --packer state-search:segment=3,actions=move+swap+reuse {_TIERS}",
    ),
    (
        CORES,
        "claim 6: combinations with the context that fit the core's memory",
        "ds_cnn --packer context:core",
    ),
    (CORES, "the same in the smallest memory of those tried (ours)", "ds_cnn --packer context"),
    (CORES, "claim 4: resource pool (name only)", "ds_cnn --packer context-pool"),
    (CORES, "claim 4: evolutionary (name only)", "ds_cnn --packer context-evolutionary"),
    (CORES, "claim 4: reinforcement learning (name only)", "ds_cnn --packer context-rl"),
    (FRAMEWORK, "40: pool with a threshold, the baseline", "ds_cnn --packer pool:0.75"),
    (FRAMEWORK, "50 to 52: greedy layout by size", "ds_cnn --packer greedy-best-fit"),
    (FRAMEWORK, "38 to 45: weights just in time", "ds_cnn --streamer weight-pipeline"),
    (PAPER, "Table 1: no reuse", "ds_cnn --packer naive"),
    *((PAPER, f"Algorithm 1, {order}", f"ds_cnn --packer {order}") for order in ORDERS),
    (PAPER, "Tables 1 and 2: arms before Algorithm 2", "wakeword --packer large-first --merge straight-line"),
    (
        PAPER,
        "the same, a block for each arm (the other reading)",
        "wakeword --packer large-first --merge none",
    ),
    (PAPER, "Algorithm 2, a block for the arms", "wakeword --packer large-first --merge unified-block"),
    (PAPER, "the same with their results in it", "wakeword --packer large-first --merge unified-results"),
    (PAPER, "Table 3: no overlap", "wakeword --packer large-first --streamer sync"),
    (PAPER, "Algorithm 3, Regions of arms", "wakeword --packer large-first --streamer ping-pong"),
    (PAPER, "conclusion: loops (named as further work)", "denoise --packer large-first"),
)
"""Document; paragraph, claim or table, and what it describes; workload and options of ``_SIMULATE``."""


def rows(sections: Sequence[str] = ()) -> Iterator[tuple[str, Row]]:
    """Every figure of the five documents, document by document, each with its section; ``sections``: those
    alone, of which ``shapes`` are tensors made for a figure, no results."""
    for name in sections or [name for name in SECTIONS if name != "shapes"]:
        for each in SECTIONS[name]():
            yield name, each


def algorithms() -> Iterator[list[str]]:
    """Each algorithm with its command, and the peak and the cycles that this gives."""
    for source, item, options in ALGORITHMS:
        workload, _, rest = options.partition(" ")
        streamer = "" if "--streamer" in rest else " --streamer sync"
        command = f"{_SIMULATE.format(workload)} {rest}{streamer}"
        found = json_document([*command.split()[1:], "--json", "FILE"])
        yield [source, item, code(command), f"{found['peak_bytes']:,}", f"{found['total_cycles']:,}"]


def _tiered() -> Iterator[Row]:
    search, unknown = "--packer state-search", "not comparable: program and tiers not printed"
    yield _text(TIERED, "cycles of figure 3", search, "111,528.862924", unknown)
    yield _text(TIERED, "cycles of figure 4", search, "100,207.36", unknown)
    googlenet, chip = reuse(build("googlenet"), "all"), load_chip("luna-arcs")
    asked = ChipTierProblem(googlenet, chip, chip.shared_memory.bytes, lambda _: 0)
    found = asked.found()
    before, after = round(found.initial.cycles), round(found.state.cycles)
    ours = f"{before:,} to {after:,}: {after / before - 1:+.2%}"
    shape = "saved by the search; ours is GoogLeNet's on luna-arcs"
    yield _text(TIERED, shape, search, f"{100207.36 / 111528.862924 - 1:+.2%}", ours)
    states = f"{3**20:,} / {4 * 3**5:,}"
    example = "an example: as many as actions succeed"
    item = "states of 20 steps with 3 each, in one segment or in four"
    yield _text(TIERED, item, f"{search}:segment=20 or 5", states, example)


def _free_list() -> Iterator[Row]:
    example, planner = free_list_example(), "--packer free-list"
    plan = free_list(example)
    for item, reads, first, published in (
        ("lifetimes in figure 4", FIGURE_4, 1, "1-3, 2-5, 3-4, 4-5, 5-5"),
        ("lifetimes of six ops", SIX_OPS, 0, "0-2, 1-4, 2-3, 3-4, 4-5, 5-5"),
    ):
        ours = ", ".join(f"{i.start + first}-{i.stop - 1 + first}" for i in lifetimes(reads))
        yield _text(FREE_LIST, item, "--streamer sync", published, ours)
    offsets = ", ".join(str(offset) for offset in plan.offsets.values())
    yield _text(FREE_LIST, "their offsets, B", planner, "0, 2048, 4096, 0, 4096, 0", offsets)
    yield _figures(FREE_LIST, "their arena, B", planner, (5120,), (plan.peak(example),))
    parts = [Problem(example.buffers[:count]) for count in range(1, 7)]
    grown = [free_list(part).peak(part) for part in parts]
    after, arenas = "arena after each of them, B", (2048, 4096, 5120, 5120, 5120, 5120)
    yield _figures(FREE_LIST, after, planner, arenas, grown)
    two = (Buffer("a", 1, (Interval(1, 3),)), Buffer("b", 1, (Interval(3, 6),)))
    reused = free_list(Problem(two)).offsets["b"] == 0
    item = "lifetimes 1-2 and 3-5 (paragraph 85)"
    yield _text(FREE_LIST, item, planner, "one block", "one block" if reused else "two blocks")


def _framework() -> Iterator[Row]:
    maps = feature_maps(build("resnet18", {"input": "448"}, dtype="float32"))
    nodes = [size / MIB for size in pool_nodes(maps, 0).sizes]
    item, mib = "ResNet-18's nodes at 448 x 448, MiB", (12.25, 3.06, 3.06)
    yield _figures(FRAMEWORK, item, "--packer pool:0", mib, nodes, "{:.2f}")
    chip, alexnet = platform(), build("alexnet", dtype="float32")
    layers = [op for op in alexnet.ops() if op.weights]
    loads = [transfer_cycles(chip, "weights", alexnet.block_bytes(op)) for op in layers]
    computes = [op_cycles(chip.npu, op, op.work.rows, op.work.channels) for op in layers]
    faster = sum(load < computed for load, computed in zip(loads, computes, strict=True))
    item = "figure 3, AlexNet's layers that load faster than they compute"
    yield _figures(FRAMEWORK, item, "--streamer weight-pipeline", (len(layers),), (faster,))
    saved = [row(network, platform()).saved for network in NETWORKS]
    item, planner = "memory saved, mean of six networks, %", "--streamer weight-pipeline"
    yield _figures(FRAMEWORK, item, planner, (100 * PUBLISHED,), (100 * sum(saved) / len(saved),), "{:.2f}")


def _peaks() -> Iterator[Row]:
    yield _text(PAPER, "introduction, tensors of Inception v3", "--packer naive", "37 %", "not in the zoo")
    mobilenet = build("mobilenetv2", dtype="float32")
    tensors = sum(tensor.bytes for tensor in mobilenet.tensors.values())
    share = 100 * tensors / (tensors + mobilenet.weight_bytes)
    yield _percent("introduction, tensors of MobileNetV2, of them and weights", "--packer naive", 63, share)
    chip, best = load_chip(CHIP), float("-inf")
    for network in PEAKS:
        program = network.make()
        tensors = sum(each.bytes for each in program.tensors.values())
        problem, nesting = tensors_of(program, chip)
        item = f"Table 1, {network.name}"
        yield _figures(PAPER, f"{item}, all tensors", "--packer naive", (network.naive,), (tensors,))
        for merger in BEFORE if network.after else BEFORE[:1]:
            yield _merged(item, network.before, problem, nesting, merger)
        for merger in AFTER if network.after else ():
            yield _merged(f"Table 2, {network.name}", network.after or (), problem, nesting, merger)
        best = max(best, 100 * _saved(problem, nesting)) if network.after else best
    yield _percent("abstract, Algorithm 2 saves at most", "--merge unified-results", 5.9, best)


def _shapes() -> Iterator[Row]:
    """Figures of tensors that are made for them, which say what the algorithms can give and nothing more."""
    made, item = made_for_fusion_detect(), "abstract, Algorithm 2 saves at most, FusionDetect"
    yield _percent(item, "--merge unified-results", 5.9, 100 * _saved(*made))
    for network in PEAKS:
        if network.made is not None:
            yield from _made(network, *network.made())


def _made(network: PublishedPeaks, problem: Problem, nesting: Section) -> Iterator[Row]:
    """The figures of a few tensors that are made for a network's, by both readings where it has arms."""
    item = f"{'Tables 1 and 2' if network.after else 'Table 1'}, {network.name}"
    for merger in BEFORE if network.after else BEFORE[:1]:
        yield _merged(item, network.before, problem, nesting, merger)
    for merger in AFTER if network.after else ():
        yield _merged(item, network.after or (), problem, nesting, merger)


def _saved(problem: Problem, nesting: Section) -> float:
    """The largest share that Algorithm 2 saves in one order."""
    peaks = [[merge_arms(problem, nesting, o, m).peak for m in (BEFORE[0], AFTER[0])] for o in ORDERS]
    return max(1 - after / before for before, after in peaks)


def _merged(item: str, published: Sequence[int], problem: Problem, nesting: Section, merger: str) -> Row:
    ours = [merge_arms(problem, nesting, order, merger).peak for order in ORDERS]
    return _figures(PAPER, item, f"--merge {merger}", published, ours)


def _times() -> Iterator[Row]:
    chip, both = load_chip(CHIP), "--streamer sync, ping-pong"
    measured = [measure(shape, chip) for shape in SHAPES if shape.times is not None]
    for each in measured:
        ours = [cycles / float(chip.core_mhz) / 1000 for cycles in (each.sync, each.ping_pong)]
        item = f"Table 3, {each.shape.name}"
        yield _figures(PAPER, f"{item}, ms", both, each.shape.times or (), ours, "{:,.3f}")
        yield _percent(f"{item}, saved", both, -100 * (each.published or 0), -100 * each.change)
    yield _percent("abstract, ping-pong saves at most", both, 29, -100 * min(m.change for m in measured))
    for shares in product(*(_shares(measured, name) for name in ("FusionDetect", "wake word"))):
        chosen = [m for m in measured if "," not in m.shape.name or m in shares]
        pairs = [(a, b) for a, b in combinations(chosen, 2)]
        agree = sum((a.change < b.change) == ((a.published or 0) < (b.published or 0)) for a, b in pairs)
        names = " and ".join(m.shape.name for m in shares)
        yield _figures(PAPER, f"Table 3, pairs in the order of gain, {names}", both, (len(pairs),), (agree,))


def _shares(measured: list[MeasuredShape], name: str) -> list[MeasuredShape]:
    """The paths of one network, of which the paper does not say which one it times."""
    return [each for each in measured if each.shape.name.startswith(f"{name},")]


def _figures(
    source: str,
    item: str,
    command: str,
    published: Sequence[float],
    ours: Sequence[float],
    form: str = "{:,}",
) -> Row:
    changes = [mine / theirs - 1 for mine, theirs in zip(ours, published, strict=True)]
    theirs, mine = (" / ".join(map(form.format, each)) for each in (published, ours))
    difference = "same" if theirs == mine else " / ".join(f"{change:+.1%}" for change in changes)
    return source, item, command, theirs, mine, difference


def _percent(item: str, command: str, published: float, ours: float) -> Row:
    difference = f"{ours - published:+.2f} points"
    return PAPER, item, command, f"{published:.2f} %", f"{ours:.2f} %", difference


def _text(source: str, item: str, command: str, published: str, ours: str) -> Row:
    return source, item, command, published, ours, "same" if published == ours != "-" else "-"


SECTIONS: Mapping[str, Callable[[], Iterator[Row]]] = {
    "free-list": _free_list,
    "tiered-memory": _tiered,
    "edge-framework": _framework,
    "wang-memory": _peaks,
    "wang-time": _times,
    "shapes": _shapes,
}


def main() -> None:
    """Print the table, and how many rows agree; or what the algorithms give."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("section", nargs="?", choices=[*SECTIONS, "algorithms"])
    asked: str | None = parser.parse_args().section
    if asked == "algorithms":
        print(
            table(("source", "paragraph, claim or table", "command", ">peak, B", ">cycles"), [*algorithms()])
        )
        return
    listed = list(rows([asked] if asked else ()))
    head = ("source", "item", "planner", "command", ">published", ">ours", ">difference")
    cells = [
        [*each[:2], code(each[2]), code(f"python -m bench.published {name}"), *each[3:]]
        for name, each in listed
    ]
    print(table(head, cells))
    same = sum(each[-1] == "same" for _, each in listed)
    if asked != "shapes":
        print(f"\n{same} of {len(listed)} rows are the same.")


if __name__ == "__main__":
    main()
