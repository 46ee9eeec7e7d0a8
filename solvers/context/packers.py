"""The packers of S3 as the registry lists them; what they do is imported when they run."""

from __future__ import annotations

from collections.abc import Callable

from chipmodel.errors import BadInput
from chipmodel.model.plan import Plan, Problem
from solvers.core.dispatch import climbing, plainly
from solvers.core.outcome import Limits, Outcome, Report


def context(problem: Problem) -> Plan:
    """S3's heuristic; see ``solvers/context/place.py``."""
    from solvers.context.place import context_fit

    return plainly(problem, "context", context_fit)


def context_with(setting: str) -> Callable[[Problem], Plan]:
    """The same with another number of buffers to look ahead. Raises BadInput where it is none."""
    ahead = _buffers_ahead("context", setting)

    def pack(problem: Problem) -> Plan:
        from solvers.context.place import context_fit

        return plainly(problem, "context", lambda part: context_fit(part, ahead))

    return pack


def context_pool(problem: Problem) -> Plan:
    """S3's resource pool; see ``solvers/context/pool.py``."""
    from solvers.context.pool import context_nodes_in_a_row

    return plainly(problem, "context-pool", context_nodes_in_a_row)


def context_pool_with(setting: str) -> Callable[[Problem], Plan]:
    """The same with another number of buffers to look ahead. Raises BadInput where it is none."""
    ahead = _buffers_ahead("context-pool", setting)

    def pack(problem: Problem) -> Plan:
        from solvers.context.pool import context_nodes_in_a_row

        return plainly(problem, "context-pool", lambda part: context_nodes_in_a_row(part, ahead))

    return pack


def _buffers_ahead(packer: str, setting: str) -> int:
    if not (setting.isascii() and setting.isdigit() and len(setting) < 10):
        raise BadInput(
            f"{packer}:{setting} is no number of buffers to look ahead", hint=f"0 or more, as in {packer}:8"
        )
    return int(setting)


def context_evolutionary(problem: Problem, limits: Limits, report: Report | None) -> Outcome:
    """S3's evolutionary member; see ``solvers/context/evolutionary.py``."""
    from solvers.context.evolutionary import evolve

    return climbing(problem, "context-evolutionary", evolve, limits, report)


def context_rl(problem: Problem, limits: Limits, report: Report | None) -> Outcome:
    """S3's reinforcement learning member; see ``solvers/context/reinforcement.py``."""
    from solvers.context.reinforcement import learn

    return climbing(problem, "context-rl", learn, limits, report)
