"""Chains of steps along the likely arms of branches, which may load what a later arm reads.

A load that only some paths wait for is in flight in the other arms, too, and the program waits for it after
the branch (``chipmodel.model.nesting``). What it saves in the arm that reads it, it costs in the others at
most, so that arm has to be as likely as all others together.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from chipmodel.geometry.interval import Interval
from chipmodel.model.nesting import Section


@dataclass(slots=True)
class LikelyChain:
    """Steps that run one after another, without a loop between them; of branches in their likely arms."""

    positions: list[int] = field(default_factory=list[int])
    arms: list[Interval] = field(default_factory=list[Interval])
    """Those that it runs through, by numbers of its steps; inner ones before those around them."""
    beside: list[tuple[int, Interval]] = field(default_factory=list[tuple[int, Interval]])
    """The positions of arms that it does not run through, each with the number of the step before it."""


def likely_chains(root: Section, taken: Mapping[str, int]) -> list[LikelyChain]:
    """Return all chains along the arms ``taken``, by branch and number, before those of the arms beside them.

    >>> from chipmodel.model.nesting import Fork
    >>> arms = Section(Interval(1, 3)), Section(Interval(3, 5))
    >>> root = Section(Interval(0, 6), (Fork("if", Interval(1, 5), arms),))
    >>> [each.positions for each in likely_chains(root, {"if": 1})]
    [[0, 3, 4, 5], [1, 2]]
    """
    chains = [LikelyChain()]
    _follow(root, chains, chains[0], taken)
    return [each for each in chains if each.positions]


def _follow(
    section: Section, chains: list[LikelyChain], chain: LikelyChain, taken: Mapping[str, int]
) -> LikelyChain:
    """Add the steps of ``section`` to ``chain``, and return the chain that goes on after it."""

    def other() -> LikelyChain:
        chains.append(LikelyChain())
        return chains[-1]

    at = section.extent.start
    for fork in section.forks:
        chain.positions += range(at, fork.extent.start)
        begin, goes_on = len(chain.positions), not fork.repeats
        for number, arm in enumerate(fork.arms):
            if fork.repeats or number != taken.get(fork.name):
                chain.beside += [(begin - 1, arm.extent)] if begin and not fork.repeats else []
                _follow(arm, chains, other(), taken)
            else:
                goes_on = _follow(arm, chains, chain, taken) is chain  # Not if there is a loop in the arm.
                chain.arms.append(Interval(begin, len(chain.positions)))
        chain, at = chain if goes_on else other(), fork.extent.stop
    chain.positions += range(at, section.extent.stop)
    return chain
