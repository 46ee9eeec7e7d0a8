"""Program and Chip to the core of each node: what the workload says, and a simple balance for the rest.

List scheduling in the order of the program, each node on the core where it would end first (E. G. Coffman
and R. L. Graham, "Optimal scheduling for two-processor systems", 1972, and its many heirs), with the one
DMA engine as a resource that all cores share: it loads each node's weights, and stores and loads what
crosses from core to core. So where the engine is what a network waits for, nodes stay together.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from chipmodel.errors import BadInput
from chipmodel.hardware.chip import Chip
from chipmodel.model.core_parts import Uses, same_core_groups, uses
from chipmodel.model.program import If, Loop, Node, Op, Program, ops
from chipmodel.npu.cycles import op_cycles
from chipmodel.timing.transfer import transfer_cycles


def assigned(program: Program, cores: int) -> dict[str, int]:
    """The core of each node of the outermost body for which the workload names one, by the node's name.

    Raises BadInput, with the place of the op, for a core that is not there, and for ops that must run on one
    core and name several; and for inferences on several cores: parts of a loop do not wait for one another.
    """
    if cores > 1 and program.inferences > 1:
        what = f"--steady-state (inferences) is for one core, and the chip has {cores}"
        raise BadInput(what, hint="leave it out, or take one core: --set cores=1 (chip(..., cores=1))")
    if all(op.core is None for op in program.ops()):
        return {}
    found: dict[str, int] = {}
    for group in same_core_groups(program, uses(program)):
        nodes = [program.body[index] for index in group]
        named = [op for op in ops(tuple(nodes)) if op.core is not None]
        for op in named:
            _check(op, named[0], cores)
        if named and named[0].core is not None:
            found |= dict.fromkeys((node.name for node in nodes), named[0].core)
    return found


def _check(op: Op, first: Op, cores: int) -> None:
    assert op.core is not None
    if not 0 <= op.core < cores:
        has = "one core, number 0" if cores == 1 else f"{cores} cores, numbers 0 to {cores - 1}"
        more = op.core + 1
        hint = f"give the chip more cores: --set cores={more} (chip(..., cores={more})); or name another core"
        raise BadInput(f"op {op.name!r} is for core {op.core}, the chip has {has}", where=op.place, hint=hint)
    if op.core != first.core:
        what = f"op {op.name!r} is for core {op.core}, op {first.name!r} for core {first.core}"
        hint = "an if or loop, and all that define one tensor, run on one core: name the same, or one of them"
        raise BadInput(f"{what}, but both must run on one", where=op.place, hint=hint)


def on_one_core(program: Program, cores: int) -> dict[str, int]:
    """Every node on core 0, but those for which the workload names another."""
    return {node.name: 0 for node in program.body} | assigned(program, cores)


def balanced(program: Program, chip: Chip, cascaded: Sequence[Collection[str]] = ()) -> dict[str, int]:
    """A core for every node of the outermost body. Deterministic. Neighbouring ops in a group of
    ``cascaded`` are on one core, unless the workload says otherwise. Raises BadInput as ``assigned``."""
    fixed = assigned(program, chip.cores)
    found = uses(program)
    balance = _ListScheduler(program, chip, found, _definers_read(program, found))
    group_of = {index: group for group in same_core_groups(program, found) for index in group}
    chosen: dict[int, int] = {}
    for index, node in enumerate(program.body):
        group = group_of[index]
        cores = [fixed[node.name]] if node.name in fixed else list(range(chip.cores))
        if group[0] in chosen:
            cores = [chosen[group[0]]]
        elif node.name not in fixed and index and _are_in_one(cascaded, node, program.body[index - 1]):
            cores = [chosen[index - 1]]
        chosen[index] = chosen[group[0]] = balance.place(index, cores)
    return {node.name: chosen[index] for index, node in enumerate(program.body)}


def _are_in_one(groups: Sequence[Collection[str]], *nodes: Node) -> bool:
    return any({node.name for node in nodes} <= {*group} for group in groups)


def _definers_read(program: Program, found: Uses) -> dict[int, dict[str, int]]:
    """For each node the tensors that it reads of others, with the last node before it that defines each."""
    made: dict[int, dict[str, int]] = {index: {} for index in range(len(program.body))}
    for name, readers in found.read.items():
        for reader in readers:
            before = [index for index in found.defined.get(name, ()) if index < reader]
            if before:
                made[reader][name] = before[-1]
    return made


@dataclass(frozen=True, slots=True)
class _CorePlacement:
    """A node on a core: ordered by when it ends, then by what crosses, then by the core's number."""

    end: int
    crossing: int
    core: int
    engine: int
    """Cycles that the DMA engine is busy up to then."""

    @property
    def rank(self) -> tuple[int, int, int]:
        return self.end, self.crossing, self.core


@dataclass
class _ListScheduler:
    """State of the list schedule: when cores and DMA engine are free, and who holds which tensor."""

    program: Program
    chip: Chip
    found: Uses
    made_by: Mapping[int, Mapping[str, int]]
    free: dict[int, int] = field(default_factory=dict[int, int])
    engine: int = 0
    ends: dict[int, int] = field(default_factory=dict[int, int])
    core_at: dict[int, int] = field(default_factory=dict[int, int])
    there: dict[str, set[int]] = field(default_factory=dict[str, set[int]])
    """Cores that have loaded a tensor of another core."""

    def place(self, index: int, cores: list[int]) -> int:
        """The core among ``cores`` where the node ends first, on which it then is."""
        best = min((self.outcome(index, core) for core in cores), key=lambda o: o.rank)
        self.free[best.core] = self.ends[index] = best.end
        self.engine = best.engine
        self.core_at[index] = best.core
        for name in self.crossing(index, best.core):
            self.there.setdefault(name, set()).add(best.core)
        return best.core

    def crossing(self, index: int, core: int) -> list[str]:
        made = self.made_by[index]
        return [
            n
            for n, maker in made.items()
            if self.core_at[maker] != core and core not in self.there.get(n, ())
        ]

    def outcome(self, index: int, core: int) -> _CorePlacement:
        node = self.program.body[index]
        ready = max((self.ends[maker] for maker in self.made_by[index].values()), default=0)
        engine = self.engine + self.loads(node)
        crossing = self.crossing(index, core)
        for name in crossing:
            cost = self.moved("load", name) + (0 if self.there.get(name) else self.moved("store", name))
            engine += cost
            ready = max(ready, self.ends[self.made_by[index][name]] + cost)
        start = max(self.free.get(core, 0), ready, engine)
        total = sum(self.program.tensors[name].bytes for name in crossing)
        return _CorePlacement(start + node_cycles(self.chip, node), total, core, engine)

    def loads(self, node: Node) -> int:
        """Cycles that the DMA engine needs to load the weights of ``node``."""
        blocks = [self.program.block_bytes(op) for op in ops((node,))]
        return sum(transfer_cycles(self.chip, "weights", block) for block in blocks if block)

    def moved(self, direction: str, name: str) -> int:
        size = self.program.tensors[name].bytes
        return transfer_cycles(self.chip, "load" if direction == "load" else "store", size)


def node_cycles(chip: Chip, node: Node) -> int:
    """NPU cycles of a node: of an ``if`` those of its longest arm, of a loop those of all iterations."""
    match node:
        case Op():
            return op_cycles(chip.npu, node, node.work.rows, node.work.channels)
        case If():
            return max((sum(node_cycles(chip, n) for n in arm.body) for arm in node.arms), default=0)
        case Loop():
            return node.iterations * sum(node_cycles(chip, n) for n in node.body)
