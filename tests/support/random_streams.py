"""Random commands for several cores, which wait for one another now and then."""

from dataclasses import replace
from random import Random

from chipmodel.model.commands import Acquire, Branch, Command, Release, Repeat
from tests.support.random_commands import random_commands

TENSORS = "xyz"


def random_streams(random: Random, memory: int, cores: int) -> tuple[tuple[Command, ...], ...]:
    """A stream for each core. Cores wait for tensors that another one releases, mostly of a core before
    them and early there, so that only some streams wait for ever."""
    streams: list[tuple[Command, ...]] = []
    for core in range(cores):
        stream = list(_named(random_commands(random, memory, random.randint(2, 7)), core))
        for tensor in TENSORS:
            stream.insert(random.randint(0, len(stream)), Release(tensor, f"node{core}"))
        for _ in range(random.randint(0, 2) if cores > 1 else 0):
            other = random.randrange(core) if core and random.random() < 0.9 else random.randrange(cores)
            acquire = Acquire(random.choice(TENSORS), other, f"op{core}")
            stream.insert(random.randint(0, len(stream)), acquire)
        streams.append(tuple(stream))
    return tuple(streams)


def _named(commands: tuple[Command, ...], core: int) -> tuple[Command, ...]:
    """The same with names of branches and loops that no other core has."""
    result: list[Command] = []
    for command in commands:
        match command:
            case Branch():
                arms = tuple(replace(arm, body=_named(arm.body, core)) for arm in command.arms)
                result.append(replace(command, name=f"{command.name}@{core}", arms=arms))
            case Repeat():
                body = _named(command.body, core)
                result.append(replace(command, name=f"{command.name}@{core}", body=body))
            case _:
                result.append(command)
    return tuple(result)
