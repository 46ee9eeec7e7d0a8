"""How far plans are above the bound: networks of the zoo, chips, and amounts of memory.

    python -m bench.gaps [--networks resnet8,...] [--chips alif-e7,...] [--parts 0,1,2,4] [--streamer auto]
        [--time-limit SECONDS] [--further N]

SharedMemory is the chip's own (part 0), or the least at which ``ping-pong`` sends nothing out, a half or a
quarter of it (parts 1, 2, 4); Psram is larger where it would not hold the weights. With ``--further``, so
many other networks of the zoo are drawn by a seed, each with one of the chips. Each row has the cycles of
the plan, the bound of plans with or without cascades (the one that is printed or the one that plan files
prove, whichever is larger), the gap, what sets the bound, and CPU seconds of the plan and of the bound. At
the end the median of each part, the share of rows within 1 % and 3 %, the largest gap, and how much of the
bound plan files prove.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, product
from random import Random
from statistics import median

from chipmodel.answers.result import Result
from chipmodel.bounds.listed import with_listed_bound
from chipmodel.bounds.program_windows import proven_cycles
from chipmodel.errors import DoesNotFit
from chipmodel.hardware.chip import Chip
from chipmodel.hardware.chip_file import load_chip
from chipmodel.model.fit import too_many_weights, used_weight_bytes
from chipmodel.model.program import Program
from chipmodel.model.time_bound import TimeBound, has_turns
from chipmodel.pipeline.choices import CASCADE_AUTO
from chipmodel.pipeline.plan import smallest_capacity
from chipmodel.pipeline.request import PlanRequest
from chipmodel.pipeline.run import run
from chipmodel.rewrites.in_place import reuse
from reports.run.limits import bound_words
from solvers.core.deadline import deadline_in
from workloads.load import load
from workloads.zoo import networks

CHIPS = ("stm32n6", "alif-e7", "luna-arcs", "gap9-psram", "corstone-300")
NETWORKS = (
    *("resnet8", "ds_cnn", "mobilenetv1_025", "autoencoder", "micronet_kws", "blazeface", "shufflenetv1"),
    *("squeezenet", "mobilenetv2", "resnet18", "googlenet", "resnet50"),
)
PARTS = (0, 1, 2, 4)
SEED, MOST_OPS = 58, 250
"""The draw of networks, and the most ops of one, which bounds the time."""


@dataclass(frozen=True, slots=True)
class GapRow:
    """A plan beside its bound; ``seconds`` are CPU time of the plan, and of the bound alone."""

    network: str
    chip: str
    part: int
    size: int
    cycles: int
    bound: TimeBound
    seconds: tuple[float, float]
    proven: int

    @property
    def gap(self) -> float:
        return self.cycles / self.bound.cycles - 1

    def cells(self) -> tuple[str, ...]:
        seconds = tuple(f"{each:.2f}" for each in self.seconds)
        numbers = (f"{self.size:,}", f"{self.cycles:,}", f"{self.bound.cycles:,}", f"{self.gap:.1%}")
        return (self.network, self.chip, str(self.part), *numbers, *seconds, bound_words(self.bound))


def sizes(program: Program, chip: Chip, parts: Sequence[int]) -> Iterator[tuple[int, Chip]]:
    """The chip with each part of memory."""
    least = 0
    for part in parts:
        if not part:
            yield part, chip
            continue
        least = least or smallest_capacity(PlanRequest(program, chip, "large-first", "ping-pong")) or 0
        align = chip.shared_memory.alignment
        size = least // part // align * align
        if size:
            yield part, chip.with_memory(size)


def planned_run(program: Program, chip: Chip, args: argparse.Namespace) -> Result:
    """The run of one case. Raises DoesNotFit."""
    deadline = deadline_in(args.time_limit)
    request = PlanRequest(program, chip, streamer=args.streamer, cascade=CASCADE_AUTO, deadline=deadline)
    return run(request)


def row(network: str, name: str, part: int, program: Program, chip: Chip, args: argparse.Namespace) -> GapRow:
    """Plan and bound one case. Raises DoesNotFit."""
    began = time.process_time()
    result = planned_run(program, chip, args)
    planned = time.process_time() - began
    began = time.process_time()
    result = with_listed_bound(result)
    bounded = time.process_time() - began
    size, cycles = chip.shared_memory.bytes, result.trace.cycles
    proofs = proven_cycles(result.program, chip, result.trace.path)
    proven = max((proof.cycles for proof in proofs if has_turns(proof.space)), default=0)
    bound = replace(result.bound, cycles=max(result.bound.cycles, proven))
    return GapRow(network, name, part, size, cycles, bound, (planned, bounded), proven)


def roomy(program: Program, chip: Chip) -> Chip:
    """The chip with twice the Psram that the weights take where they do not fit: no plan is sought then."""
    if not too_many_weights(program, chip):
        return chip
    return replace(chip, psram=replace(chip.psram, bytes=2 * used_weight_bytes(program)))


def summary(rows: Sequence[GapRow]) -> Iterator[str]:
    """The gaps of each part."""
    by_part: defaultdict[int, list[GapRow]] = defaultdict(list)
    for each in rows:
        by_part[each.part].append(each)
    for part, of_part in sorted(by_part.items()):
        gaps = [each.gap for each in of_part]
        proven = median(each.proven / each.bound.cycles for each in of_part)
        near = [sum(gap <= share for gap in gaps) / len(gaps) for share in (0.01, 0.03)]
        yield (
            f"part {part}: {len(gaps)} rows, median {median(gaps):.1%}, within 1 % {near[0]:.0%}, "
            f"within 3 % {near[1]:.0%}, largest {max(gaps):.0%}, proven {proven:.1%} (median)"
        )
    share = median(each.seconds[1] / max(each.seconds[0], 1e-3) for each in rows)
    yield f"the bound takes {share:.0%} of the seconds of a plan (median)"


def cases(args: argparse.Namespace) -> Iterator[tuple[str, str, int, Program, Chip]]:
    """Every network, chip and part of memory that ``args`` name, with the network's program."""
    pairs = product(args.networks.split(","), args.chips.split(","))
    for network, name in drawn(args.further) if args.further else pairs:
        program = reuse(load(f"zoo:{network}"), "all")
        chip = roomy(program, load_chip(name))
        for part, sized in sizes(program, chip, [int(each) for each in args.parts.split(",")]):
            yield network, name, part, program, sized


