"""``exact`` beside all other streamers, each with the same limit in CPU seconds.

    python -m bench.rivals [--networks resnet8,...] [--chips luna-arcs,...] [--parts 0,2] [--limits 0.3,3,60]

Networks, chips and memory are as in ``bench.gaps``. Each row has the cycles of ``exact``, the fastest
other streamer with its cycles, and how far ``exact`` is above that; below 0 it is ahead. At the end, for each
limit, the rows where it is behind.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from time import process_time

from bench.gaps import sizes
from chipmodel.errors import DoesNotFit
from chipmodel.hardware.chip import Chip
from chipmodel.hardware.chip_file import load_chip
from chipmodel.model.program import Program
from chipmodel.pipeline.choices import CASCADE_AUTO
from chipmodel.pipeline.request import PlanRequest
from chipmodel.pipeline.rival_streamers import RIVALS
from chipmodel.pipeline.run import run
from chipmodel.rewrites.in_place import reuse
from solvers.core.deadline import deadline_in
from workloads.load import load


@dataclass(frozen=True, slots=True)
class RivalRow:
    """The cycles of ``exact`` and of the fastest ``rival``, both within ``limit`` seconds."""

    limit: float
    exact: float
    cycles: float
    rival: str

    @property
    def behind(self) -> float:
        """How far ``exact`` is above its fastest rival, as a share."""
        return self.exact / self.cycles - 1


def cycles(program: Program, chip: Chip, streamer: str, limit: float) -> float:
    """Return the cycles of a plan, infinite where there is none that fits."""
    deadline = deadline_in(limit, process_time)
    request = PlanRequest(program, chip, streamer=streamer, cascade=CASCADE_AUTO, deadline=deadline)
    try:
        result = run(request)
    except DoesNotFit:
        return float("inf")
    return result.trace.cycles if result.fits else float("inf")


def row(program: Program, chip: Chip, limit: float) -> RivalRow | None:
    """Plan one case with all streamers; None where none of them has a plan that fits."""
    found = {name: cycles(program, chip, name, limit) for name in RIVALS}
    best = min(found, key=found.__getitem__)
    exact = cycles(program, chip, "exact", limit)
    return None if found[best] == float("inf") else RivalRow(limit, exact, found[best], best)


def summary(rows: Sequence[RivalRow]) -> Iterator[str]:
    """Where ``exact`` stands with each limit."""
    for limit in sorted({each.limit for each in rows}):
        shares = [each.behind for each in rows if each.limit == limit]
        yield (
            f"{limit:g} s: {len(shares)} rows, behind on {sum(share > 0 for share in shares)}, "
            f"median {median(shares):.2%}, worst {max(shares):.2%}, best {min(shares):.1%}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--networks", default="resnet8,ds_cnn,mobilenetv1_025,autoencoder,micronet_kws")
    parser.add_argument("--chips", default="stm32n6,alif-e7,luna-arcs")
    parser.add_argument("--parts", default="0,2")
    parser.add_argument("--limits", default="0.3,3,60")
    args = parser.parse_args()
    rows: list[RivalRow] = []
    print("| network | chip | part | limit, s | exact | the fastest other | cycles | behind |")
    print("| --- | --- | ---: | ---: | ---: | --- | ---: | ---: |")
    for network in args.networks.split(","):
        program = reuse(load(f"zoo:{network}"), "all")
        for name in args.chips.split(","):
            for part, chip in sizes(program, load_chip(name), [int(each) for each in args.parts.split(",")]):
                for limit in map(float, args.limits.split(",")):
                    found = row(program, chip, limit)
                    if found is None:
                        continue
                    rows.append(found)
                    print(
                        f"| {network} | {name} | {part} | {limit:g} | {found.exact:,} | {found.rival} "
                        f"| {found.cycles:,} | {found.behind:.2%} |",
                        flush=True,
                    )
    print("\n".join(summary(rows)))


if __name__ == "__main__":
    main()
