"""The tree that programs, schedules and commands have in common, each with leaves of its own.

A body is a sequence of nodes that run in order. A node is a leaf, a branch with ``arms``, each of which has a
``body``, or a loop with a ``body``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any, TypeVar, cast

N = TypeVar("N")


def bodies(node: object) -> tuple[tuple[Any, ...], ...]:
    """The bodies directly below ``node``: of each arm of a branch, of a loop, none of a leaf."""
    if (arms := getattr(node, "arms", None)) is not None:
        return tuple(arm.body for arm in arms)
    body = getattr(node, "body", None)
    return () if body is None else (body,)


def walk(body: Iterable[N]) -> Iterator[N]:
    """Every node below ``body`` in linear order, the outer before the inner, arms one after another."""
    for node in body:
        yield node
        for inner in bodies(node):
            yield from walk(inner)


def with_bodies(node: N, change: Callable[[tuple[Any, ...]], tuple[Any, ...]]) -> N:
    """``node`` with each body directly below it replaced by ``change(body)``."""
    given: Any = node
    if (arms := getattr(node, "arms", None)) is not None:
        given = replace(given, arms=tuple(replace(arm, body=change(arm.body)) for arm in arms))
    elif (body := getattr(node, "body", None)) is not None:
        given = replace(given, body=change(body))
    return cast("N", given)
