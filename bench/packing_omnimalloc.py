"""OmniMalloc's allocators as workers of ``bench.packing``: problems in, answers out, a JSON line each.

It needs nothing of this project, so that it runs in an environment that holds only ``omnimalloc``:

    python bench/packing_omnimalloc.py supermalloc
"""

from __future__ import annotations

import inspect
import json
import sys
import time
from typing import Any


def allocator(name: str, seconds: float, seed: int) -> Any:
    """The allocator with the budget and the seed, as far as it takes them."""
    from omnimalloc.allocators.base import BaseAllocator

    kind = BaseAllocator.get(name)
    takes = inspect.signature(kind.__init__).parameters
    wanted = {"timeout": seconds, "seed": seed, "num_threads": 2}
    return kind(**{key: value for key, value in wanted.items() if key in takes})


def answer(name: str, task: dict[str, Any]) -> dict[str, Any]:
    """A plan of the lowest peak it finds: OmniMalloc takes no capacity."""
    import omnimalloc

    if any(len(live) != 1 or alignment != 1 for _, _, live, alignment in task["buffers"]):
        return {
            "status": "unsupported",
            "bound": 0,
            "seconds": 0.0,
            "first": None,
            "offsets": None,
            "proof": "",
        }
    allocations = tuple(
        omnimalloc.Allocation(id=key, size=size, start=live[0][0], end=live[0][1])
        for key, size, live, _ in task["buffers"]
    )
    chosen = allocator(name, task["seconds"], task["seed"])
    began = time.perf_counter()
    solve = getattr(chosen, "solve", None)
    result = solve(allocations) if solve else None
    placed = result.allocations if result else chosen.allocate(allocations)
    total = time.perf_counter() - began
    peak = max(a.offset + a.size for a in placed)
    proven = bool(result and result.proved_optimal)
    return {
        "status": "optimal" if proven else "feasible" if peak <= task["goal"] else "unknown",
        "bound": result.lower_bound if result else 0,
        "seconds": total,
        "first": total if peak <= task["goal"] else None,
        "offsets": {a.id: a.offset for a in placed},
        "proof": "",
    }


def main() -> None:
    name = sys.argv[1]
    began = time.perf_counter()
    allocator(name, 1.0, 0)
    print(json.dumps({"ready": time.perf_counter() - began}), flush=True)
    for line in sys.stdin:
        print(json.dumps(answer(name, json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
