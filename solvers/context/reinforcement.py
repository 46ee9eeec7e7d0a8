"""Reinforcement learning: a linear policy in ``PackingEnvironment``, trained on the problem itself.

A policy scores every place by a weighted sum of its features and takes the best. It is improved by the
cross-entropy method: weights are drawn from a normal distribution, whose mean moves towards those with the
best episodes. After Rubinstein, "The Cross-Entropy Method for Combinatorial and Continuous Optimization",
1999, with the noise of Szita and Lorincz, "Learning Tetris Using the Noisy Cross-Entropy Method", 2006.

Source: the many-core patent (CN, 2023), reinforcement learning (docs/references.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from chipmodel.errors import TimeIsOver
from chipmodel.model.plan import Plan, Problem
from solvers.context.environment import PackingEnvironment
from solvers.core.anytime import Anytime
from solvers.core.deadline import NO_DEADLINE, Deadline
from solvers.core.outcome import Limits, Outcome, Report

if TYPE_CHECKING:
    import numpy.typing as npt

    Weights = npt.NDArray[np.float64]

INITIAL_WEIGHTS = (-0.37, -0.01, -9.09, -2.30, 2.52, 0.12, -2.46, -3.16)
"""The initial weight of each of ``FEATURES``: what ``python -m bench.train_context_rl --rounds 40 --seed 0``
learned on random problems, 2026-11-21. Mean gap on the training set 12.0 %, on the feed-forward networks of
the zoo, which are not in it, 0.4 %."""
EPISODES = 200
"""If no limit is given."""
MAX_PLACEMENTS = 20_000
"""If no limit is given, episodes are reduced so that they place at most so many buffers."""
POPULATION = 16
"""Policies drawn between two updates."""
ELITE = 4
"""The best of them, to which the mean moves."""
INITIAL_SPREAD = 1.0
"""Standard deviation of each weight at first."""
MIN_SPREAD = 0.1
"""Added to it at every update, so that the search does not settle too soon."""


def learn(problem: Problem, limits: Limits, report: Report | None = None) -> Outcome:
    """Return the plan of the best episode within ``limits``, whose nodes are episodes; the same for the same
    seed and nodes.

    Stops at the proven bound, or within the problem's capacity. Guarantee: the peak is at most that of the
    initial policy, whose episode is the first.
    """
    until = limits.until(perf_counter())
    environment = PackingEnvironment(problem)
    run = Anytime(problem, limits, report, play(environment, np.array(INITIAL_WEIGHTS), until))
    run.progress.stage("learning")
    policies = CrossEntropy(INITIAL_WEIGHTS, limits.seed)
    most = min(EPISODES, MAX_PLACEMENTS // max(1, len(environment.requests)))
    while not run.done(most):
        weights = policies.draw()
        try:
            plan = play(environment, weights, until)
        except TimeIsOver:
            break
        run.nodes += 1
        run.offer(plan)
        policies.learn(weights, plan.peak(problem))
    return run.outcome()


class CrossEntropy:
    """Weights drawn around a mean; after each ``POPULATION`` it moves to the ``ELITE`` of least cost."""

    def __init__(self, mean: Sequence[float], seed: int) -> None:
        self.mean = np.array(mean, dtype=np.float64)
        self._spread = np.full(len(mean), INITIAL_SPREAD)
        self._random = np.random.default_rng(seed)
        self._tried: list[tuple[float, Weights]] = []

    def draw(self) -> Weights:
        """Weights to try."""
        return self.mean + self._spread * self._random.standard_normal(len(self.mean))

    def learn(self, weights: Weights, cost: float) -> None:
        """Record the cost of ``weights``; update after every ``POPULATION`` of them."""
        self._tried.append((cost, weights))
        if len(self._tried) == POPULATION:
            self._tried.sort(key=lambda tried: tried[0])
            best = [weights for _, weights in self._tried[:ELITE]]
            self.mean, self._spread = np.mean(best, axis=0), np.std(best, axis=0) + MIN_SPREAD
            self._tried.clear()


def play(environment: PackingEnvironment, weights: Weights, until: Deadline = NO_DEADLINE) -> Plan:
    """Return the plan of an episode in which the place with the highest score is always taken. Raises
    TimeIsOver."""
    observation, info = environment.reset()
    while info["plan"] is None:
        until.require("every buffer had its place")
        scores = observation[: len(info["offsets"])] @ weights
        observation, _, _, _, info = environment.step(int(scores.argmax()))
    return info["plan"]
