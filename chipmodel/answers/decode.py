"""What a language model costs on a chip by the length of its context."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from chipmodel.records import dataclass


@dataclass(frozen=True, slots=True)
class TimedRun:
    """A planned and simulated run, in cycles of the core clock; ``bound`` is proven for every plan."""

    cycles: int
    bound: int
    milliseconds: float

    @property
    def gap(self) -> float:
        """How far the cycles are above the bound, as a share of it."""
        return self.cycles / self.bound - 1 if self.bound else 0.0


@dataclass(frozen=True, slots=True)
class TokenRun:
    """Several tokens one after another at one length: ``run`` is all of them, ``first`` the cycles of the
    first, which finds no weights loaded, ``further`` those of the last."""

    tokens: int
    run: TimedRun
    first: int
    further: int
    milliseconds: float
    """Those of ``further``."""
    per_second: float
    """Tokens a second in the steady state."""
    peak: int
    resident: Mapping[str, int]
    """Bytes of weights that stay in SharedMemory for all tokens, by op."""
    cache: int
    """Bytes of keys and values that the token finds."""
    cache_off_chip: int
    """Those of them that are in Psram while other layers run."""
    loaded_weights: int
    """Bytes that the last token loads."""
    moved_tensors: int
    """Bytes of tensors that the last token loads and stores."""

    @property
    def resident_bytes(self) -> int:
        """Bytes of weights that stay in SharedMemory for all tokens."""
        return sum(self.resident.values())


@dataclass(frozen=True, slots=True)
class ContextLength:
    """A length of the context: a prompt of so many tokens at once (``prefill``), and the token that is the
    last of so many. None is a run that does not fit; the first token finds no cache, so the prompt of one
    token stands for it."""

    tokens: int
    prefill: TimedRun | None
    token: TokenRun | None
    KEYS: ClassVar = (
        *("context=tokens", "prefill_cycles=prefill.cycles", "prefill_bound_cycles=prefill.bound"),
        *("prefill_milliseconds=prefill.milliseconds", "token_cycles=token.further"),
        *("token_milliseconds=token.milliseconds", "tokens_per_second=token.per_second"),
        *("first_token_cycles=token.first", "run_tokens=token.tokens", "run_cycles=token.run.cycles"),
        *("run_bound_cycles=token.run.bound", "peak_bytes=token.peak", "resident_bytes=token.resident_bytes"),
        *("cache_bytes=token.cache", "cache_in_psram_bytes=token.cache_off_chip"),
        *("loaded_weight_bytes=token.loaded_weights", "moved_tensor_bytes=token.moved_tensors", "resident"),
    )

    @property
    def resident(self) -> list[dict[str, object]]:
        """The weights that stay, op by op."""
        return [{"op": op, "bytes": kept} for op, kept in self.token.resident.items()] if self.token else []


@dataclass(frozen=True, slots=True)
class DecodeAnswer:
    """A language model on a chip by the length of its context, from the shortest to the longest."""

    model: str
    chip: str
    core_mhz: float
    capacity: int
    """Bytes of SharedMemory."""
    weight_bytes: int
    lengths: tuple[ContextLength, ...]
    notes: tuple[str, ...] = ()
    reason: str = ""
    """The reason why no length fits, as far as it is known."""

    FORMAT: ClassVar = "chipmodel-decode/1"
    KEYS: ClassVar = (
        *("model", "chip", "core_mhz", "shared_memory_bytes=capacity", "weight_bytes", "fits", "lengths"),
        "notes=remarks",
    )

    @property
    def remarks(self) -> tuple[str, ...]:
        """The notes, and why no length fits."""
        return (*self.notes, *filter(None, [self.reason]))

    @property
    def fits(self) -> bool:
        """Whether there is a plan at every length."""
        return all(length.prefill and (length.token or length.tokens == 1) for length in self.lengths)
