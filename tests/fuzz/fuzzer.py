"""What a module of this folder offers to the runner."""

from argparse import ArgumentParser
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

Check = Callable[[int], Counter[str]]
"""Try one seed: what was seen, by name. Raises AssertionError (``Fault``, too) where something is wrong."""


class Fault(AssertionError):
    """Something is wrong; the message says with which seed and options."""


class Fuzzer(Protocol):
    """A module that searches for faults: with a ``check`` of one seed, or with options."""

    COUNT: int
    """Seeds to try by default."""


class PlainFuzzer(Fuzzer, Protocol):
    """A search without options."""

    check: Check


@runtime_checkable
class AdjustableFuzzer(Fuzzer, Protocol):
    """A search with options."""

    def search(self, parser: ArgumentParser, arguments: Sequence[str]) -> Check:
        """The check, with the options that ``arguments`` set; the search adds its own to ``parser``."""
        ...
