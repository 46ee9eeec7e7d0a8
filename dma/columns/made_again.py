"""Which tensors inside a cascade are made again for each step that reads them, so that it needs less memory.

Rows of such a tensor are held only from the op that makes them to the one that reads them, and so in turn
with those of others. Where two steps read the same row it is computed for each of them.

Source: chipmodel, a greedy choice. Huang et al. 2025 ("msf-CNN") choose for each group of ops whether it is
cached; Alwani et al. 2016 compare the two for pairs of layers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from chipmodel.cascades.recomputed import cascade_macs
from chipmodel.cascades.rewrite import CascadeChoice, cascade_op
from chipmodel.model.program import Op, Program


def with_less_held(
    program: Program,
    ops: Sequence[Op],
    choice: CascadeChoice,
    size: Callable[[Op], int],
    most_macs: float,
    enough: int = 0,
) -> tuple[CascadeChoice, int]:
    """Return the cascade ``choice`` of ``ops`` with tensors made again, so that it needs less memory, and the
    bytes that it then needs by its exact ``size``.

    Fewer bytes than are ``enough`` are worth nothing. A cascade that cannot be, or takes more than
    ``most_macs`` multiply-accumulates even with all rows kept, needs more bytes than any other.
    """
    found, least = choice, IMPOSSIBLE[0]
    for less in ever_less_held(program, ops, choice, size, most_macs):
        found, least, _ = less
        if least <= enough:
            break
    for name in reversed(found.again):
        rest = replace(found, again=tuple(each for each in found.again if each != name))
        without, _ = _amounts(program, ops, rest, size)
        if without <= max(enough, least):
            found, least = rest, without
    return found, least


def ever_less_held(
    program: Program, ops: Sequence[Op], choice: CascadeChoice, size: Callable[[Op], int], most_macs: float
) -> Iterator[tuple[CascadeChoice, int, int]]:
    """Yield the cascade ``choice`` with ever more tensors made again, first those that cost the fewest
    multiply-accumulates, its bytes, which get no more, and its multiply-accumulates, at most ``most_macs``;
    nothing where it cannot be, or takes more with all rows kept."""
    order = {name: number for number, name in enumerate(name for op in ops for name in op.outputs)}

    def tried(again: Iterable[str]) -> tuple[CascadeChoice, int, int]:
        made = replace(choice, again=tuple(sorted(again, key=order.__getitem__)))
        return made, *_amounts(program, ops, made, size)

    found = tried(())
    if found[2] > most_macs:
        return
    yield found
    alone = {name: tried((name,))[2] for name in (sole_tensors(ops) if choice.rolls else ())}
    for _, _, name in sorted((macs, order[name], name) for name, macs in alone.items() if macs <= most_macs):
        with_it = tried((*found[0].again, name))
        if with_it[1] <= found[1] and with_it[2] <= most_macs:
            found = with_it
            yield found


def _amounts(
    program: Program, ops: Sequence[Op], choice: CascadeChoice, size: Callable[[Op], int]
) -> tuple[int, int]:
    """The bytes and the multiply-accumulates of a cascade; too many where it cannot be."""
    try:
        op = cascade_op(program, ops, choice)
    except ValueError:
        return IMPOSSIBLE
    return size(op), cascade_macs(op)


def sole_tensors(ops: Sequence[Op]) -> Iterator[str]:
    """Yield the tensors that an op makes alone and another one reads alone: only these can be made again."""
    reads = [name for op in ops for name in op.inputs]
    yield from (op.outputs[0] for op in ops[:-1] if len(op.outputs) == 1 and reads.count(op.outputs[0]) == 1)


IMPOSSIBLE = (1 << 62, 1 << 62)
"""Bytes and multiply-accumulates of a cascade that cannot be."""
