"""Ways to break the cascades of a plan document in several places that agree with each other.

Each changes what it says, which steps run in which order, or where rows lie, and leaves a document without a
cascade as it is.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from random import Random

from tests.fuzz.plan_objects import Document, Object, bodies, commands, places


def _cascades(document: Document) -> list[tuple[Object, Object]]:
    """Every cascade with its core."""
    return [(core, each) for core in _cores(document) for each in core.get("cascades", ())]


def _cores(document: Document) -> list[Object]:
    found: list[Object] = document.get("cores", [document])
    return found


def _called(ops: list[str]) -> str:
    return f"{ops[0]}..{ops[-1]}"


# -- what it says ----------------------------------------------------------------------------------


def _split(document: Document, random: Random) -> None:
    """Say that one cascade is two."""
    long = [(core, each) for core, each in _cascades(document) if len(each["ops"]) > 3]
    if long:
        core, chosen = random.choice(long)
        at = random.randint(2, len(chosen["ops"]) - 2)
        if not _takes_turns(core, chosen["ops"][at - 1]) or not _tells(core, chosen):
            return
        halves = [chosen["ops"][:at], chosen["ops"][at:]]
        pieces = [{"name": _called(ops), "ops": ops, "rolls": chosen["rolls"]} for ops in halves]
        index = core["cascades"].index(chosen)
        core["cascades"][index : index + 1] = pieces


def _join(document: Document, random: Random) -> None:
    """Say that two cascades are one."""
    several = [core for core in _cores(document) if len(core.get("cascades", ())) > 1]
    if several:
        core = random.choice(several)
        listed = core["cascades"]
        index = random.randrange(len(listed) - 1)
        if not _tells(core, listed[index]):
            return
        ops = [*listed[index]["ops"], *listed[index + 1]["ops"]]
        listed[index : index + 2] = [{"name": _called(ops), "ops": ops, "rolls": listed[index]["rolls"]}]


def _extend(document: Document, random: Random) -> None:
    """Say that the next op is in the cascade. That would be as true where what it reads exists as a whole for
    others, too."""

    def extended(core: Object, ops: list[str]) -> list[str]:
        added = [op for op in _following(core, ops) if _only_for(document, core, ops[-1], op)]
        return [*ops, *added]

    _end(document, random, extended)


def _shorten(document: Document, random: Random) -> None:
    """Say that the last op is not in the cascade."""
    _end(
        document, random, lambda core, ops: ops[:-1] if len(ops) > 2 and _takes_turns(core, ops[-1]) else ops
    )


def _begin_later(document: Document, random: Random) -> None:
    """Say that the first op is not in the cascade."""
    _end(document, random, lambda core, ops: ops[1:] if len(ops) > 2 and _takes_turns(core, ops[0]) else ops)


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


def _end(document: Document, random: Random, change: Callable[[Object, list[str]], list[str]]) -> None:
    found = _cascades(document)
    if found:
        core, chosen = random.choice(found)
        ops = change(core, chosen["ops"]) if _tells(core, chosen) else chosen["ops"]
        if ops != chosen["ops"]:
            chosen["ops"], chosen["name"] = ops, _called(ops)


def _following(core: Object, ops: list[str]) -> list[str]:
    """The op whose steps come next, in a list that is empty where there is none."""
    run = [each["op"] for each in commands(core["commands"]) if "compute" in each]
    last = len(run) - 1 - run[::-1].index(ops[-1])
    taken = {name for each in core["cascades"] for name in each["ops"]}
    return [name for name in run[last + 1 : last + 2] if name not in taken]


def _invent(document: Document, random: Random) -> None:
    """Say that two ops are a cascade that each run at once."""
    core = random.choice(_cores(document))
    taken = {name for each in core.get("cascades", ()) for name in each["ops"]}
    runs = [each["op"] for each in commands(core["commands"]) if "compute" in each]
    pairs = [(a, b) for a, b in pairwise(dict.fromkeys(runs)) if a not in taken and b not in taken]
    pairs = [(a, b) for a, b in pairs if _only_for(document, core, a, b)]
    if pairs:
        ops = [*random.choice(pairs)]
        core.setdefault("cascades", []).append({"name": _called(ops), "ops": ops, "rolls": True})


def _only_for(document: Document, core: Object, maker: str, reader: str) -> bool:
    """Whether only ``reader`` reads what ``maker`` makes, so that it would lie in a rolling buffer."""
    steps = [each for each in commands(core["commands"]) if each.get("op") == maker and "compute" in each]
    made = {place["tensor"] for step in steps for place in step["writes"]}
    others = [c for each in _cores(document) for c in commands(each["commands"]) if c.get("op") != reader]
    moved = {c["at"].get("tensor") for c in others if "at" in c}
    read = {place.get("tensor") for c in others for place in (*c.get("reads", ()), c.get("condition", {}))}
    return bool(made) and made.isdisjoint(moved | read)


def _other_kind(document: Document, random: Random) -> None:
    """Say of a rolling buffer everywhere that it does not roll, or of a buffer with rows that it does."""
    found = _cascades(document)
    if found:
        core, chosen = random.choice(found)
        if not _shows_its_kind(core, chosen):
            return
        chosen["rolls"] = not chosen["rolls"]
        for place in _places_of_rows(core, chosen):
            if chosen["rolls"]:
                place["rolls"] = True
            else:
                place.pop("rolls", None)


def _shows_its_kind(core: Object, cascade: Object) -> bool:
    """Whether rows lie where only a rolling buffer has them, or are computed again: stripes without a halo
    are the same in both."""
    if cascade["rolls"]:
        return any(place["touches"][0] for place in _places_of_rows(core, cascade))
    steps = [each for each in commands(core["commands"]) if each.get("op") in cascade["ops"]]
    rows = Counter[tuple[str, int]]()
    for step in (each for each in steps if "compute" in each):
        rows.update((step["op"], row) for row in range(*step["rows"]))
    return any(times > 1 for times in rows.values())


def _places_of_rows(core: Object, cascade: Object) -> Iterator[Object]:
    """The places of the rows of tensors inside a cascade."""
    steps = [each for each in commands(core["commands"]) if each.get("op") in cascade["ops"]]
    moved = {each["at"].get("tensor") for each in steps if "at" in each}
    made = {place["tensor"] for step in steps for place in step.get("writes", ())} - moved
    for place in places(steps):
        if (
            place.get("tensor") in made
            and "touches" in place
            and "rows" in place
            and not place.get("in_tensor")
        ):
            yield place


# -- where rows lie --------------------------------------------------------------------------------


def _row_short(document: Document, random: Random) -> None:
    """A buffer for rows that is one row short, and touches that are right for its size."""
    _resize(document, random, lambda size, row: size - row)


def _byte_short(document: Document, random: Random) -> None:
    _resize(document, random, lambda size, _: size - 1)


def _resize(document: Document, random: Random, change: Callable[[int, int], int]) -> None:
    found = _row_buffers(document)
    if not found:
        return
    core, name, tensor = random.choice(found)
    buffer = next(each for each in core["buffers"] if each["name"] == name)
    parts = [each for each in places(core["commands"]) if each["buffer"] == name]
    whole = _bytes(document)[tensor]
    of_rows = max(part.get("rows", [0, 1, 1])[2] for part in parts)
    size = change(buffer["bytes"], whole // of_rows)
    if size <= 0:
        return
    buffer["bytes"] = size
    for part in parts:
        part["bytes"] = size
        if part.get("rolls"):
            part["touches"] = _in_ring(part.get("rows", [0, 1, 1]), whole, size)
    core["peak_bytes"] = max(each["offset"] + each["bytes"] for each in core["buffers"])
    document["peak_bytes"] = max(each["peak_bytes"] for each in _cores(document))


def _in_ring(rows: list[int], whole: int, size: int) -> list[int]:
    """The bytes of ``rows`` of a tensor of ``whole`` bytes in a rolling buffer of ``size``."""
    start, stop = whole * rows[0] // rows[2], -(-whole * rows[1] // rows[2])
    begins = start % size
    return [begins, begins + stop - start] if begins + stop - start <= size else [0, size]


def _row_buffers(document: Document) -> list[tuple[Object, str, str]]:
    """Buffers of rows of tensors inside cascades: their core, name, and tensor."""
    known = _bytes(document)
    found = {
        (number, place["buffer"], place["tensor"])
        for number, core in enumerate(_cores(document))
        for each in core.get("cascades", ())
        for place in _places_of_rows(core, each)
        if place.get("tensor") in known
    }
    return [(_cores(document)[number], name, tensor) for number, name, tensor in sorted(found)]


def _bytes(document: Document) -> dict[str, int]:
    """The bytes of tensors whose rows are made one after another, by the parts that are written."""
    found: dict[str, int] = {}
    for core in _cores(document):
        for place in places([each for each in commands(core["commands"]) if "compute" in each]):
            touched = place.get("touches")
            if "tensor" in place and "rows" in place and touched and touched[0] < touched[1]:
                first, last, of_rows = place["rows"]
                length = touched[1] - touched[0]
                whole = length * of_rows // (last - first)
                if length < place["bytes"] and whole * (last - first) == length * of_rows:
                    found[place["tensor"]] = whole
    return found


def _other_row(document: Document, random: Random) -> None:
    """Rows that a step reads or makes inside of a cascade, one further, with touches that go with them."""
    found = [
        place
        for core, each in _cascades(document)
        for place in _places_of_rows(core, each)
        if place.get("rolls") and place["rows"][1] < place["rows"][2]
    ]
    known = _bytes(document)
    found = [place for place in found if place["tensor"] in known]
    if found:
        place = random.choice(found)
        first, last, of_rows = place["rows"]
        place["rows"] = [first + 1, last + 1, of_rows]
        place["touches"] = _in_ring(place["rows"], known[place["tensor"]], place["bytes"])


def _exchange_rows(document: Document, random: Random) -> None:
    """The rows of two tensors in each other's buffer, of the same size."""
    pairs = [
        (core, a, b)
        for core, a, tensor in _row_buffers(document)
        for other, b, second in _row_buffers(document)
        if core is other and a < b and tensor != second and _size(core, a) == _size(core, b)
    ]
    if pairs:
        core, a, b = random.choice(pairs)
        offsets = {each["name"]: each["offset"] for each in core["buffers"]}
        steps = [each for each in commands(core["commands"]) if "compute" in each]
        place = random.choice([each for each in places(steps) if each["buffer"] in (a, b)])
        place["buffer"] = b if place["buffer"] == a else a
        place["offset"] = offsets[place["buffer"]]


