"""Which tensors inside a cascade are made again for each step that reads them, so that it needs less memory.

Rows of such a tensor are held only from the op that makes them to the one that reads them, and so in turn
with those of others. Where two steps read the same row it is computed for each of them.

Source: chipmodel, a greedy choice. Huang et al. 2025 ("msf-CNN") choose for each group of ops whether it is
cached; Alwani et al. 2016 compare the two for pairs of layers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
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

    def tried(again: Sequence[str]) -> tuple[int, int]:
        """The bytes and the multiply-accumulates with these tensors made again; too many where they cannot
        be."""
        try:
            op = cascade_op(program, ops, replace(choice, again=tuple(sorted(again, key=order.__getitem__))))
        except ValueError:
            return IMPOSSIBLE
        return size(op), cascade_macs(op)

    order = {name: number for number, name in enumerate(name for op in ops for name in op.outputs)}
    plain = tried(())
    if plain[1] > most_macs or plain[0] <= enough or not choice.rolls:
        return choice, plain[0] if plain[1] <= most_macs else IMPOSSIBLE[0]
    alone = {name: tried((name,)) for name in sole_tensors(ops)}
    cheapest = sorted((macs, order[name], name) for name, (_, macs) in alone.items() if macs <= most_macs)
    again, found = list[str](), plain
    for _, _, name in cheapest:
        if found[0] <= enough:
            break
        with_it = tried((*again, name))
        if with_it[0] <= found[0] and with_it[1] <= most_macs:
            again, found = [*again, name], with_it
    for name in reversed(tuple(again)):
        rest = [each for each in again if each != name]
        without = tried(rest)
        if without[0] <= max(enough, found[0]):
            again, found = rest, without
    return replace(choice, again=tuple(sorted(again, key=order.__getitem__))), found[0]


def sole_tensors(ops: Sequence[Op]) -> Iterator[str]:
    """Yield the tensors that an op makes alone and another one reads alone: only these can be made again."""
    reads = [name for op in ops for name in op.inputs]
    yield from (op.outputs[0] for op in ops[:-1] if len(op.outputs) == 1 and reads.count(op.outputs[0]) == 1)


IMPOSSIBLE = (1 << 62, 1 << 62)
"""Bytes and multiply-accumulates of a cascade that cannot be."""
