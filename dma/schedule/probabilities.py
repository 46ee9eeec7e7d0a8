"""Probabilities of arms, numbers of iterations, and how often each step runs on average."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from chipmodel.model.chances import arm_chances
from chipmodel.model.nesting import Section
from chipmodel.model.program import If, Loop, Program
from chipmodel.model.tree import walk
from chipmodel.records import dataclass


@dataclass(frozen=True, slots=True)
class BranchProbabilities:
    """For each ``if`` the probabilities of its arms in order; for each loop pairs of a number of iterations
    and its probability, ascending. Those of one ``if`` or loop add up to 1."""

    arms: Mapping[str, tuple[float, ...]]
    iterations: Mapping[str, tuple[tuple[int, float], ...]]

    @property
    def likely(self) -> dict[str, int]:
        """The number of the arm that is as likely as all others together, of each ``if`` with such an arm."""
        return {name: shares.index(max(shares)) for name, shares in self.arms.items() if max(shares) >= 0.5}

    def mean_iterations(self, loop: str) -> float:
        """The average number of iterations of one run of ``loop``."""
        return sum(iterations * chance for iterations, chance in self.iterations[loop])


def branch_probabilities(program: Program) -> BranchProbabilities:
    """Return the probabilities given in ``program``; arms without one share what the others leave."""
    arms: dict[str, tuple[float, ...]] = {}
    iterations: dict[str, tuple[tuple[int, float], ...]] = {}
    for node in walk(program.body):
        if isinstance(node, If):
            arms[node.name] = tuple(map(float, arm_chances(node).values()))
        elif isinstance(node, Loop):
            chances = sorted((number, float(chance)) for number, chance in node.chances)
            iterations[node.name] = tuple(chances) or ((node.iterations, 1.0),)
    return BranchProbabilities(arms, iterations)


def numbers_along(program: Program, path: Mapping[str, str] | None) -> dict[str, int]:
    """Return the number of the arm, or of the iterations, of each ``if`` and loop along ``path``, which takes
    the first arm and the program's iterations where it names none; None: the likeliest arms, and about as
    many iterations as on average."""
    chances = branch_probabilities(program)
    found: dict[str, int] = {}
    for node in walk(program.body):
        if isinstance(node, If):
            names, shares = [arm.name for arm in node.arms], chances.arms[node.name]
            likely = 0 if path is not None else shares.index(max(shares))
            found[node.name] = names.index((path or {}).get(node.name, names[likely]))
        elif isinstance(node, Loop):
            likely = node.iterations if path is not None else round(chances.mean_iterations(node.name))
            found[node.name] = int((path or {}).get(node.name, likely))
    return found


@dataclass(frozen=True, slots=True)
class ExecutionCounts:
    """How often each position runs, and how often each branch or loop is entered, on average."""

    at: dict[int, float] = field(default_factory=dict[int, float])
    entered: dict[str, float] = field(default_factory=dict[str, float])


def execution_counts(root: Section, probabilities: BranchProbabilities) -> ExecutionCounts:
    """Return the counts for one run of the steps of ``root``."""
    counts = ExecutionCounts()

    def walk(section: Section, times: float) -> None:
        counts.at.update(dict.fromkeys(range(section.extent.start, section.extent.stop), times))
        for fork in section.forks:
            counts.entered[fork.name] = times
            loop = (probabilities.mean_iterations(fork.name),) if fork.repeats else ()
            for arm, share in zip(fork.arms, loop or probabilities.arms[fork.name], strict=True):
                walk(arm, times * share)

    walk(root, 1.0)
    return counts
