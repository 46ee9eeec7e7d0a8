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


def path_probabilities(program: Program, path: Mapping[str, str]) -> BranchProbabilities:
    """Certainty of one path; where ``path`` names no decision, the first arm or the program's iterations."""
    arms: dict[str, tuple[float, ...]] = {}
    iterations: dict[str, tuple[tuple[int, float], ...]] = {}
    for node in walk(program.body):
        if isinstance(node, If):
            taken = path.get(node.name, node.arms[0].name)
            arms[node.name] = tuple(float(arm.name == taken) for arm in node.arms)
        elif isinstance(node, Loop):
            iterations[node.name] = ((int(path.get(node.name, node.iterations)), 1.0),)
    return BranchProbabilities(arms, iterations)


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
