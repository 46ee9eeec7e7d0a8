"""Packing instances x packers: how soon a plan fits, what is proven, how far the peak is from the bound.

Protocol. Every packer runs in a process of its own, one problem after another, all packers in turn;
before the first problem it answers a small one twice, and that time (imports, compilation, or loading what
was compiled before) is given apart as *start*. Each problem is given ``--repeat`` times with seeds 0, 1, ...;
times are medians of wall seconds inside the process, from the call on. *first fit* is when the packer first
knew a plan within the instance's capacity, *seconds* when it returned. A run counts as fitting only if its
plan passes the project's own check. A process that has not answered ``--limit`` plus 15 s later is ended and
counts as not fitting. The gap is that of the best plan against the best bound that any packer here proved,
or the optimum where it is known by construction.

Goals: ``fit`` gives the packer the capacity, ``minimise`` does not. OmniMalloc's allocators take no capacity
and always minimise; they stop by themselves when they meet the largest live set.

Instances: ``minimalloc`` are the CSV files of the folder CHIPMODEL_MINIMALLOC (capacity in the name, as in
A.1048576.csv); ``idealloc`` those of CHIPMODEL_IDEALLOC, the ``benchmarks`` of cappadokes/idealloc on GitHub
(capacity: the largest live set); ``guillotine`` zero-waste packings of 200 time steps
(workloads/packing/guillotine.py), of each of ``--sizes`` ``--seeds`` many; ``random`` lifetimes and sizes
without any structure, capacity 2 % above the largest live set. The zoo's are in ``bench.packing_zoo``.

    python -m bench.packing minimalloc --packers exact,search,large-first
    python -m bench.packing guillotine --sizes 50,100,150 --seeds 10 --limit 10
    python -m bench.packing minimalloc --packers exact,omnimalloc:supermalloc --peer-python peers/bin/python

OmniMalloc is on PyPI: ``pip install omnimalloc``, here or in an environment of its own for --peer-python.
"""

from __future__ import annotations

import argparse
import json
import os
import select
import statistics
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

from chipmodel.geometry.interval import Interval
from chipmodel.model.plan import Buffer, Plan, Problem
from chipmodel.verify.fast_offsets import check_fast
from solvers.core.bounds import contention
from workloads.packing.guillotine import guillotine
from workloads.packing.problem_csv import read_packing

GRACE = 15.0
START_LIMIT = 300.0
PEER = "omnimalloc:"
HERE = Path(__file__).parent


@dataclass(frozen=True)
class Instance:
    """A problem with its capacity, and the optimum where it is known."""

    name: str
    problem: Problem
    capacity: int
    optimum: int | None = None


@dataclass(frozen=True)
class Run:
    """One answer, checked."""

    status: str
    seconds: float
    first: float | None
    peak: int | None
    bound: int


