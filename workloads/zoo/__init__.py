"""Published networks, built layer by layer as in their reference implementations.

BatchNorm is folded into the convolution or dense layer before it (one bias per channel), activations are
fused, residual additions are ``add`` ops, and a reshape or flatten is a view. The batch is 1. The catalogue
is read when a network is first asked for. It has the layers as words (``layered``).
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import TYPE_CHECKING

from chipmodel.errors import BadInput
from chipmodel.files.suggestions import shown, suggest
from workloads.zoo import catalogue
from workloads.zoo.catalogue import BuiltInNetwork, OptionValue

if TYPE_CHECKING:
    from chipmodel.model.program import Program

SCHEME = "zoo:"
DEFAULT_DTYPE = "int8"

_NO_OPTIONS: Mapping[str, str] = {}


def networks(*groups: str) -> tuple[BuiltInNetwork, ...]:
    """Return the built-in networks of these groups of the catalogue, by default of all, sorted by name."""
    members = map(catalogue.group, groups or catalogue.GROUPS)
    return tuple(sorted(chain.from_iterable(members), key=lambda network: network.name))


def chosen(
    name: str, options: Mapping[str, str] = _NO_OPTIONS
) -> tuple[BuiltInNetwork, dict[str, OptionValue]]:
    """Return a built-in network and the values of its options. Raises BadInput for an unknown network or
    option, and for a value outside its range."""
    every = chain.from_iterable(map(catalogue.group, catalogue.GROUPS))
    network = next((each for each in every if each.name == name), None)
    if network is None:
        hint = suggest(name, [each.name for each in networks()], "the built-in networks are")
        raise BadInput(f"there is no built-in network {shown(name)}", hint=hint)
    return network, network.read_options(options)


def build(name: str, options: Mapping[str, str] = _NO_OPTIONS, dtype: str | None = None) -> Program:
    """The program of a built-in network; ``dtype``, by default int8, is that of activations and weights.

    Raises BadInput as ``chosen`` does, and for an unknown dtype.
    """
    from workloads.build.builder import ProgramBuilder  # nothing of it for a name that is unknown

    network, values = chosen(name, options)
    net = ProgramBuilder(network.name, dtype or DEFAULT_DTYPE, network.source)
    changed = [f"{k}={v}" for k, v in values.items() if v != network.options[k].default]
    if changed:
        net.notes.append(f"built with {', '.join(changed)}: the published figures do not apply")
    network.build(net, **values)
    return net.build()


def parse_zoo_url(url: str) -> tuple[str, dict[str, str]]:
    """Split ``zoo:NAME?key=value&key=value`` into name and options, without a check that they exist.

    Raises BadInput for text of another form, and for an option given twice.
    """
    if not url.startswith(SCHEME):
        raise _bad_url(url, f"does not start with {SCHEME!r}")
    name, mark, query = url[len(SCHEME) :].partition("?")
    if not name:
        raise _bad_url(url, "names no network")
    options: dict[str, str] = {}
    for pair in query.split("&") if mark else ():
        key, equals, value = pair.partition("=")
        if not (key and equals and value):
            raise _bad_url(url, f"has {pair!r} where key=value should be")
        if key in options:
            raise _bad_url(url, f"gives the option {key!r} twice")
        options[key] = value
    return name, options


def _bad_url(url: str, problem: str) -> BadInput:
    return BadInput(
        f"{shown(url)} {problem}", hint="write it as zoo:resnet8 or zoo:resnet8?input=64&classes=2"
    )
