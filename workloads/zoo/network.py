"""What the catalogue says of a built-in network, and how the values of its options are read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from math import isfinite

from chipmodel.errors import BadInput
from chipmodel.files.suggestions import cut, shown, suggest
from workloads.build.builder import ProgramBuilder

Setting = int | float | str
"""The value of an option, of the same type as its default."""


@dataclass(frozen=True, slots=True)
class Option:
    """One ``key=value`` of a zoo URL; ``choices``, where given, replace the range."""

    default: Setting
    description: str
    minimum: int | float = 1
    maximum: int | float | None = None
    choices: tuple[Setting, ...] = ()

    @property
    def domain(self) -> str:
        """The accepted values in words."""
        if self.choices:
            return f"one of {', '.join(map(str, self.choices))}"
        kind = "a whole number" if isinstance(self.default, int) else "a number"
        upper = f"from {self.minimum} to {self.maximum}"
        return f"{kind} {upper if self.maximum is not None else f'of at least {self.minimum}'}"

    def read(self, text: str) -> Setting | None:
        """The value that ``text`` writes, None where it is none of the accepted ones."""
        value = _read_as(self.default, text)
        if value is None or (self.choices and value not in self.choices):
            return None
        if self.choices or isinstance(value, str):
            return value
        above = self.maximum is not None and value > self.maximum
        return None if above or value < self.minimum else value


def _read_as(default: Setting, text: str) -> Setting | None:
    if isinstance(default, str):
        return text
    try:
        value = int(text) if isinstance(default, int) else float(text)
    except ValueError:
        return None
    # Python reads 1_000 and nan as numbers; a user who writes them means something else.
    return value if "_" not in text and isfinite(value) else None


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure as its source prints it, and what that source counts."""

    printed: str
    counts: str


@dataclass(frozen=True, slots=True)
class Network:
    """One entry of the catalogue. ``macs`` and ``parameters`` are the figures of the default options.

    The program's own ``parameters`` count one bias a channel where BatchNorm was folded; what the
    published figures count instead is said in ``counts``.
    """

    name: str
    title: str
    source: str
    build: Callable[..., None]
    options: Mapping[str, Option]
    macs: Figure
    parameters: Figure

    def read_options(self, texts: Mapping[str, str]) -> dict[str, Setting]:
        """All options, those not in ``texts`` at their defaults. Raises BadInput."""
        for key in texts:
            if key not in self.options:
                raise self._unknown(key)
        return {
            key: self._read(key, texts[key]) if key in texts else option.default
            for key, option in self.options.items()
        }

    def _read(self, key: str, text: str) -> Setting:
        option = self.options[key]
        value = option.read(text)
        if value is None:
            raise BadInput(
                f"zoo:{self.name}: {key}={cut(text)} is not {option.domain}",
                hint=f"{key} is {option.description}; by default {option.default}",
            )
        return value

    def _unknown(self, key: str) -> BadInput:
        defaults = ", ".join(f"{k}={o.default}" for k, o in self.options.items())
        hint = suggest(key, self.options, "its options are")
        return BadInput(f"zoo:{self.name} has no option {shown(key)}", hint=f"{hint}; by default {defaults}")


def of_family(family: str, function: str) -> Callable[..., None]:
    """The builder ``function`` of ``workloads/zoo/<family>.py``, imported when it is first called.

    It is called with a ProgramBuilder and every option by keyword, ``input`` as ``size``.
    """

    def build(net: ProgramBuilder, **values: Setting) -> None:
        module = import_module(f"workloads.zoo.{family}")
        if "input" in values:
            values["size"] = values.pop("input")
        getattr(module, function)(net, **values)

    return build
