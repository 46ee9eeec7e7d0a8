"""The last word of ``simulate`` and ``plan``: whether the plan fits, what is missing, what would help."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chipmodel.errors import EXIT_DOES_NOT_FIT, EXIT_DONE, EXIT_UNKNOWN
from chipmodel.terminal.printing import remark

if TYPE_CHECKING:
    from chipmodel.model.fit import Fit
    from chipmodel.model.plan import Solved


def verdict(fit: Fit, solved: Solved, cut_short: bool) -> int:
    """The exit code; where the plan does not fit, why and what to do is on stderr. ``cut_short`` where a time
    limit ended planning before something was proven."""
    if cut_short and not (fit.fits or fit.too_many_weights or solved.status == "infeasible"):
        remark("unknown: --time-limit came before a plan that fits\n  hint: a longer one")
        return EXIT_UNKNOWN
    for fault, hint in faults(fit, solved.planner):
        remark(f"does not fit: {fault}\n  hint: {hint}")
    return EXIT_DONE if fit.fits else EXIT_DOES_NOT_FIT


def faults(fit: Fit, packer: str) -> list[tuple[str, str]]:
    """What does not fit with a hint, for each memory that is too small; empty for a plan that fits."""
    said: list[tuple[str, str]] = []
    for need in fit.exceeded:
        larger = f"--set {need.field}={need.bytes}"
        amounts = f"{need.bytes:,} B of {need.capacity_bytes:,} B"
        if need.memory == "SharedMemory":
            what = f"packer {packer} needs {amounts}; that no other plan fits is not proven"
            said.append((what, f"another --packer or --streamer, or more memory: {larger}"))
        elif fit.too_many_weights:
            where = "Psram" if need.memory == "Psram" else "the memory of the weights"
            said.append(
                (
                    f"{where} needs {amounts}, and the weights alone take {fit.weight_bytes:,} B",
                    f"no plan fits; smaller weights (--dtype int8), or a larger one: {larger}",
                )
            )
        else:
            said.append(
                (
                    f"Psram needs {amounts}: weights of {fit.weight_bytes:,} B, and tensors",
                    f"a larger Psram: {larger}; or more SharedMemory, so that fewer tensors leave it",
                )
            )
    return said
