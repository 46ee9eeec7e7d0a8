"""Values, texts and bytes that a file should not have, and files with one or a few of them."""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# What a tree holds is unknown on purpose.

import copy
import json
import re
from collections.abc import Mapping
from random import Random
from typing import Any, cast

from tests.support.folders import data

Tree = Any
"""Dicts, lists and scalars, as JSON and YAML hold them."""

_TEXTS: Mapping[str, list[str]] = json.loads(data("hostile_texts.json"))
NAMES = (*_TEXTS["names"], "é" * 300, "x" * 20_000)
NUMBERS: tuple[int | float, ...] = (
    *(0, -1, 1, -0.0, 0.5, 1e-320, 1e308, -1e308, 2**31, 2**31 - 1, -(2**31), 2**53 + 1, 2**63, 2**63 - 1),
    *(-(2**63), 2**64, 10**30, 10**400, 1_000_000, 1_000_001, 1 << 40, (1 << 40) + 1, 7, 255, 65_536),
    *(float("nan"), float("inf"), float("-inf")),
)
NUMBER_TEXTS = (*_TEXTS["numbers"], "9" * 5000)
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")
ALIAS_BOMB = "\n".join(
    [
        "a0: &a0 [x, x, x, x, x, x, x, x, x]",
        *(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 12)),
    ]
)


GENTLE = 0.5
"""Share of changes that keep a value's type, so that more of the file is read."""
LONGEST_NUMBER = 300
"""Digits of a number that is changed a little, at most: Python reads no more than 4,300."""