class Worker:
    """A packer in a process of its own, started again where it had to be ended."""

    def __init__(self, packer: str, peer_python: str) -> None:
        if packer.startswith(PEER):
            name = packer.removeprefix(PEER)
            self.command = [peer_python, str(HERE / "packing_omnimalloc.py"), name]
        else:
            self.command = [sys.executable, "-m", "bench.packing_worker", packer]
        self.process: subprocess.Popen[str] | None = None
        self.start_seconds = 0.0

    def ask(self, task: dict[str, Any], limit: float) -> dict[str, Any] | None:
        """The answer, or None where there is none in time."""
        if self.process is None:
            self.process = subprocess.Popen(
                self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=HERE.parent
            )
            ready = self._line(START_LIMIT)
            if ready is None:
                raise SystemExit(f"{' '.join(self.command)} does not start")
            self.start_seconds = ready["ready"]
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(task) + "\n")
        self.process.stdin.flush()
        return self._line(limit)

    def _line(self, limit: float) -> dict[str, Any] | None:
        assert self.process is not None
        assert self.process.stdout is not None
        ready, _, _ = select.select([self.process.stdout], [], [], limit)
        line = self.process.stdout.readline() if ready else ""
        if line:
            answer: dict[str, Any] = json.loads(line)
            return answer
        self.end()
        return None

    def end(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


def folder_instances(kind: str) -> Iterator[Instance]:
    """The CSV files of a folder; each file's capacity is in its name, or else the largest live set."""
    variable = f"CHIPMODEL_{kind.upper()}"
    folder = os.environ.get(variable)
    if not folder:
        raise SystemExit(f"set {variable} to the folder of {kind}'s CSV files")
    for path in sorted(Path(folder).rglob("*.csv")):
        name, _, capacity = path.stem.partition(".")
        problem = read_packing(path).problem
        yield Instance(name, problem, int(capacity) if capacity.isdigit() else contention(problem))


def guillotine_instances(sizes: Sequence[int], seeds: int) -> Iterator[Instance]:
    for n in sizes:
        for seed in range(seeds):
            problem = guillotine(n, seed)
            assert problem.capacity is not None
            yield Instance(
                f"guillotine {n}/{seed}", replace(problem, capacity=None), problem.capacity, problem.capacity
            )


def random_instances(sizes: Sequence[int], seeds: int) -> Iterator[Instance]:
    for n in sizes:
        for seed in range(seeds):
            random = Random(seed * 1_000_003 + n)
            buffers: list[Buffer] = []
            for i in range(n):
                start = random.randrange(2 * n)
                stop = start + random.randint(1, max(2, n // 5))
                buffers.append(Buffer(f"b{i}", 16 * random.randint(1, 4096), (Interval(start, stop),)))
            problem = Problem(tuple(buffers))
            yield Instance(f"random {n}/{seed}", problem, contention(problem) * 102 // 100)


def measure(instance: Instance, worker: Worker, goal: str, limit: float, repeat: int) -> list[Run]:
    task: dict[str, Any] = {
        "buffers": [
            (b.name, b.bytes, [(s.start, s.stop) for s in b.live], b.alignment)
            for b in instance.problem.buffers
        ],
        "capacity": instance.capacity if goal == "fit" else None,
        "goal": instance.capacity,
        "seconds": limit,
    }
    runs: list[Run] = []
    for seed in range(repeat):
        answer = worker.ask(task | {"seed": seed}, limit + GRACE)
        runs.append(checked(instance, answer, limit))
    return runs


def checked(instance: Instance, answer: dict[str, Any] | None, limit: float) -> Run:
    """The run, if its plan is right and it contradicts nothing that is known."""
    if answer is None:
        return Run("ended", limit + GRACE, None, None, 0)
    peak = None
    if answer["offsets"] is not None:
        plan = Plan(answer["offsets"])
        faults = check_fast(instance.problem, plan)
        if faults:
            return Run("WRONG PLAN", answer["seconds"], None, None, 0)
        peak = plan.peak(instance.problem)
    known = instance.optimum
    if known is not None and (answer["bound"] > known or answer["status"] == "infeasible"):
        return Run("WRONG CLAIM", answer["seconds"], answer["first"], peak, 0)
    return Run(answer["status"], answer["seconds"], answer["first"], peak, answer["bound"])


def table(results: dict[str, dict[str, list[Run]]], instances: Sequence[Instance]) -> Iterator[str]:
    yield "| instance | n | capacity | packer | status | fits | first fit s | seconds | best peak | gap |"
    yield "| --- | ---: | ---: | --- | --- | ---: | ---: | ---: | ---: | ---: |"
    for instance in instances:
        rows = {packer: by_name[instance.name] for packer, by_name in results.items()}
        bound = instance.optimum or max(run.bound for runs in rows.values() for run in runs)
        for packer, runs in rows.items():
            peaks = [run.peak for run in runs if run.peak is not None]
            peak = min(peaks, default=None)
            cells = [
                *(instance.name, len(instance.problem.buffers), f"{instance.capacity:,}", packer),
                ", ".join(dict.fromkeys(run.status for run in runs)),
                f"{sum(run.first is not None for run in runs)}/{len(runs)}",
                _median([run.first for run in runs if run.first is not None]),
                _median([run.seconds for run in runs]),
                "-" if peak is None else f"{peak:,}",
                "-" if peak is None or not bound else f"{(peak - bound) / bound:.2%}",
            ]
            yield "| " + " | ".join(map(str, cells)) + " |"


def summary(results: dict[str, dict[str, list[Run]]], starts: dict[str, float]) -> Iterator[str]:
    yield "| packer | start s | instances that fit | median first fit s | slowest | proven |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: |"
    for packer, by_name in results.items():
        fits = [runs for runs in by_name.values() if all(run.first is not None for run in runs)]
        firsts = [statistics.median([run.first or 0.0 for run in runs]) for runs in fits]
        proven = sum(all(r.status in ("optimal", "infeasible") for r in runs) for runs in by_name.values())
        yield (
            f"| {packer} | {starts[packer]:.2f} | {len(fits)} of {len(by_name)} | {_median(firsts)} "
            f"| {_number(max(firsts, default=None))} | {proven} of {len(by_name)} |"
        )


def _median(values: Sequence[float]) -> str:
    return _number(statistics.median(values) if values else None)


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}" if value < 10 else f"{value:.1f}"


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.packing",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    kinds = ["minimalloc", "idealloc", "guillotine", "random"]
    parser.add_argument("instances", nargs="+", choices=kinds)
    parser.add_argument("--packers", default="exact,large-first", help="names, or omnimalloc:NAME; by commas")
    parser.add_argument("--goal", choices=["fit", "minimise"], default="fit")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for each run [60]")
    parser.add_argument("--repeat", type=int, default=3, help="runs of each, seeds 0, 1, ... [3]")
    parser.add_argument("--sizes", default="50,100", help="buffers of generated instances [50,100]")
    parser.add_argument("--seeds", type=int, default=3, help="generated instances of each size [3]")
    parser.add_argument("--only", default="", help="instances whose name holds this text")
    parser.add_argument("--peer-python", default=sys.executable, help="a Python that has omnimalloc")
    return parser.parse_args(argv)


def chosen(options: argparse.Namespace) -> list[Instance]:
    sizes = [int(text) for text in options.sizes.split(",")]
    made: list[Instance] = []
    for kind in options.instances:
        match kind:
            case "minimalloc" | "idealloc":
                made += folder_instances(kind)
            case "guillotine":
                made += guillotine_instances(sizes, options.seeds)
            case _:
                made += random_instances(sizes, options.seeds)
    return [instance for instance in made if options.only in instance.name]


def main(argv: Sequence[str] | None = None) -> None:
    options = arguments(argv)
    instances = chosen(options)
    workers = {packer: Worker(packer, options.peer_python) for packer in options.packers.split(",")}
    results: dict[str, dict[str, list[Run]]] = {packer: {} for packer in workers}
    for instance in instances:
        for packer, worker in workers.items():
            print(f"{packer}: {instance.name}", file=sys.stderr)
            results[packer][instance.name] = measure(
                instance, worker, options.goal, options.limit, options.repeat
            )
    starts = {packer: worker.start_seconds for packer, worker in workers.items()}
    for worker in workers.values():
        worker.end()
    print("\n".join([*table(results, instances), "", *summary(results, starts)]))


if __name__ == "__main__":
    main()
