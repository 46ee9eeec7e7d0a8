"""What was planned for one ExecuTorch method."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ExecutorchAnswer:
    """The plan of one method, submodules included.

    ``sizes`` has the bytes of each memory by ``mem_id`` (0 is for constants), and no plan with the same
    tensors in each memory has less than ``lower_bounds``. ``spilled_bytes`` adds up, over all tensors that
    may lie in any memory, their bytes times the memories listed before theirs; no plan has less than
    ``spilled_bound``.
    """

    sizes: tuple[int, ...]
    lower_bounds: tuple[int, ...]
    tensors: int
    buffers: int
    """Tensors that share bytes by design, such as aliases, count once."""
    spilled_bytes: int = 0
    spilled_bound: int = 0

    @property
    def optimal(self) -> bool:
        """Whether no plan spills fewer bytes, nor takes fewer with the same tensors in each memory."""
        return self.sizes == self.lower_bounds and self.spilled_bytes == self.spilled_bound
