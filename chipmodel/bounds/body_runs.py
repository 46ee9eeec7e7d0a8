"""Which runs of ops can be in one cascade: those of one body, one iteration and one inference, in a row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from chipmodel.model.program import Body, If, Loop, Op, Program


def body_runs(program: Program, path: Mapping[str, str]) -> Iterator[tuple[Op, int]]:
    """Every run of an op along ``path``, as ``Program.ops_along``, with the number of the straight chain of
    ops that it is in. No op of one straight chain begins before all of those before it have ended."""
    return _Walk(path).body(program.body)


@dataclass
class _Walk:
    path: Mapping[str, str]
    number: int = 0

    def body(self, body: Body) -> Iterator[tuple[Op, int]]:
        for node in body:
            match node:
                case Op():
                    yield node, self.number
                case If():
                    chosen = next(arm.body for arm in node.arms if arm.name == self.path[node.name])
                    yield from self.apart(chosen)
                case Loop():
                    for _ in range(int(self.path[node.name])):
                        yield from self.apart(node.body)

    def apart(self, body: Body) -> Iterator[tuple[Op, int]]:
        self.number += 1
        yield from self.body(body)
        self.number += 1
