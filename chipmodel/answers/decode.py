"""What a language model costs on a chip by the length of its context."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TimedRun:
    """A planned and simulated run, in cycles of the core clock; ``bound`` is proven for every plan."""

    cycles: int
    bound: int

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
    peak: int
    resident: tuple[tuple[str, int], ...]
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
        return sum(size for _, size in self.resident)


@dataclass(frozen=True, slots=True)
class ContextLength:
    """A length of the context: a prompt of so many tokens at once (``prefill``), and the token that is the
    last of so many. None is a run that does not fit; the first token finds no cache, so the prompt of one
    token stands for it."""

    tokens: int
    prefill: TimedRun | None
    token: TokenRun | None


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

    def milliseconds(self, cycles: int) -> float:
        """The time of ``cycles``."""
        return cycles / (self.core_mhz * 1e3)

    def per_second(self, token: TokenRun) -> float:
        """Tokens a second in the steady state."""
        return self.core_mhz * 1e6 / token.further

    @property
    def fits(self) -> bool:
        """Whether there is a plan at every length."""
        return all(each.prefill and (each.token or each.tokens == 1) for each in self.lengths)
