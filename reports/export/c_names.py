"""Names in C: identifiers of what a plan names, and text that is safe in a comment."""

from __future__ import annotations

import re
from collections.abc import Iterable

LONGEST = 63
"""Significant characters of an identifier: ISO/IEC 9899:1999, 5.2.4.1."""
LONGEST_PREFIX = 24
"""Characters of a prefix (chosen)."""
KEYWORD = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


def prefix_of(workload: str) -> str:
    """The prefix of a workload's identifiers: ``resnet_18`` for ``nets/ResNet-18.onnx``."""
    stem = re.split(r"[/\\:]", workload)[-1]
    stem = re.sub(r"\.[A-Za-z0-9]+$", "", stem)
    word = _plain(stem).lower()[:LONGEST_PREFIX].strip("_")
    return word if word and word[0].isalpha() else f"net_{word}".strip("_")[:LONGEST_PREFIX]


def identifiers(names: Iterable[str], longest: int) -> dict[str, str]:
    """An identifier for each name: upper case, at most ``longest`` characters, all different."""
    identifier_of: dict[str, str] = {}
    taken: set[str] = set()
    for name in names:
        word = _plain(name).upper()[:longest] or "X"
        number = 1
        made = word
        while made in taken:
            number += 1
            end = f"_{number}"
            made = word[: longest - len(end)] + end
        taken.add(made)
        identifier_of[name] = made
    return identifier_of


def _plain(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_")


def commented(text: str) -> str:
    """``text`` without anything that ends or opens a comment, is a trigraph, or continues a line."""
    return re.sub(r"[^A-Za-z0-9 .,:;_+\-=<>()\[\]@#%&|/]", "_", text)