def drawn(count: int) -> Iterator[tuple[str, str]]:
    """So many networks that are not among ``NETWORKS``, each with a chip, by a seed."""
    draw, names = Random(SEED), sorted({network.name for network in networks()} - {*NETWORKS})
    draw.shuffle(names)
    few = (name for name in names if sum(1 for _ in load(f"zoo:{name}").ops()) <= MOST_OPS)
    yield from ((name, draw.choice(CHIPS)) for name in islice(few, count))


def parser_of(description: str | None) -> argparse.ArgumentParser:
    """A parser of the options of ``cases`` and of plans."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--networks", default=",".join(NETWORKS))
    parser.add_argument("--chips", default=",".join(CHIPS))
    parser.add_argument("--parts", default=",".join(map(str, PARTS)))
    parser.add_argument("--streamer", default="auto")
    parser.add_argument("--time-limit", type=float)
    parser.add_argument("--further", type=int, default=0)
    return parser


def main() -> None:
    args = parser_of(__doc__).parse_args()
    rows: list[GapRow] = []
    print("| network | chip | part | bytes | cycles | bound | gap | plan, s | bound, s | set by |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |")
    for network, name, part, program, chip in cases(args):
        try:
            rows.append(row(network, name, part, program, chip, args))
        except DoesNotFit as refusal:
            print(f"| {network} | {name} | {part} | {chip.shared_memory.bytes:,} | {refusal.what} |")
            continue
        print("| " + " | ".join(rows[-1].cells()) + " |", flush=True)
    for line in summary(rows):
        print(line)


if __name__ == "__main__":
    main()
