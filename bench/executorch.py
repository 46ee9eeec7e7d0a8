"""ExecuTorch's runtime with chipmodel's plans and with those of ExecuTorch's own planners.

Needs ``pip install chipmodel[executorch] torchvision transformers``. Every network is exported, lowered once
for each planner, loaded by the real runtime (portable kernels, no delegate), run twice on two inputs. Outputs
are *equal* where they are PyTorch's within 1e-3, which ours must be. Bytes are those of all memories that
ExecuTorch plans; *bound* is proven for any plan of the same graph. The other planners than ``greedy`` plan no
submodules. *One in an object* is ``greedy`` without tensors above others in a shared object.

    python -m bench.executorch [MODEL ...]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median

import executorch.backends.cadence.aot.ops_registrations  # noqa: F401 (Cadence's planners ask for these)
import torch
from executorch.backends.cadence.aot.memory_planning import (
    GreedyWithHeuristic,
    PositionBasedGreedyWithHierarchy,
)
from executorch.backends.cadence.aot.pass_utils import CompileMode
from executorch.backends.cadence.aot.utils import MemoryConfig
from executorch.exir import ExecutorchBackendConfig, to_edge
from executorch.exir.banked_memory_planning import Bank, TargetMemoryMap, banked_memory_planning_pass
from executorch.exir.memory_planning import get_node_tensor_specs, greedy
from executorch.exir.passes import MemoryPlanningPass
from executorch.runtime import Runtime
from torch.export import ExportedProgram, export

from bench.executorch_models import MODELS, Made
from chipmodel.executorch import ExecutorchAnswer, ExecutorchMemory, ExecutorchPlanner
from chipmodel.geometry.interval import Interval
from chipmodel.model.plan import Buffer, Problem
from solvers.heuristics.executorch_greedy import executorch_greedy

TOLERANCE = 1e-3
"""Of the absolute value, and relative: kernels of the runtime differ from PyTorch's."""
PLENTY = 1 << 40
ALIGNMENT = 16
FAST_SHARE = 0.5
"""The fast memory of the second table, as a share of the bound."""
Tensors = tuple[torch.Tensor, ...]


@dataclass
class Subject:
    """A network, its inputs (those of the export, and their negatives, which take other arms), and what
    PyTorch computes from them."""

    name: str
    program: ExportedProgram
    inputs: list[Tensors]
    wanted: list[torch.Tensor]
    answer: ExecutorchAnswer | None = None

    @property
    def flat(self) -> bool:
        """Whether it has no submodules."""
        return not any(hasattr(node.target, "cacheable") for node in self.program.graph.nodes)


@dataclass
class Lowered:
    """A program, the bytes of each memory, and the bytes of tensors in memory 2."""

    buffer: bytes
    sizes: list[int]
    spilled: int


def subject(name: str) -> Subject:
    module, first = made(MODELS[name])
    program = export(module, first)
    second = tuple(-x if x.is_floating_point() else x.flip(-1) for x in first)
    return Subject(name, program, [first, second], eager(MODELS[name], [first, second]))


def made(make: Callable[[], Made]) -> Made:
    torch.manual_seed(0)
    module, inputs = make()
    return module.requires_grad_(False), inputs


def eager(make: Callable[[], Made], inputs: Sequence[Tensors]) -> list[torch.Tensor]:
    module, _ = made(make)
    outputs: list[torch.Tensor] = []
    for each in inputs:
        for _ in range(2):
            found = module(*each)
            outputs += [x.clone() for x in (found if isinstance(found, tuple) else (found,))]
    return outputs


def lowered(of: Subject, planning: MemoryPlanningPass) -> Lowered:
    program = to_edge(of.program).to_executorch(ExecutorchBackendConfig(memory_planning_pass=planning))
    graph = program.exported_program().graph_module
    specs = {id(s): s for node in graph.graph.nodes for s in get_node_tensor_specs(node) if s.mem_id == 2}
    spilled = sum(spec.allocated_memory for spec in specs.values() if spec.storage_base is None)
    return Lowered(program.buffer, graph.meta["non_const_buffer_sizes"], spilled)


def ran(of: Subject, program: Lowered) -> list[torch.Tensor]:
    """The outputs of every input, run twice."""
    method = Runtime.get().load_program(program.buffer).load_method("forward")
    return [x.clone() for each in of.inputs for _ in range(2) for x in method.execute(list(each))]


def verdict(of: Subject, outputs: Sequence[torch.Tensor]) -> str:
    pairs = zip(outputs, of.wanted, strict=True)
    return "equal" if all(torch.allclose(x, y, TOLERANCE, TOLERANCE) for x, y in pairs) else "**wrong**"


def demand_equal(of: Subject, outputs: Sequence[torch.Tensor]) -> str:
    if verdict(of, outputs) != "equal":
        raise AssertionError(f"{of.name}: outputs with our plan differ from PyTorch's")
    return "equal"


