"""``ExecutorchPlanner``: memory planning for ExecuTorch by chipmodel's packers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from weakref import WeakKeyDictionary, ref

from chipmodel.errors import BadInput
from chipmodel.executorch.graphs import FxModule, PlannedSpec, bytes_owner
from chipmodel.executorch.linear_order import PlacedGraph, laid_out
from chipmodel.executorch.lives import spec_lives
from chipmodel.executorch.placement import ExecutorchAnswer, StoragePlace, placed
from chipmodel.executorch.storage import ExecutorchMemory, SharedStorage, checked_memories, storages
from solvers.core.outcome import Limits

CPU = "CPU"
DEFAULT_PACKER = "auto"


class ExecutorchPlanner:
    """A ``memory_planning_algo`` for ExecuTorch's ``MemoryPlanningPass``.

    Without ``memories`` a tensor lies in memory 1, or where a pass before gave it a ``mem_id``, there, and
    each memory is made as small as ``packer`` makes it within ``limits``. With ``memories``, the best one
    first, each tensor without a ``mem_id`` is placed so that no memory exceeds its bytes and the tensors
    beyond the first memory have as few bytes as possible; a memory that is not listed gets only what has its
    number. All bytes include what ExecuTorch adds as padding.

    A method's graph and its submodules (``cond``, ``while_loop``, ``map``, ``scan``) are planned together.
    ``answers`` has one for each method planned so far. Raises BadInput for what cannot be planned, and
    DoesNotFit.
    """

    def __init__(
        self,
        memories: Sequence[ExecutorchMemory] = (),
        packer: str = DEFAULT_PACKER,
        limits: Limits | None = None,
    ) -> None:
        self.memories = checked_memories(memories)
        self.packer = packer
        self.limits = limits
        self._specs: WeakKeyDictionary[FxModule, list[PlannedSpec]] = WeakKeyDictionary()
        self._pins: WeakKeyDictionary[PlannedSpec, int | None] = WeakKeyDictionary()
        self._answers: list[tuple[ref[FxModule], ExecutorchAnswer]] = []

    @property
    def answers(self) -> tuple[ExecutorchAnswer, ...]:
        """The plans so far, in order; a submodule's is part of its method's."""
        return tuple(answer for _, answer in self._answers)

    def __call__(
        self,
        alignment: int,
        specs: Iterable[PlannedSpec],
        graph_module: FxModule,
        graph_signature: object = None,
        extra_padding: int = 0,
    ) -> list[int]:
        """Write ``mem_id``, ``mem_offset`` and ``mem_obj_id`` of all specs; return the bytes of each memory.

        ExecuTorch calls this for submodules first. What is then planned for a submodule counts until its
        outer graph is planned, which plans it again.
        """
        own = list(dict.fromkeys(spec for each in specs if (spec := bytes_owner(each)) is not None))
        for spec in own:
            self._pins.setdefault(spec, spec.mem_id)
        if self._elsewhere(own):
            root = PlacedGraph.alone(graph_module)
            lives = spec_lives(root, lambda _: own, self._pins)
        else:
            self._specs[graph_module] = own
            root = laid_out(graph_module)
            self._refuse_unknown(root)
            lives = spec_lives(root, lambda module: self._specs.get(module, ()), self._pins)
        buffers = storages(lives, self._pins, alignment)
        places, answer = placed(buffers, self.memories, extra_padding, self.packer, self.limits)
        self._write(root, buffers, places)
        inside = [run.module for run in root.all_runs()]
        for module in inside[1:]:
            module.meta["non_const_buffer_sizes"] = list(answer.sizes)
        self._answers = [(of, each) for of, each in self._answers if not any(of() is m for m in inside)]
        self._answers.append((ref(root.module), answer))
        return list(answer.sizes)

    def _elsewhere(self, specs: Sequence[PlannedSpec]) -> bool:
        """Whether the specs are of another device than the CPU, whose memory is not in ``memories``."""
        devices = {getattr(getattr(spec, "device", None), "name", CPU) for spec in specs} - {CPU}
        if devices and self.memories:
            raise BadInput(
                f"there are tensors of device {', '.join(sorted(devices))}",
                hint="memories are those of the CPU; plan other devices without them",
            )
        return bool(devices)

    def _refuse_unknown(self, root: PlacedGraph) -> None:
        """Raise BadInput where memory was planned for a submodule that is not known here."""
        reserved = getattr(root.module, "input_mem_buffer_sizes", None) or ()
        if any(reserved) and not any(run.module in self._specs for run in root.all_runs() if run is not root):
            raise BadInput(
                f"submodules with {sum(reserved):,} bytes were not planned by this planner",
                hint="pass one planner to MemoryPlanningPass, for all graphs of a method",
            )

    def _write(
        self, root: PlacedGraph, buffers: Sequence[SharedStorage], places: Sequence[StoragePlace]
    ) -> None:
        """Give every spec its place; none to placeholders that are values of the graph outside."""
        for run in root.all_runs():
            for spec in run.bound:
                if spec in self._pins:
                    spec.mem_id, spec.mem_offset, spec.mem_obj_id = self._pins[spec], None, None
        for each, place in zip(buffers, places, strict=True):
            for spec, offset in each.specs:
                spec.mem_id, spec.mem_offset = place.mem_id, place.offset + offset
                spec.mem_obj_id = place.object_id
