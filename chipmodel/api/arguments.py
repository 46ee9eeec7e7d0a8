"""Arguments of a wrong kind: refused as BadInput, with the name, the value and what would do."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import lru_cache, wraps
from inspect import Parameter, Signature, signature
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Any, Literal, ParamSpec, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from chipmodel.api.effort import TimeLimit
from chipmodel.api.settings import PlanOptions, PlanSettings
from chipmodel.errors import BadInput
from chipmodel.files.suggestions import shown, suggest

WRITTEN = re.compile(r"^ *\*\*options\n +Those of ``PlanOptions``\.\n", re.MULTILINE)
"""What the docstring of a function says of its options, which ``help`` shows one by one."""
_OPTIONS = (PlanOptions.__doc__ or "").partition("-\n")[2].rstrip(" ")
P = ParamSpec("P")
R = TypeVar("R")

_NUMBERS: Mapping[object, type] = {int: Integral, float: Real}
_PLAIN = (str, bool, int, float, NoneType, TimeLimit)


def checked(function: Callable[P, R]) -> Callable[P, R]:
    """Let ``function`` refuse arguments of a wrong kind as BadInput, and show its options by name.

    Words, numbers and functions are looked at before the call, as some are not used in every one. Sources and
    rows are looked at only once it has failed, so that what works is never refused.
    """
    return checked_with()(function)


def checked_with(**defaults: object) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return ``checked`` for a function with other ``defaults`` of its options than PlanSettings has."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        visible = _with_options(signature(function), defaults)

        @wraps(function)
        def call(*args: P.args, **keys: P.kwargs) -> R:
            if mistake := _mistake(function, visible, args, keys, _is_plain):
                raise mistake
            try:
                return function(*args, **keys)
            except (AttributeError, TypeError, ValueError) as error:
                if mistake := _mistake(function, visible, args, keys, lambda _: True):
                    raise mistake from error
                raise

        call.__signature__ = visible  # type: ignore[attr-defined]
        call.__doc__ = function.__doc__ and WRITTEN.sub(_OPTIONS, function.__doc__)
        return call

    return decorate


def _with_options(written: Signature, defaults: Mapping[str, object]) -> Signature:
    """``written`` with the fields of PlanSettings in place of ``**options``, some with other ``defaults``."""
    named = {name: each for name, each in written.parameters.items() if name != "options"}
    if len(named) == len(written.parameters):
        return written
    options = signature(PlanSettings).parameters.items()
    others = (
        each.replace(kind=Parameter.KEYWORD_ONLY, default=defaults.get(name, each.default))
        for name, each in options
    )
    return written.replace(parameters=[*named.values(), *others])


def _mistake(
    function: Callable[..., object],
    visible: Signature,
    args: Sequence[object],
    keys: Mapping[str, object],
    looked_at: Callable[[object], bool],
) -> BadInput | None:
    """What is wrong with the arguments of a call, if anything; only those ``looked_at`` by value."""
    known = visible.parameters
    anything = any(each.kind is Parameter.VAR_KEYWORD for each in known.values())
    for key in keys:
        if key not in known and not anything:
            hint = suggest(key, known, "arguments are")
            return BadInput(f"{function.__name__}() takes no argument '{key}'", hint=hint)
    try:
        given = visible.bind(*args, **keys).arguments
    except TypeError as error:
        return BadInput(
            f"{function.__name__}(): {error}", hint=f"call {function.__name__}({', '.join(known)})"
        )
    kinds = _hints(PlanSettings) | _hints(function)
    for name, value in given.items():
        looked = known[name].kind is not Parameter.VAR_KEYWORD and looked_at(kinds[name])
        if looked and not _is_a(value, kinds[name]):
            return BadInput(f"{name} is {shown(value)}", hint=f"{name} takes {_words(kinds[name])}")
    return None


_hints = lru_cache(maxsize=None)(get_type_hints)


def _is_plain(kind: Any) -> bool:
    """Whether values of a ``kind`` are words, numbers, functions or limits of time, which nothing else can
    stand for. Of some words a function says itself which it knows."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return all(map(_is_plain, inner))
    return origin is Callable or kind in _PLAIN


def _is_a(value: Any, kind: Any) -> bool:
    """Whether ``value`` is of the annotated ``kind``, with what it contains."""
    origin, inner = get_origin(kind), get_args(kind)
    if kind is Any or kind is object:
        return True
    if kind is bool:  # NumPy's own is none, by its class
        return isinstance(value, Integral) or str(getattr(value, "dtype", "")) == "bool"
    if origin is None:
        return isinstance(value, _NUMBERS.get(kind, kind))
    if origin is Literal:
        return value in inner
    if origin in (Union, UnionType):
        return any(_is_a(value, each) for each in inner)
    if not isinstance(value, origin):
        return False
    if issubclass(origin, Mapping):
        return all(_is_a(k, inner[0]) and _is_a(v, inner[1]) for k, v in value.items())
    return not isinstance(value, Collection) or all(_is_a(each, inner[0]) for each in cast("Any", value))


def _words(kind: Any) -> str:
    """The ``kind`` as a list of names."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Literal:
        return " or ".join(map(repr, inner))
    if origin in (Union, UnionType):
        return ", ".join(dict.fromkeys(map(_words, inner)))
    return "None" if kind is NoneType else str(getattr(origin or kind, "__name__", kind))