class WithOthers:
    """Our planner, after the others have planned the same tensors; ``sizes`` has their bytes."""

    def __init__(self) -> None:
        self.planner = ExecutorchPlanner()
        self.sizes: list[int] = []

    def __call__(self, alignment, specs, graph_module, graph_signature, extra_padding):
        given = (alignment, specs, graph_module, graph_signature, extra_padding)
        config = MemoryConfig([PLENTY], [alignment])
        self.sizes = [
            sum(greedy(*given, allow_overlapping_allocations=False).bufsizes),
            sum(greedy(*given).bufsizes),
        ]
        if not any(graph_module.input_mem_buffer_sizes):
            lone = Problem(tuple(buffers(specs)))
            if executorch_greedy(lone).peak(lone) + extra_padding != self.sizes[1]:
                raise AssertionError("our twin of greedy differs")
            for kind in (PositionBasedGreedyWithHierarchy, GreedyWithHeuristic):
                self.sizes.append(sum(kind(config, CompileMode.MINIMAL)(*given)))
                for spec in specs:
                    spec.mem_id = spec.mem_offset = spec.mem_obj_id = None
        return self.planner(*given)


def buffers(specs) -> Iterator[Buffer]:
    for number, spec in enumerate(specs):
        life = Interval(spec.lifetime[0], spec.lifetime[1] + 1)
        yield Buffer(str(number), spec.allocated_memory, (life,))


def one_memory(of: Subject) -> tuple[str, float]:
    """A row of the first table, and the share that is saved on the smallest other plan."""
    both = WithOthers()
    ours, own = lowered(of, MemoryPlanningPass(both)), lowered(of, MemoryPlanningPass())
    of.answer = both.planner.answers[-1]
    others = both.sizes if of.flat else [sum(own.sizes)]
    cells = [f"{size:,}" for size in others] if of.flat else ["", f"{others[0]:,}", "", ""]
    with_own, with_ours = ran(of, own), ran(of, ours)
    bits = all(torch.equal(x, y) for x, y in zip(with_ours, with_own, strict=True))
    total, bound = sum(ours.sizes), sum(of.answer.lower_bounds)
    saved = 1 - total / min(others)
    words = (verdict(of, with_own), demand_equal(of, with_ours), "to the bit" if bits else "no")
    cells += [f"{total:,}", f"{bound:,}", f"{saved:.1%}", *words]
    return f"| {of.name} | {of.answer.tensors} | {' | '.join(cells)} |", saved


def two_memories(of: Subject) -> str:
    """A row of the second table."""
    assert of.answer is not None
    fast = int(sum(of.answer.lower_bounds) * FAST_SHARE) // ALIGNMENT * ALIGNMENT
    planner = ExecutorchPlanner((ExecutorchMemory("fast", 1, fast), ExecutorchMemory("slow", 2, PLENTY)))
    target = TargetMemoryMap([Bank("fast", fast, 1), Bank("slow", PLENTY, 2)])
    banked, ours = lowered(of, banked_memory_planning_pass(target)), lowered(of, MemoryPlanningPass(planner))
    found = planner.answers[-1]
    # A method with submodules has tensors that are not in its graph: those are not counted.
    spilled = f"{banked.spilled:,}" if of.flat else ""
    figures = (found.spilled_bytes, found.spilled_bound, banked.sizes[2], ours.sizes[2])
    words = (verdict(of, ran(of, banked)), demand_equal(of, ran(of, ours)))
    return f"| {of.name} | {fast:,} | {spilled} | {' | '.join((*(f'{n:,}' for n in figures), *words))} |"


def main(argv: Sequence[str] | None = None) -> None:
    """Print both tables as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("models", nargs="*", help=f"of {', '.join(MODELS)}")
    names = parser.parse_args(argv).models or list(MODELS)
    second: list[str] = []
    theirs = "one in an object | greedy | Cadence, position | Cadence, gaps"
    print(f"| model | tensors | {theirs} | ours | bound | saved | outputs: greedy | ours | same |")
    print("| --- |" + " ---: |" * 8 + " --- |" * 3, flush=True)
    saved: list[float] = []
    proven = 0
    for name in names:
        each = subject(name)
        row, share = one_memory(each)
        print(row, flush=True)
        saved.append(share)
        proven += each.answer is not None and each.answer.optimal
        second.append(two_memories(each))
    print(f"\n{len(names)} models, ours proven smallest on {proven}; saved on the smallest other plan:")
    print(f"median {median(saved):.1%}, most {max(saved):.1%}, least {min(saved):.1%}.\n")
    spilled = "spilled by banked greedy | by ours | bound | slow memory: banked greedy | ours"
    print(f"| model | fast memory | {spilled} | outputs: banked greedy | ours |")
    print("| --- |" + " ---: |" * 6 + " --- |" * 2, flush=True)
    print("\n".join(second))


if __name__ == "__main__":
    main()
