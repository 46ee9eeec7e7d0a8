"""Search for faults with random seeds, for as long as you like.

    python -m tests.fuzz --list
    python -m tests.fuzz random-trees --first 2000 --count 1000
    python -m tests.fuzz random-trees --each 28        # options of that search; its --help describes them

Each search is a module of this folder: it makes a random case from a seed and checks everything that must
hold. The test suite runs a few fixed seeds of each. The first fault ends the run with exit code 1, unless
``--keep-going`` is given; the message names the seed.
"""

import argparse
import sys
import time
from collections import Counter
from collections.abc import Sequence
from importlib import import_module
from typing import cast

from tests.fuzz.fuzzer import AdjustableFuzzer, Check, Fuzzer, PlainFuzzer

NAMES = (
    *("broken-plans", "cascades", "channel-slices", "core-cascades", "cycle-bounds"),
    *("exact-packers", "execution", "further-memories", "hostile-inputs"),
    *("random-trees", "recurrent", "loaded-rings", "made-again"),
    *("rows-in-place", "search-rules", "study-kills"),
    *("two-simulators", "weights-in-place"),
)
REPORT_SECONDS = 10.0
"""How often progress is shown on a terminal."""


def fuzzer(name: str) -> Fuzzer:
    """The module of that name; its imports may be heavy."""
    return cast("Fuzzer", import_module(f"tests.fuzz.{name.replace('-', '_')}"))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one search; 1 where a fault was found."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.fuzz",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
        add_help=False,
    )
    parser.add_argument("name", nargs="?", choices=NAMES, help="which search", metavar="NAME")
    parser.add_argument("--list", action="store_true", help="list the searches")
    parser.add_argument("--first", type=int, default=0, help="first seed [0]")
    parser.add_argument("--count", type=int, help="number of seeds [the search's own]")
    parser.add_argument("--cpu-seconds", type=float, help="stop after so many seconds of CPU time")
    parser.add_argument("--keep-going", action="store_true", help="report all faults, not only the first")
    given, rest = parser.parse_known_args(arguments)
    if given.list or given.name is None:
        print(listing() if given.list else parser.format_help())
        return 0
    chosen = fuzzer(given.name)
    own = argparse.ArgumentParser(
        prog=f"python -m tests.fuzz {given.name}",
        description=chosen.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    seeds = range(given.first, given.first + (chosen.COUNT if given.count is None else given.count))
    return run(_check(chosen, own, rest), seeds, given.cpu_seconds, given.keep_going)


def _check(chosen: Fuzzer, parser: argparse.ArgumentParser, arguments: Sequence[str]) -> Check:
    """The check of one seed, with the options that ``arguments`` set."""
    if isinstance(chosen, AdjustableFuzzer):
        return chosen.search(parser, arguments)
    parser.parse_args(arguments)
    return cast("PlainFuzzer", chosen).check


def listing() -> str:
    """A line for each search: its name, its default number of seeds, and what it does."""
    chosen = ((name, fuzzer(name)) for name in NAMES)
    return "\n".join(f"{name:16} {each.COUNT:>7,}  {_first_line(each)}" for name, each in chosen)


def _first_line(module: Fuzzer) -> str:
    return (module.__doc__ or "").partition("\n")[0]


def run(check: Check, seeds: range, cpu_seconds: float | None = None, keep_going: bool = False) -> int:
    """Check the seeds in turn and print what was seen; 1 where there was a fault."""
    seen: Counter[str] = Counter()
    faults = 0
    began, shown = time.process_time(), time.monotonic()
    seed = seeds.start
    while seed < seeds.stop and (cpu_seconds is None or time.process_time() - began < cpu_seconds):
        try:
            seen += check(seed)
        except AssertionError as fault:
            faults += 1
            print(f"seed {seed}: {type(fault).__name__}: {fault}", flush=True)
            if not keep_going:
                return 1
        seed += 1
        if sys.stderr.isatty() and time.monotonic() - shown > REPORT_SECONDS:
            shown = time.monotonic()
            print(f"{seed - seeds.start:,} of {len(seeds):,} seeds", file=sys.stderr)
    counts = ", ".join(f"{name} {count:,}" for name, count in sorted(seen.items()))
    spent = time.process_time() - began
    print(f"seeds {seeds.start:,} to {seed - 1:,}: {counts}; {faults} faults; {spent:,.0f} s of CPU time")
    if seed < seeds.stop:
        print(f"to go on: --first {seed} --count {seeds.stop - seed}")
    return 1 if faults else 0
