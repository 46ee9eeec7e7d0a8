"""The head of a TensorFlow Lite Micro arena over the built-in networks: the runtime's planner, ours, bound.

Each tensor lives from the op that makes it to the last that reads it, whole, as the runtime keeps it; ops are
those that are left after fusion, and weights stay in flash. Networks with branches or loops are left out: the
runtime plans subgraphs of a file, which these do not have.

    python -m bench.arena [NETWORK ...]
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from statistics import median

from chipmodel.answers.arena import ArenaRequest
from chipmodel.comparison.arena import arena_problem
from chipmodel.model.program import Op, Program
from solvers.core.outcome import Limits
from solvers.heuristics.tflm_greedy import ONLINE, greedy_offsets, peak
from solvers.registry import solve
from workloads.from_tflite.arena import aligned
from workloads.load import load
from workloads.zoo import networks

SECONDS = 20.0


def main(argv: Sequence[str] | None = None) -> None:
    """Print the table as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("networks", nargs="*", help="names of built-in networks")
    asked = parser.parse_args(argv)
    print("| network | buffers | runtime's planner B | ours B | bound B | runtime over ours |", flush=True)
    print("| --- | ---: | ---: | ---: | ---: | ---: |", flush=True)
    over: list[float] = []
    proven = 0
    for name in asked.networks or [network.name for network in networks()]:
        program = load(f"zoo:{name}")
        if not all(isinstance(node, Op) for node in program.nodes()):
            continue
        requests = tuple(whole_tensors(program))
        sizes = [request.bytes for request in requests]
        lives = [(request.first, request.last) for request in requests]
        runtime = peak(sizes, greedy_offsets(sizes, lives, [ONLINE] * len(requests)))
        solved = solve(arena_problem(requests), "exact", Limits(SECONDS))
        over.append(runtime / solved.peak - 1)
        proven += solved.peak == solved.lower_bound
        sizes_in_bytes = f"{runtime:,} | {solved.peak:,} | {solved.lower_bound:,}"
        print(f"| {name} | {len(requests)} | {sizes_in_bytes} | {over[-1]:.1%} |", flush=True)
    larger = sum(each > 0 for each in over)
    print(f"\n{len(over)} networks: ours proven smallest on {proven}.")
    print(f"The runtime's planner takes more on {larger}: median {median(over):.1%}, most {max(over):.1%}.")


def whole_tensors(program: Program) -> Iterator[ArenaRequest]:
    """The tensors of a program without branches and loops, a scope for each op."""
    first = dict.fromkeys(program.inputs, 0)
    last = dict.fromkeys(program.inputs, 0)
    ops = list(program.ops())
    for scope, op in enumerate(ops, 1):
        for name in op.outputs:
            first.setdefault(name, scope)
        last.update(dict.fromkeys((*op.inputs, *op.outputs), scope))
    last.update(dict.fromkeys(program.outputs, len(ops)))
    for number, (name, start) in enumerate(first.items()):
        yield ArenaRequest(name, aligned(program.tensors[name].bytes), start, last[name], number)


if __name__ == "__main__":
    main()
