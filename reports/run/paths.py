"""The costs of all paths through a program: for the terminal, the JSON document and the page."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from chipmodel.answers.result import Result
from chipmodel.files.document import document
from chipmodel.model.path_costs import MAX_COUNT, Extreme, Paths, Runs
from reports.page_parts import PageTable
from reports.terminal_table import FigureRow
from reports.words import count, duration, percent, ratio, shortened

MOST_PARTS = 12
"""Rows of the terminal's table of arms and loops."""
MOST_RUNS = 3
"""Runs of equal decisions that are written out for one ``if`` or loop."""


def path_lines(result: Result) -> list[FigureRow]:
    """Best, expected and worst cycles and how each is known; empty where only one path is possible."""
    paths = result.paths
    if paths is None or paths.count == 1:
        return []
    seen = "" if paths.sample is None else "of the sample: "
    best, worst = paths.best, paths.worst
    ends = (("best", best), ("worst", worst))
    first, last = (
        _line(result, name, end.cycles, count(end.cycles), seen + decided(end)) for name, end in ends
    )
    lines = [first, _line(result, "expected", paths.expected, cycles(paths.expected), method(paths)), last]
    if worst.lower_bound is not None:
        over = percent(ratio(worst.cycles - worst.lower_bound, worst.lower_bound))
        bound = f"gap {over}; {result.bound.space}"
        lines.append(("worst, lower bound", count(worst.lower_bound), "cycles", bound))
    path = {name: ((choice, 1),) for name, choice in sorted(result.trace.path.items())}
    return [*lines, ("path shown here", count(result.trace.cycles), "cycles", _listed(path))]


def _line(result: Result, name: str, number: Fraction | int, text: str, remark: str) -> FigureRow:
    return name, text, "cycles", "; ".join(filter(None, (duration(result.chip, round(number)), remark)))


def method(paths: Paths) -> str:
    """How the expected cycles were found: exactly, or by a sample with its confidence interval."""
    many = f"{count(paths.count)} paths" if paths.count < MAX_COUNT else "more than 10^15 paths"
    sample = paths.sample
    if sample is None:
        return f"exact, over {many}"
    low, high = count(round(sample.low)), count(round(sample.high))
    return (
        f"sampled: {count(sample.size)} of {many}, seed {sample.seed}, "
        f"95% confidence {low} to {high} (Student's t)"
    )


def decided(extreme: Extreme) -> str:
    """The decisions of a path, as ``gate=face, decode=3``."""
    return _listed(extreme.decisions)


def _listed(decisions: Mapping[str, Runs]) -> str:
    return shortened([f"{name}={_runs(runs)}" for name, runs in decisions.items()])


def _runs(runs: Runs) -> str:
    """The decisions of consecutive executions: ``face``, or ``face x3 then nothing``."""
    if len(runs) == 1:
        return runs[0][0]
    shown = [choice if times == 1 else f"{choice} x{count(times)}" for choice, times in runs[:MOST_RUNS]]
    return " then ".join(shown) + (" ..." if len(runs) > MOST_RUNS else "")


def cycles(number: Fraction) -> str:
    """Cycles with one decimal where they are not whole."""
    return count(number.numerator) if number.denominator == 1 else f"{float(number):,.1f}"


def parts_table(paths: Paths) -> PageTable:
    """A row for every arm and every loop, outer ones before inner ones."""
    rows = [
        (
            part.name,
            "each iteration" if part.arm is None else part.arm,
            "" if part.arm is None else percent(float(part.probability)),
            f"{round(float(part.runs), 3):,.10g}",
            "" if part.each is None else cycles(part.each),
            percent(ratio(float(part.cycles), float(paths.expected))),
            *("" if end is None else count(end) for end in (part.least, part.most)),
        )
        for part in paths.parts
    ]
    ends = (">minimum", ">maximum")
    heads = ("if or loop", "arm", ">probability", ">runs", ">cycles each", ">share of expected", *ends)
    hint = (
        "Runs and shares are averages over all paths, weighted by their probabilities; an arm inside of "
        "another arm counts in both."
    )
    return PageTable("parts", "Arms and loops", heads, rows, hint, most=MOST_PARTS, wide=ends)


def paths_document(result: Result) -> dict[str, object]:
    """``paths`` of the JSON document; empty for a program without an ``if`` or ``loop``."""
    paths = result.paths
    if paths is None:
        return {}
    expected = paths.expected
    bounded = {"lower_bound_cycles": paths.worst.lower_bound, "bound_space": result.bound.space}
    shares = ({"share_of_expected": ratio(float(part.cycles), float(expected))} for part in paths.parts)
    return {
        "paths": {
            "method": paths.method,
            "count": paths.count if paths.count < MAX_COUNT else None,
            "best": paths.best,
            "worst": document(paths.worst) | bounded,
            "expected_cycles": expected,
            "expected_cycles_exact": str(expected) if paths.sample is None else None,
            "sample": paths.sample,
            "parts": [document(part) | share for part, share in zip(paths.parts, shares, strict=True)],
        }
    }
