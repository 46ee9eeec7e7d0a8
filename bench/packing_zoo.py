"""Packer ``exact`` beside the two solvers inside it, on every network of the zoo and every preset.

The problem of a pair is the buffers of the network on the chip, streamed by ping-pong; the peak is minimised.
A pair that bounds and first plans close before any search is counted and no more. The others are given to
each packer for ``--limit`` seconds of wall clock, in one process and one after another. Every answer is
appended to ``--store`` at once, and what the file has is not done again: after ``--budget`` CPU seconds the
command prints what it has, and the same command goes on from there. *later* means by over a tenth and 0.1 s,
in CPU seconds; a higher peak is *worse*.

    python -m bench.packing_zoo --store zoo.jsonl [--chips all] [--limit 5] [--budget 1500]
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from bench.packing_worker import warm_up
from chipmodel.errors import DoesNotFit
from chipmodel.hardware.chip_file import load_chip, preset_names
from chipmodel.model.plan import Problem
from chipmodel.passes.liveness import liveness
from dma.stream import stream
from docs.tools.markdown import table
from solvers.core.outcome import Limits
from solvers.registry import solve
from workloads.zoo import build, networks

CLOCK = 0.1
"""Seconds more or less that are chance."""
PACKERS = ("exact", "cp-sat", "search")
Stored = dict[tuple[str, str], dict[str, Any]]
"""Answers by pair and packer. The packer of a pair that is closed at once, or does not fit, is ``""``."""


def problem_of(network: str, chip_name: str) -> Problem | None:
    """The buffers to pack; None where the network does not fit."""
    chip = load_chip(chip_name)
    with suppress(DoesNotFit):
        schedule = stream(build(network), chip, "ping-pong", chip.shared_memory.bytes)
        return Problem(liveness(schedule, chip).buffers)
    return None


def answers(pair: str, limit: float, seen: Stored) -> Iterator[dict[str, Any]]:
    """What is not known yet of a pair, given as ``NETWORK on CHIP``."""
    left = [packer for packer in PACKERS if (pair, packer) not in seen]
    if (pair, "") in seen or not left:
        return
    network, _, chip = pair.partition(" on ")
    problem = problem_of(network, chip)
    if problem is None or solve(problem, "exact", Limits(nodes=1)).status == "optimal":
        yield {"pair": pair, "packer": "", "status": "no plan" if problem is None else "closed"}
        return
    for packer in left:
        began, cpu = time.perf_counter(), time.process_time()
        solved = solve(problem, packer, Limits(seconds=limit, seed=0))
        yield {
            "pair": pair,
            "packer": packer,
            "status": solved.status,
            "peak": solved.peak,
            "cpu": round(time.process_time() - cpu, 3),
            "wall": round(time.perf_counter() - began, 3),
        }


def stored(path: Path) -> Stored:
    """What the file has; a line that was cut off is done again."""
    found: Stored = {}
    for line in path.read_text().splitlines() if path.exists() else ():
        with suppress(json.JSONDecodeError):
            answer = json.loads(line)
            found[answer["pair"], answer["packer"]] = answer
    return found


def ask(pairs: Sequence[str], path: Path, limit: float, budget: float) -> Stored:
    """All answers, until ``budget`` CPU seconds of this process are over."""
    seen = stored(path)
    for packer in PACKERS:
        warm_up(packer)
    with path.open("a") as file:
        if path.stat().st_size and not path.read_text().endswith("\n"):
            file.write("\n")
        for pair in pairs:
            if time.process_time() > budget:
                break
            for answer in answers(pair, limit, seen):
                file.write(json.dumps(answer) + "\n")
                file.flush()
                seen[answer["pair"], answer["packer"]] = answer
    return seen


def report(pairs: Sequence[str], seen: Stored) -> Iterator[str]:
    """What each packer proved, and where ``exact`` is behind another."""
    at_once = [seen[pair, ""]["status"] for pair in pairs if (pair, "") in seen]
    asked = [pair for pair in pairs if all((pair, packer) in seen for packer in PACKERS)]
    closed = at_once.count("closed")
    yield f"{len(at_once) + len(asked)} of {len(pairs)} pairs: {at_once.count('no plan')} do not fit,"
    yield f"{closed} are closed before any search, {len(asked)} are given to each packer.\n"
    rows: list[list[str]] = []
    for packer in PACKERS:
        mine = [seen[pair, packer] for pair in asked]
        proven = sum(each["status"] == "optimal" for each in mine)
        cpu, wall = (sum(each[key] for each in mine) for key in ("cpu", "wall"))
        rows.append([packer, f"{proven} of {len(mine)}", f"{cpu:.1f}", f"{wall:.1f}"])
    yield table(("packer", ">proven", ">CPU s", ">wall s"), rows) + "\n"
    for pair in asked:
        yield from behind(pair, {packer: seen[pair, packer] for packer in PACKERS})


def behind(pair: str, by_packer: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Where ``exact`` has a higher peak than another, or is later with an answer as good."""
    own = by_packer["exact"]
    for name, other in by_packer.items():
        if own["peak"] > other["peak"]:
            yield f"worse than {name} on {pair}: {own['peak']:,} B, not {other['peak']:,} B"
            continue
        settled = own["peak"] == other["peak"] and other["status"] == "optimal"
        if settled and (own["status"] != "optimal" or own["cpu"] > other["cpu"] * 1.1 + CLOCK):
            yield f"later than {name} on {pair}: {own['cpu']:.2f} s, not {other['cpu']:.2f} s"


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--store", type=Path, required=True, help="file of answers, one a line")
    parser.add_argument("--chips", default="all", help="presets, by commas [all]")
    parser.add_argument("--networks", default="all", help="networks of the zoo, by commas [all]")
    parser.add_argument("--limit", type=float, default=5.0, help="seconds for each answer [5]")
    parser.add_argument("--budget", type=float, default=1500.0, help="CPU seconds of the command [1500]")
    asked = parser.parse_args(argv)
    chips = list(preset_names()) if asked.chips == "all" else asked.chips.split(",")
    names = [n.name for n in networks()] if asked.networks == "all" else asked.networks.split(",")
    pairs = [f"{network} on {chip}" for chip in chips for network in names]
    print("\n".join(report(pairs, ask(pairs, asked.store, asked.limit, asked.budget))))


if __name__ == "__main__":
    main()