def _size(core: Object, name: str) -> int:
    size: int = next(each["bytes"] for each in core["buffers"] if each["name"] == name)
    return size


def _weights_exchanged(document: Document, random: Random) -> None:
    """The weights of an op of a cascade where those of another one lie in the block."""
    blocks: list[list[Object]] = []
    for core, each in _cascades(document):
        steps = [c for c in commands(core["commands"]) if c.get("op") in each["ops"] and "compute" in c]
        blocks.append([place for place in places(steps) if "weights_of" in place])
    pairs = [(a, b) for each in blocks for a in each for b in each if a["offset"] < b["offset"]]
    if pairs:
        a, b = random.choice(pairs)
        a["offset"] = b["offset"]


# -- which steps -----------------------------------------------------------------------------------


def _reloading(document: Document) -> list[Object]:
    return [cascade for _, cascade in _cascades(document) if cascade.get("reloaded")]


def _said_to_stay(document: Document, random: Random) -> None:
    """Weights that are loaded again are said to be in the block."""
    found = _reloading(document)
    if found:
        cascade = random.choice(found)
        gone = random.choice(cascade["reloaded"])
        cascade["reloaded"] = [name for name in cascade["reloaded"] if name != gone]


def _said_to_be_loaded_again(document: Document, random: Random) -> None:
    """Another op's weights are said to be loaded again, which are in the block, or which it does not have."""
    found = [(each, op) for _, each in _cascades(document) for op in each["ops"]]
    found = [(each, op) for each, op in found if op not in each.get("reloaded", [])]
    if found:
        cascade, op = random.choice(found)
        again = {*cascade.get("reloaded", []), op}
        cascade["reloaded"] = [name for name in cascade["ops"] if name in again]


