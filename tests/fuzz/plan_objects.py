"""The objects of the JSON document of a plan: what each one is, and where commands are."""

from collections.abc import Iterator
from typing import Any, NamedTuple

Document = dict[str, Any]
Object = dict[str, Any]


class Found(NamedTuple):
    """An object of a document, and what it is: ``buffers``, ``dma_start``, ``compute.reads``."""

    kind: str
    object: Object


def objects(document: Document) -> Iterator[Found]:
    """Every object of a plan, the outer before the inner."""
    yield Found("plan", document)
    for core in document.get("cores", ()):
        yield Found("cores", core)
    yield from (Found("psram", each) for each in document["psram"])
    for core in document.get("cores", (document,)):
        yield from (Found("cascades", each) for each in core.get("cascades", ()))
        yield from (Found("buffers", each) for each in core["buffers"])
        for command in commands(core["commands"]):
            yield from _in_command(command)


def commands(listed: list[Object]) -> Iterator[Object]:
    """Every command below ``listed``, the outer before the inner."""
    for command in listed:
        yield command
        for arm in command.get("arms", [command]):
            yield from commands(arm.get("commands", []))


def _in_command(command: Object) -> Iterator[Found]:
    kind = next(iter(command))
    yield Found(kind, command)
    for key in ("at", "condition"):
        if key in command:
            yield Found(f"{kind}.{key}", command[key])
    for key in ("reads", "writes", "arms"):
        yield from (Found(f"{kind}.{key}", each) for each in command.get(key, ()))


def bodies(document: Document) -> Iterator[list[Object]]:
    """Every list of commands."""
    for core in document.get("cores", (document,)):
        yield core["commands"]
        for command in commands(core["commands"]):
            if "repeat" in command:
                yield command["commands"]
            yield from (arm["commands"] for arm in command.get("arms", ()))


def places(listed: list[Object]) -> Iterator[Object]:
    """Every place in SharedMemory that one of the commands ``listed`` names."""
    for command in commands(listed):
        yield from (f.object for f in _in_command(command) if "offset" in f.object)
