"""The state that a search over memory tiers begins with, without that search."""

from solvers.tiers.placement import by_rule
from solvers.tiers.problem import TierProblem, TierState
from solvers.tiers.search import as_state
from solvers.tiers.tables import TierTables


def initial_state(problem: TierProblem) -> TierState:
    """Return the state of the initial rule. Raises DoesNotFit where an op's reserve and staging exceed the
    first tier."""
    tables = TierTables(problem)
    run = by_rule(tables)
    return as_state(tables, run.events, run.cost)
