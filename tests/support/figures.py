"""Figures of networks, written as the sums of products that they were counted by."""

from math import prod


def figure(written: str | int) -> int:
    """The number that a text such as ``4*8*9+16`` stands for."""
    terms = str(written).replace("_", "").split("+")
    return sum(prod(map(int, term.split("*"))) for term in terms)
