"""Ways to break the JSON document of a right plan, each in one place.

Every key of every object is changed, exchanged with that of another object of the same kind, and left out;
every object gets a key too many; of every list an item is dropped, doubled, or changes places with the next
one. A break that may leave the plan right is not made: each exception below says why it is one.
"""

import json
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from random import Random
from typing import Any, NamedTuple

from tests.fuzz.plan_objects import Document, Object, bodies, commands, objects, places


class Break(NamedTuple):
    """A way to break a document: its name, and what does it in place. It may leave the document as it is."""

    name: str
    apply: Callable[[], None]


def breaks(document: Document, random: Random) -> Iterator[Break]:
    """All ways to break ``document``, one for each kind of object and key; ``random`` chooses where."""
    kinds: dict[str, list[Object]] = {}
    for kind, each in objects(document):
        kinds.setdefault(kind, []).append(each)
    for kind, found in kinds.items():
        for key in sorted({key for each in found for key in each}):
            yield from _key_breaks(kind, key, [each for each in found if key in each], random)
        yield Break(f"{kind}: a key too many", partial(_add_key, found, random))
    yield from _command_breaks(document, random)


def _add_key(found: list[Object], random: Random) -> None:
    random.choice(found)["unknown"] = 1


# -- keys ------------------------------------------------------------------------------------------


def _key_breaks(kind: str, key: str, found: list[Object], random: Random) -> Iterator[Break]:
    name = f"{kind}.{key}"

    def change() -> None:
        each = random.choice(found)
        each[key] = _changed(each[key], random)

    def exchange() -> None:
        a, b = random.choice(found), random.choice(found)
        if not _harmless_exchange(kind, key, a, b):
            a[key], b[key] = b[key], a[key]

    def leave_out() -> None:
        each = random.choice(found)
        if not _harmless_without(kind, key, each, found):
            del each[key]

    def items(what: str) -> Callable[[], None]:
        def act() -> None:
            owners = [each for each in found if isinstance(each[key], list) and each[key]]
            if owners:
                _change_items(what, random.choice(owners), key, f"{kind}.{key}", random)

        return act

    yield Break(f"{name}: changed", change)
    yield Break(f"{name}: exchanged", exchange)
    yield Break(f"{name}: left out", leave_out)
    if any(isinstance(each[key], list) for each in found):
        yield from (Break(f"{name}: item {what}", items(what)) for what in ("dropped", "doubled", "swapped"))


def _changed(value: Any, random: Random) -> object:
    same: object = value
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + random.choice((-64, -16, -1, 1, 16, 64))
    if isinstance(value, str):
        return f"{value}x"
    if isinstance(value, list) and value:
        items: list[Any] = [*value]
        index = random.randrange(len(items))
        items[index] = _changed(items[index], random)
        return items
    return same


def _harmless_exchange(kind: str, key: str, a: Object, b: Object) -> bool:
    """Waits of one step may come in any order: exchanging their names exchanges the waits. So may the entries
    of the table of Psram, of which several may have one place. What a transfer moves may be said in several
    ways: all of 4 channels are all of 1."""
    if kind == "psram":
        return bool(a["home"] == b["home"])
    if kind == "dma_start.at" and key in ("rows", "channels", "columns"):
        return _fractions(a[key]) == _fractions(b[key])
    return kind == "dma_wait" and key == "dma_wait" and a["op"] == b["op"]


def _fractions(axis: list[int]) -> tuple[Fraction, Fraction]:
    """Where a share begins and ends on one axis."""
    start, stop, of = axis
    return Fraction(start, of), Fraction(stop, of)


def _harmless_without(kind: str, key: str, each: Object, found: list[Object]) -> bool:
    """``order`` may be the workload's own; ``touches`` may be all of the place; what decides a branch
    may be in Psram, too; ``set`` may repeat what the chip has; a plan is right without its proofs, and
    without cascades whose ops all run at once."""
    if key == "touches":
        return bool(each["touches"] == [0, each["bytes"]])
    if key == "condition":  # which is then read from Psram, if it is there
        return True
    if key == "cascades":
        return all(is_only_a_name(each, cascade) for cascade in each[key])
    return key == "order" or (kind, key) == ("plan", "bounds")


OF_ANY_NUMBER = ("plan.set", "plan.bounds")
"""Lists of which an item may say what the chip has anyway, or what another one proves."""


def _change_items(what: str, owner: Object, key: str, name: str, random: Random) -> None:
    """An empty ``order`` is the workload's."""
    items: list[Any] = owner[key]
    index = random.randrange(len(items))
    if what == "dropped":
        only_a_name = key == "cascades" and is_only_a_name(owner, items[index])
        if not only_a_name and name not in OF_ANY_NUMBER and (name != "plan.order" or len(items) > 1):
            del items[index]
    elif what == "doubled":
        if name not in OF_ANY_NUMBER:
            items.insert(index, json.loads(json.dumps(items[index])))
    elif index + 1 < len(items) and not _in_any_order(name, items):
        items[index], items[index + 1] = items[index + 1], items[index]


