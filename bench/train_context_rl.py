"""The weights that the policy of ``context-rl`` begins with: trained on seeded problems, none of them of the
zoo.

Random problems of three densities (seeds from 1,000,000 on) and zero-waste guillotine packings; the cost of a
policy is its mean gap to the contention bound. Prints the mean gap of the best policies now and then, and at
the end the mean weights, to be put into solvers/context/reinforcement.py as INITIAL_WEIGHTS.

    python -m bench.train_context_rl --rounds 40 --seed 0
"""

from __future__ import annotations

import argparse
from dataclasses import replace

from chipmodel.model.plan import Problem
from solvers.context.environment import PackingEnvironment
from solvers.context.reinforcement import POPULATION, CrossEntropy, play
from solvers.core.bounds import contention
from tests.support.random_buffers import random_buffers
from workloads.packing.guillotine import guillotine

HEURISTIC = "-1,-1,-10,-1,0,0,0,-1"
"""The lowest place in the tightest free block; no growth, little scattered, and of the context left out."""


def training_set() -> list[Problem]:
    """30 problems of 30 to 120 buffers."""
    problems: list[Problem] = []
    for seed in range(1_000_000, 1_000_006):
        for count, horizon, longest in ((100, 100, 20), (100, 30, 12), (120, 120, 60)):
            problems.append(random_buffers(seed, count, horizon=horizon, longest=longest))
        problems += [replace(guillotine(n, seed), capacity=None) for n in (30, 80)]
    return problems


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rounds", type=int, default=40, help="of the cross-entropy method (40)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--start", default=HEURISTIC, help=f"weights to start from ({HEURISTIC})")
    options = parser.parse_args()
    problems = training_set()
    environments = [PackingEnvironment(problem) for problem in problems]
    bounds = [contention(problem) for problem in problems]

    def cost(weights: object) -> float:
        peaks = [play(e, weights).peak(p) for e, p in zip(environments, problems, strict=True)]  # type: ignore[arg-type]
        return sum(peak / bound - 1 for peak, bound in zip(peaks, bounds, strict=True)) / len(bounds)

    policies = CrossEntropy([float(weight) for weight in options.start.split(",")], options.seed)
    print(f"before: mean gap {cost(policies.mean):.4f}")
    for number in range(options.rounds):
        for _ in range(POPULATION):
            weights = policies.draw()
            policies.learn(weights, cost(weights))
        if number % 5 == 4:
            print(f"round {number + 1}: mean gap {cost(policies.mean):.4f}", flush=True)
    print("INITIAL = (" + ", ".join(f"{w:.2f}" for w in policies.mean) + ")")


if __name__ == "__main__":
    main()