def _load_of_a_turn_missing(document: Document, random: Random) -> None:
    """A turn finds the weights of the turn before."""
    again = {name for cascade in _reloading(document) for name in cascade["reloaded"]}
    found = [
        (body, each)
        for body in bodies(document)
        for each in body
        if "dma_start" in each and each["at"].get("weights_of") in again
    ]
    if found:
        body, start = random.choice(found)
        name = start["dma_start"]
        body[:] = [each for each in body if name not in (each.get("dma_start"), each.get("dma_wait"))]


def _other_order(document: Document, random: Random) -> None:
    """A step before the one that makes its rows, both numbered again."""
    pairs = [
        (body, first, second)
        for body in bodies(document)
        for first, second in pairwise(_steps(document, body))
        if _reads_from(body[first], body[second])
    ]
    if pairs:
        body, first, second = random.choice(pairs)
        body[first], body[second] = body[second], body[first]
        _number(document)


def _steps(document: Document, body: list[Object]) -> list[int]:
    """The indices of a body's steps of cascades."""
    inside = {name for _, each in _cascades(document) for name in each["ops"]}
    return [index for index, each in enumerate(body) if "compute" in each and each["op"] in inside]


def _reads_from(first: Object, second: Object) -> bool:
    made = {place["tensor"]: place["rows"] for place in first["writes"] if "rows" in place}
    for place in second["reads"]:
        rows = made.get(place.get("tensor", ""))
        if rows and "rows" in place and rows[2] == place["rows"][2]:
            return bool(rows[0] < place["rows"][1] and place["rows"][0] < rows[1])
    return False


