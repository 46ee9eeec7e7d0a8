"""Break the row arithmetic of cascades on purpose, one fault a seed, and see what notices it.

Each fault replaces one text in the geometry of cascades or in their steps: a halo or a rolling buffer one row
short, a step early or late, a wrong modulus, the wrong group, weights beside their place. A process of its
own plans the random networks of ``tests.fuzz.cascades`` with it until the verifier and the machine that runs
plans on real bytes have each noticed. An assertion of the planner about the very thing that is broken counts,
too; where there is none, and at most a crash, that is a fault of the search.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from tests.fuzz.fuzzer import Check, Fault
from tests.support.cascade_faults import Mutation
from tests.support.column_faults import MUTATIONS

SEEDS = 200
"""Networks that are tried with each fault."""
RARE = 20
"""Networks of each kind that random ones hardly ever are: whose cascade reads its input in stripes twice, or
skips the last columns of a band."""


COUNT = len(MUTATIONS)
NOTICING = {"verifier", "machine", "assertion"}


def install(mutation: Mutation) -> ModuleType:
    """Import the module of ``mutation`` with its fault, in place of the right one."""
    spec = importlib.util.find_spec(mutation.module)
    assert spec is not None
    assert spec.origin is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[mutation.module] = module
    source = mutation.broken(Path(spec.origin).read_text(encoding="utf-8"))
    exec(compile(source, spec.origin, "exec"), module.__dict__)
    return module


def notice(number: int, seeds: int) -> Counter[str]:
    """What notices the fault of that number, in this process: see ``tests.fuzz.cascades.noticed``."""
    install(MUTATIONS[number])
    from tests.fuzz import cascades

    seen: Counter[str] = Counter()
    cases = [(seed, cascades.random_case) for seed in range(seeds)]
    rare = (cascades.two_readers_case, cascades.skipped_columns_case)
    for seed, case in [*cases, *((seed, case) for case in rare for seed in range(RARE))]:
        seen += Counter(cascades.noticed(seed, case))
        if {"verifier", "machine"} <= set(seen):
            break
    return Counter(set(seen))


def check(number: int, seeds: int = SEEDS) -> Counter[str]:
    """Try the fault of that number. Raises Fault where nothing notices it."""
    command = [sys.executable, "-m", "tests.fuzz.cascade_mutations", str(number), str(seeds)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    names = done.stdout.split()
    if done.returncode or not NOTICING & set(names):
        raise Fault(f"{MUTATIONS[number].title}: noticed by {names or 'nothing'} {done.stderr[-300:]}")
    print(f"{MUTATIONS[number].title}: {', '.join(names)}", flush=True)
    return Counter(names)


def search(parser: ArgumentParser, arguments: Sequence[str]) -> Check:
    parser.add_argument("--seeds", type=int, default=SEEDS, help=f"networks for each fault [{SEEDS}]")
    seeds = parser.parse_args(arguments).seeds
    return lambda number: check(number % COUNT, seeds)


if __name__ == "__main__":
    print(*sorted(notice(int(sys.argv[1]), int(sys.argv[2]))))
