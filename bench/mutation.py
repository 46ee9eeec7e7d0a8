"""Break the source on purpose, one small fault at a time, and see whether the tests next to it fail.

    pip install 'chipmodel[mutation,test]'
    python -m bench.mutation [--files chipmodel/timing/shape.py ...] [--sample 60] [--seed 0] [--minutes 4]

A fault replaces an operator, a comparison, a number or a boolean, turns a condition round, empties a loop, or
the like: the operators of cosmic-ray (https://cosmic-ray.readthedocs.io), in a copy of the checkout. A sample
draws places with equal chances, and one fault at each; ``--sample 0`` takes every fault. Only the
tests that ``GUARDS`` names for a file are run, until the first failure; a run that takes ten times as long as
without a fault counts as a failure. Printed: the faults that were not noticed, which either need a test or
change nothing, and how many were noticed.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from time import monotonic

ROOT = Path(__file__).parents[1]
GUARDS = {
    # timing of transfers
    "chipmodel/timing/shape.py": ("chipmodel/timing/test_shape.py",),
    "chipmodel/timing/transfer.py": ("chipmodel/timing/test_transfer.py", "chipmodel/timing/test_routes.py"),
    "chipmodel/timing/routes.py": ("chipmodel/timing/test_routes.py", "chipmodel/timing/test_transfer.py"),
    "chipmodel/timing/interruptions.py": ("chipmodel/timing/test_interruptions.py",),
    "chipmodel/timing/refresh.py": (
        "chipmodel/timing/test_bursts.py",
        "chipmodel/timing/test_interruptions.py",
    ),
    "chipmodel/timing/cdma.py": ("chipmodel/timing/test_cdma.py",),
    "chipmodel/timing/controllers.py": ("chipmodel/timing/test_controllers.py",),
    "chipmodel/timing/controlled.py": ("chipmodel/timing/test_controlled.py",),
    # what both simulators share, besides the shapes and interruptions above
    "chipmodel/machine/npu_accesses.py": ("chipmodel/machine/test_npu_accesses.py",),
    "chipmodel/model/commands.py": ("chipmodel/model/test_commands.py",),
    "chipmodel/npu/luna.py": ("chipmodel/npu/test_luna.py",),
    # liveness, lowering, layout
    "chipmodel/passes/liveness.py": (
        "chipmodel/passes/test_liveness.py",
        "chipmodel/passes/test_liveness_paths.py",
    ),
    "chipmodel/passes/lower.py": ("chipmodel/passes/test_lower.py",),
    "chipmodel/rewrites/in_place.py": ("chipmodel/rewrites/test_in_place.py",),
    "dma/schedule/psram_layout.py": ("dma/schedule/test_psram_layout.py",),
    "dma/schedule/operands.py": ("dma/schedule/test_steps.py",),
    "dma/schedule/steps.py": ("dma/schedule/test_steps.py",),
    # rows and columns of cascades
    "chipmodel/cascades/rows.py": ("chipmodel/cascades", "fuzz/test_plan_searches.py"),
    "chipmodel/cascades/row_reads.py": ("chipmodel/cascades", "fuzz/test_plan_searches.py"),
    "chipmodel/cascades/bands.py": ("chipmodel/cascades", "fuzz/test_plan_searches.py"),
    "chipmodel/cascades/columns.py": ("chipmodel/cascades", "fuzz/test_plan_searches.py"),
    "solvers/columns/least_memory.py": ("chipmodel/bounds",),
    "dma/schedule/cascade_steps.py": ("dma/schedule/test_cascade_steps.py", "fuzz/test_plan_searches.py"),
    # plans on bytes
    "chipmodel/execute/evaluate.py": (
        "chipmodel/execute/test_evaluate.py",
        "chipmodel/execute/test_check.py",
    ),
    "chipmodel/execute/steps.py": ("chipmodel/execute/test_machine.py", "chipmodel/execute/test_check.py"),
    # bounds
    "chipmodel/bounds/windows.py": ("chipmodel/bounds/test_windows.py",),
    "chipmodel/bounds/time_bound.py": ("chipmodel/bounds/test_time_bound.py",),
    "chipmodel/npu/least_costs.py": ("chipmodel/bounds/test_time_bound.py",),
    "chipmodel/bounds/program_windows.py": ("chipmodel/bounds/test_windows.py",),
    **dict.fromkeys(
        (
            *("chipmodel/bounds/columns.py", "chipmodel/bounds/fluid.py", "dma/columns/listed.py"),
            *("solvers/columns/path.py", "solvers/columns/moves.py"),
            *("solvers/fluid/amounts.py", "solvers/fluid/borders.py", "solvers/fluid/residents.py"),
        ),
        ("chipmodel/bounds/test_listed.py", "chipmodel/bounds/test_straight_chains.py"),
    ),
}
"""The tests next to each file, below ``tests``."""
NOT_TRIED = re.compile(r"BitOr|Variable|RemoveDecorator|_Is(Not)?$")
"""Faults in types (``int | None``), of names that are not there, and of identity."""
OF_NO_CONSEQUENCE = re.compile(r"^\s*@")
"""Lines with decorators: sizes of caches, and what data classes forbid."""
TEXT = re.compile(r"[=!]= \"")
"""Comparisons with a text are only turned round: which of two texts is the larger one is chance."""
SLOWEST = 10
"""A run that takes so many times as long as without a fault never ends."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Occurrence number ``occurrence`` of a cosmic-ray operator in ``file``, at ``line``."""

    file: str
    operator: str
    occurrence: int
    place: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Tried:
    """A fault, the source line before and after it, and whether a test failed."""

    fault: Fault
    before: str
    after: str
    noticed: bool