def _in_any_order(name: str, items: list[Any]) -> bool:
    """Lists whose order says nothing, and commands, of which only some pairs depend on each other. Cores
    that never wait for one another may change places."""
    if name == "plan.cores":
        return not any("acquire" in c for core in items for c in commands(core["commands"]))
    if name.endswith(".commands"):
        return True
    return name in (*OF_ANY_NUMBER, "plan.psram", "plan.buffers", "cores.buffers")


# -- commands --------------------------------------------------------------------------------------


def _command_breaks(document: Document, random: Random) -> Iterator[Break]:
    """Commands in the other order than one needs of the other, and values that are wrong together."""
    pairs: dict[str, list[tuple[list[Object], int, int]]] = {}
    for body in bodies(document):
        for i, first in enumerate(body):
            for j in range(i + 1, min(i + 12, len(body))):
                if "branch" in body[j] or "repeat" in body[j]:
                    break
                what = _dependence(first, body[j])
                if what:
                    pairs.setdefault(what, []).append((body, i, j))

    for what, found in pairs.items():
        yield Break(f"commands: {what}", partial(_swap, found, random))
    yield Break("buffers: offset off the alignment everywhere", lambda: _off_alignment(document, random))
    yield Break("psram: home beyond the end everywhere", lambda: _move_home(document, random, 1 << 40))
    yield Break("psram: weights on other weights everywhere", lambda: _share_home(document, random))


def _swap(found: list[tuple[list[Object], int, int]], random: Random) -> None:
    body, i, j = random.choice(found)
    body[i], body[j] = body[j], body[i]


def _dependence(first: Object, second: Object) -> str:
    """Why ``second`` must not come before ``first``; empty where it may."""
    if "dma_start" in first and second.get("dma_wait") == first["dma_start"]:
        return "wait before its transfer"
    if "compute" in first and "compute" in second:
        return "steps in the other order"
    if "dma_wait" in first and "compute" in second and first["op"] == second["op"]:
        return "step before its wait"
    if "compute" in first and second.get("direction") == "store":
        return "store before its step"
    return _dependence_of_cores(first, second)


def _dependence_of_cores(first: Object, second: Object) -> str:
    if "acquire" in first and second.get("at", {}).get("tensor") == first["acquire"]:
        return "load before its acquire"
    if "release" in second and first.get("at", {}).get("tensor") == second["release"]:
        return "release before its store"
    return ""


def _off_alignment(document: Document, random: Random) -> None:
    if document["alignment"] == 1:
        return
    core = random.choice(document.get("cores", [document]))
    if not core["buffers"]:
        return
    buffer = random.choice(core["buffers"])
    buffer["offset"] += 1
    for place in places(core["commands"]):
        if place["buffer"] == buffer["name"]:
            place["offset"] += 1


def _move_home(document: Document, random: Random, by: int) -> None:
    """Move everything that lies at one place in Psram, and every command that moves it."""
    homes = [tuple(each["home"]) for each in document["psram"] if each["home"][0] < each["home"][1]]
    if homes:
        _rehome(document, random.choice(homes), by)


def _share_home(document: Document, random: Random) -> None:
    """Move the weights of one op onto those of another op."""
    weights = [each for each in document["psram"] if "weights_of" in each]
    homes = sorted({tuple(each["home"]) for each in weights if each["home"][0] < each["home"][1]})
    if len(homes) > 1:
        a, b = random.sample(homes, 2)
        _rehome(document, a, b[0] - a[0])


def _rehome(document: Document, home: tuple[int, ...], by: int) -> None:
    for found in objects(document):
        if tuple(found.object.get("home", ())) == home:
            found.object["home"] = [home[0] + by, home[1] + by]
            if "psram" in found.object:
                found.object["psram"] += by


def _takes_turns(core: Object, op: str) -> bool:
    """Whether an op has several steps: one with a single step could as well run on its own."""
    steps = [each for each in commands(core["commands"]) if "compute" in each and each["op"] == op]
    return len(steps) > 1


def _tells(core: Object, cascade: Object) -> bool:
    """Whether something else says which ops a cascade has: a block of weights with its name, or a rolling
    buffer. One in which each op has a single step may be called two."""
    loads = (each["at"] for each in commands(core["commands"]) if "dma_start" in each)
    return bool(cascade["rolls"]) or any(place.get("weights_of") == cascade["name"] for place in loads)


def is_only_a_name(core: Object, cascade: Object) -> bool:
    """Whether a plan is as right without a cascade: each op has a single step, and nothing else says which
    ops it has."""
    return not (_tells(core, cascade) or any(_takes_turns(core, op) for op in cascade["ops"]))