def _missing_step(document: Document, random: Random) -> None:
    """A step is left out, and the others are numbered again."""
    found = [(body, index) for body in bodies(document) for index in _steps(document, body)]
    if found:
        body, index = random.choice(found)
        del body[index]
        _number(document)


def _step_again(document: Document, random: Random) -> None:
    """A step of rolling rows runs twice, all numbered again."""
    rolling = {name for _, each in _cascades(document) if each["rolls"] for name in each["ops"]}
    found = [
        (body, index)
        for body in bodies(document)
        for index in _steps(document, body)
        if body[index]["op"] in rolling
    ]
    if found:
        body, index = random.choice(found)
        copy = {**body[index]}
        body.insert(index, copy)
        _number(document)


def _number(document: Document) -> None:
    """Positions and labels of all steps as their order demands."""
    for core in _cores(document):
        steps = [each for each in commands(core["commands"]) if "compute" in each]
        total, seen = Counter(each["op"] for each in steps), Counter[str]()
        for position, step in enumerate(steps):
            op = step["op"]
            seen[op] += 1
            step["position"] = position
            step["compute"] = op if total[op] == 1 else f"{op} [{seen[op]}/{total[op]}]"


BREAKS: Mapping[str, Callable[[Document, Random], None]] = {
    "said to be two": _split,
    "two said to be one": _join,
    "said to have another op": _extend,
    "said to end earlier": _shorten,
    "said to begin later": _begin_later,
    "said where there is none": _invent,
    "said to be of the other kind": _other_kind,
    "buffer a row short": _row_short,
    "buffer a byte short": _byte_short,
    "rows one further": _other_row,
    "rows in the buffer of another tensor": _exchange_rows,
    "weights of another op": _weights_exchanged,
    "weights said to stay": _said_to_stay,
    "weights said to be loaded again": _said_to_be_loaded_again,
    "load of a turn missing": _load_of_a_turn_missing,
    "steps in the other order": _other_order,
    "step left out": _missing_step,
    "step twice": _step_again,
}
