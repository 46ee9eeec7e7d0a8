"""The catalogue of built-in networks: their publications, options, and published MACs and parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from chipmodel.errors import BadInput, UnknownSize
from chipmodel.files.suggestions import cut, shown, suggest
from chipmodel.records import dataclass

if TYPE_CHECKING:
    from workloads.build.builder import ProgramBuilder

FOLDER = Path(__file__).with_name("networks")
GROUPS = ("classic", "measured", "detectors", "control_flow", "language", "layered")
"""The files of the catalogue: read one by one, as all together take 4 ms."""
OptionValue = int | float | str
"""The value of an option, of the same type as its default."""


@dataclass(frozen=True, slots=True)
class NetworkOption:
    """One ``key=value`` of a zoo URL; ``choices``, where given, replace the range."""

    default: OptionValue
    description: str
    minimum: int | float = 1
    maximum: int | float | None = None
    choices: tuple[OptionValue, ...] = ()

    @property
    def domain(self) -> str:
        """The accepted values, for messages."""
        if self.choices:
            return f"one of {', '.join(map(str, self.choices))}"
        kind = "a whole number" if isinstance(self.default, int) else "a number"
        upper = f"from {self.minimum} to {self.maximum}"
        return f"{kind} {upper if self.maximum is not None else f'of at least {self.minimum}'}"

    def read(self, text: str) -> OptionValue | None:
        """The value of ``text``, None where it is not accepted."""
        value = _read_as(self.default, text)
        if value is None or (self.choices and value not in self.choices):
            return None
        if self.choices or isinstance(value, str):
            return value
        above = self.maximum is not None and value > self.maximum
        return None if above or value < self.minimum else value


def _read_as(default: OptionValue, text: str) -> OptionValue | None:
    if isinstance(default, str):
        return text
    try:
        value = int(text) if isinstance(default, int) else float(text)
    except ValueError:
        return None
    # Python reads 1_000 and nan as numbers; here they are mistakes.
    return value if "_" not in text and isfinite(value) else None


@dataclass(frozen=True, slots=True)
class BuiltInNetwork:
    """One entry of the catalogue. ``macs`` and ``parameters`` are published figures for the default options:
    a number as its source prints it and, after a comma, what that source counts.

    The program's own ``parameters`` count one bias per channel where BatchNorm was folded.
    """

    name: str
    title: str
    source: str
    build: Callable[..., None]
    options: Mapping[str, NetworkOption]
    macs: str
    parameters: str

    def read_options(self, texts: Mapping[str, str]) -> dict[str, OptionValue]:
        """The values of all options, by default for those not in ``texts``. Raises BadInput."""
        for key in texts:
            if key not in self.options:
                raise self._unknown(key)
        return {
            key: self._read(key, texts[key]) if key in texts else option.default
            for key, option in self.options.items()
        }

    def _read(self, key: str, text: str) -> OptionValue:
        option = self.options[key]
        value = option.read(text)
        if value is None:
            what = f"zoo:{self.name}: {key}={cut(text)} is not {option.domain}"
            raise BadInput(what, hint=f"{key} is {option.description}; by default {option.default}")
        return value

    def _unknown(self, key: str) -> UnknownSize:
        defaults = ", ".join(f"{k}={o.default}" for k, o in self.options.items())
        hint = suggest(key, self.options, "its options are")
        return UnknownSize(
            f"zoo:{self.name} has no option {shown(key)}", hint=f"{hint}; by default {defaults}"
        )


def layered(entry: Mapping[str, Any]) -> Callable[..., None]:
    """Return the function that appends the ``layers`` of a network."""

    def build(net: ProgramBuilder, **values: OptionValue) -> None:
        import_module("workloads.zoo.layered").append(net, entry, values)

    return build


@cache
def group(name: str) -> tuple[BuiltInNetwork, ...]:
    """The networks of one of ``GROUPS``."""
    shared = _read("options")
    return tuple(_network(network, entry, shared) for network, entry in _read(name).items())


def entry(group: str, name: str) -> Mapping[str, Any]:
    """What one of ``GROUPS`` says of a network."""
    return cast("Mapping[str, Any]", _read(group)[name])


@cache
def _read(name: str) -> Mapping[str, Any]:
    from chipmodel.files.yaml_file import read_yaml  # imports yaml

    file = FOLDER / f"{name}.yaml"
    return cast("Mapping[str, Any]", read_yaml(file.read_text(encoding="utf-8"), str(file)).data)


def _network(name: str, entry: Mapping[str, Any], shared: Mapping[str, Any]) -> BuiltInNetwork:
    return BuiltInNetwork(
        name,
        entry["title"],
        entry["source"],
        layered(entry),
        {key: _option(given, shared.get(key, {})) for key, given in entry["options"].items()},
        entry["macs"],
        entry["parameters"],
    )


def _option(given: Any, shared: Mapping[str, Any]) -> NetworkOption:
    fields: dict[str, Any] = {**shared, **(given if isinstance(given, dict) else {"default": given})}
    fields["choices"] = tuple(fields.get("choices", ()))
    return NetworkOption(**fields)