def near(value: Tree, random: Random) -> Tree:
    """A value of the same type that may well be allowed."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return random.choice([value + 1, value - 1, 0, 1, 2 * value, 3 * value, 100 * value, 1000])
    if isinstance(value, float):
        return random.choice([value * 1.1, 0.0, 1.0, value / 3, value * 1e6, -value])
    if isinstance(value, str):
        return random.choice([*NAMES, value + random.choice(NAMES)])
    if isinstance(value, list):
        items: list[Tree] = value
        return random.choice([items[::-1], items[1:], items + items[-1:], items[:1], items * 2])
    if isinstance(value, dict):
        items = list(cast("dict[str, Tree]", value).items())
        random.shuffle(items)
        return dict(items[: random.choice([1, len(items), len(items)])])
    return hostile_value(random)


def hostile_value(random: Random) -> Tree:
    """A scalar, list or mapping that most places refuse."""
    match random.randrange(7):
        case 0 | 1:
            return random.choice(NUMBERS)
        case 2 | 3:
            return random.choice(NAMES)
        case 4:
            return random.choice([None, True, False, [], {}, [[]], {"": None}, [None], {"op": "relu"}])
        case 5:
            return nested(random.choice([5, 99, 120]), random.random() < 0.5)
        case _:
            return [random.choice(NUMBERS) for _ in range(random.choice([1, 3, 9, 200]))]


def nested(depth: int, lists: bool) -> Tree:
    """Lists in lists, or mappings in mappings."""
    value: Tree = 1
    for _ in range(depth):
        value = [value] if lists else {"a": value}
    return value


def mutated_tree(tree: Tree, random: Random) -> Tree:
    """A copy of ``tree`` with one to three changes, each at a random place."""
    changed = copy.deepcopy(tree)
    for _ in range(random.choice([1, 1, 1, 2, 3])):
        places = list(_places(changed))
        if not places:
            return hostile_value(random)
        holder, key = random.choice(places)
        if random.random() < GENTLE:
            holder[key] = near(holder[key], random)
        else:
            _change(changed, holder, key, places, random)
    return changed if random.random() < 0.98 else hostile_value(random)


def _places(tree: Tree) -> list[tuple[Any, str | int]]:
    """Every dict or list below ``tree`` with each of its keys or indices."""
    found: list[tuple[Any, str | int]] = []
    left = [tree]
    items: list[tuple[str | int, Tree]]
    while left:
        holder = left.pop()
        if isinstance(holder, dict):
            items = list(cast("dict[str, Tree]", holder).items())
        elif isinstance(holder, list):
            items = [(index, each) for index, each in enumerate(holder)]
        else:
            continue
        found += [(holder, key) for key, _ in items]
        left += [value for _, value in items]
    return found


def _change(
    tree: Tree, holder: Any, key: str | int, places: list[tuple[Any, str | int]], random: Random
) -> None:
    match random.randrange(9):
        case 0:
            del holder[key]
        case 1:
            other, name = random.choice(places)
            holder[key] = copy.deepcopy(other[name])
        case 2 if isinstance(holder, list):
            holder.extend([copy.deepcopy(holder[int(key)])] * random.choice([1, 2, 300]))
        case 2 | 3 if isinstance(holder, dict):
            holder[random.choice([*NAMES, *map(str, places)])[:300]] = holder.pop(key)
        case 4 if isinstance(holder[key], int | float):
            holder[key] = random.choice(NUMBERS)
        case 5 if isinstance(holder[key], str):
            holder[key] = random.choice(NAMES)
        case 6:
            holder[key] = random.choice(
                [[holder[key]], {"a": holder[key]}, str(holder[key]), [holder[key]] * 2]
            )
        case _:
            holder[key] = hostile_value(random)


def mutated_text(text: str, random: Random) -> str:
    """``text`` with one to three changes of lines, numbers and characters."""
    for _ in range(random.choice([1, 1, 2, 3])):
        text = _changed_text(text, random)
    return text


def _changed_text(text: str, random: Random) -> str:
    lines = text.split("\n")
    line = random.randrange(len(lines))
    at = random.randrange(len(text) + 1)
    match random.randrange(11):
        case 0:
            lines.insert(line, lines[random.randrange(len(lines))])
        case 1:
            del lines[line]
        case 2:
            random.shuffle(lines)
        case 3:
            return text[:at] + random.choice(NAMES) + text[at:]
        case 4:
            return text[:at]
        case 5:
            return random.choice(
                [f"{ALIAS_BOMB}\n{text}", f"{text}\n{ALIAS_BOMB}", f"&a {text}", f"--- {text}\n---"]
            )
        case 6:
            return text[:at] + random.choice("[{(\"'&*!|>%@`,:#-\t") * random.choice([1, 2, 2000]) + text[at:]
        case 7:
            lines[line] = " " * random.randrange(5) + lines[line].strip()
        case _:
            numbers = list(_NUMBER.finditer(text))
            if numbers:
                found = random.choice(numbers)
                value = random.choice([*NUMBER_TEXTS, *map(_digits, NUMBERS)])
                if random.random() < GENTLE:
                    written = found[0][:LONGEST_NUMBER]
                    value = _digits(near(float(written) if "." in written else int(written), random))
                return text[: found.start()] + value + text[found.end() :]
    return "\n".join(lines)


def _digits(number: int | float) -> str:
    return str(number)


def mutated_bytes(raw: bytes, random: Random) -> bytes:
    """``raw`` with flipped bits, cut off, with other bytes, or in another encoding."""
    at = random.randrange(len(raw) + 1)
    match random.randrange(8):
        case 0:
            return raw[:at]
        case 1:
            return raw[:at] + random.randbytes(random.choice([1, 4, 100])) + raw[at:]
        case 2:
            return random.choice(
                [b"", b"\x00", b"\xef\xbb\xbf", b"\n", b"\xff\xfe" + raw, random.randbytes(500)]
            )
        case 3:
            stop = min(len(raw), at + random.choice([1, 8, 200]))
            return raw[:at] + raw[stop:]
        case 4:
            return raw.replace(b"\n", random.choice([b"\r", b"\r\n", b"\x00", b"\x85"]))
        case _:
            flipped = bytearray(raw)
            for _ in range(random.choice([1, 1, 2, 8, 40]) if raw else 0):
                flipped[random.randrange(len(raw))] ^= 1 << random.randrange(8)
            return bytes(flipped)