def faults(file: str) -> Iterator[Fault]:
    """Every fault that may be made in ``file``."""
    from cosmic_ray.ast import Visitor, get_ast
    from cosmic_ray.plugins import get_operator, operator_names

    class Finder(Visitor):
        def __init__(self, name: str) -> None:
            self.name, self.operator, self.found = name, get_operator(name)(), list[Fault]()

        def visit(self, node: object) -> object:
            for start, _ in self.operator.mutation_positions(node):
                self.found.append(Fault(file, self.name, len(self.found), start))
            return node

    source = (ROOT / file).read_text(encoding="utf-8")
    lines = source.splitlines()
    for name in operator_names():
        if not NOT_TRIED.search(name):
            finder = Finder(name)
            finder.walk(get_ast(source))
            yield from (fault for fault in finder.found if _counts(fault, lines[fault.place[0] - 1]))


def _counts(fault: Fault, line: str) -> bool:
    """Whether the fault may change an answer."""
    turned = fault.operator.endswith(("Eq_NotEq", "NotEq_Eq"))
    of_text = "Comparison" in fault.operator and TEXT.search(line) is not None
    return not OF_NO_CONSEQUENCE.search(line) and (turned or not of_text)


def sampled(found: Sequence[Fault], number: int, seed: int) -> list[Fault]:
    """One fault at each of ``number`` places drawn at random; all faults for 0."""
    if not number:
        return list(found)
    random = Random(seed)
    places = sorted({(fault.file, fault.place) for fault in found})
    chosen = random.sample(places, min(number, len(places)))
    return [random.choice([f for f in found if (f.file, f.place) == place]) for place in chosen]


def copy_of_checkout(folder: Path) -> Path:
    """The source and its tests, where they may be broken."""
    copy = folder / "checkout"
    left_out = shutil.ignore_patterns(".git", ".venv", "__pycache__", ".*_cache")
    shutil.copytree(ROOT, copy, ignore=left_out, symlinks=True)
    return copy


def passes(copy: Path, file: str, seconds: float | None, keep_compiled: bool = False) -> bool:
    """Whether the tests next to ``file`` pass within ``seconds``."""
    tests = [str(Path("tests") / name) for name in GUARDS[file]]
    quiet = ["-q", "-x", "--no-header", "-p", "no:cacheprovider"]
    environment = {**os.environ, "PYTHONPATH": str(copy)}
    if not keep_compiled:  # a fault of the same size in the same second would not be compiled again
        environment["PYTHONDONTWRITEBYTECODE"] = "1"
    command = [sys.executable, "-m", "pytest", *quiet, *tests]
    where = {"cwd": copy, "env": environment}
    silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    try:
        return not subprocess.run(command, check=False, timeout=seconds, **where, **silent).returncode
    except subprocess.TimeoutExpired:
        return False


def attempt(copy: Path, fault: Fault, seconds: float) -> Tried | None:
    """Make the fault, run the tests, and take it back; None where the source cannot be broken so."""
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.plugins import get_operator

    path = copy / fault.file
    source = path.read_text(encoding="utf-8")
    broken = mutate_code(source, get_operator(fault.operator)(), fault.occurrence)
    if broken is None or broken == source:
        return None
    path.write_text(broken, encoding="utf-8")
    try:
        noticed = not passes(copy, fault.file, seconds)
    finally:
        path.write_text(source, encoding="utf-8")
    pairs = zip(source.splitlines(), broken.splitlines(), strict=False)
    before, after = next(((a.strip(), b.strip()) for a, b in pairs if a != b), ("", ""))
    return Tried(fault, before, after, noticed)


def prepare(copy: Path, file: str) -> float:
    """Seconds that the tests next to ``file`` take without a fault. Ends the program where they fail."""
    began = monotonic()
    if not passes(copy, file, None, keep_compiled=True):
        raise SystemExit(f"the tests next to {file} fail without a fault")
    for compiled in (copy / file).parent.glob(f"__pycache__/{Path(file).stem}.*.pyc"):
        compiled.unlink()
    return monotonic() - began


def main() -> None:
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=layout)
    parser.add_argument("--files", nargs="+", choices=GUARDS, default=list(GUARDS), metavar="FILE")
    parser.add_argument("--sample", type=int, default=60, help="faults in all; 0 for every one")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=4.0, help="begin no new fault after so many")
    asked = parser.parse_args()
    began = monotonic()
    chosen = sampled([f for file in asked.files for f in faults(file)], asked.sample, asked.seed)
    tried: list[Tried] = []
    with tempfile.TemporaryDirectory() as folder:
        copy = copy_of_checkout(Path(folder))
        limits: dict[str, float] = {}
        for fault in chosen:
            if monotonic() - began > 60 * asked.minutes:
                print(f"stopped after {asked.minutes:g} minutes, {len(tried)} of {len(chosen)} faults")
                break
            if fault.file not in limits:
                limits[fault.file] = SLOWEST * prepare(copy, fault.file)
            if found := attempt(copy, fault, limits[fault.file]):
                tried.append(found)
                if not found.noticed:
                    show(found)
    summarise(tried)


def show(found: Tried) -> None:
    fault = found.fault
    print(f"{fault.file}:{fault.place[0]}: {found.before}\n    -> {found.after}", flush=True)


def summarise(tried: Sequence[Tried]) -> None:
    """A table of the files, for ``bench/results/trust.md``."""
    number = Counter(each.fault.file for each in tried)
    noticed = Counter(each.fault.file for each in tried if each.noticed)
    print("\n| file | faults | noticed |\n| --- | ---: | ---: |")
    for file in (file for file in GUARDS if number[file]):
        print(f"| {file} | {number[file]} | {noticed[file]} |")
    print(f"| all | {number.total()} | {noticed.total()} |")


if __name__ == "__main__":
    main()
