"""Enumerate every path through a weighted tree: the oracle of the exact and the sampled analysis."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from random import Random

from chipmodel.hardware.chip import Chip
from chipmodel.machine.simulate import simulate
from chipmodel.model.chances import Chances
from chipmodel.model.commands import Branch, Command, Plain, Repeat
from chipmodel.model.path_costs import Runs
from chipmodel.model.tree import walk
from chipmodel.paths.tree import CommandBlock, CommandSegment, PathNode


@dataclass(frozen=True)
class Path:
    """A path: its commands in a row, what it decides in the order of execution, and how likely it is."""

    commands: tuple[Plain, ...]
    decided: tuple[tuple[str, str], ...]
    probability: Fraction

    def cycles(self, chip: Chip) -> int:
        return simulate(self.commands, chip).cycles

    def decisions(self) -> dict[str, Runs]:
        runs: defaultdict[str, list[tuple[str, int]]] = defaultdict(list)
        for name, choice in self.decided:
            listed = runs[name]
            before = listed.pop()[1] if listed and listed[-1][0] == choice else 0
            listed.append((choice, before + 1))
        return {name: tuple(listed) for name, listed in runs.items()}


def every_path(block: CommandBlock) -> Iterator[Path]:
    """All paths; each node again on each iteration."""
    for parts in product(*([*_ways(node)] for node in block.nodes)):
        yield _joined(parts)


def _ways(node: PathNode) -> Iterator[Path]:
    if isinstance(node, CommandSegment):
        yield Path(node.commands, (), Fraction(1))
        return
    for option in node.options:
        body = [*every_path(option.body)]
        for parts in product(body, repeat=option.times):
            yield _decided(node.name, option.choice, option.probability, _joined(parts))


def _joined(parts: tuple[Path, ...]) -> Path:
    commands = tuple(command for part in parts for command in part.commands)
    decided = tuple(choice for part in parts for choice in part.decided)
    probability = Fraction(1)
    for part in parts:
        probability *= part.probability
    return Path(commands, decided, probability)


def _decided(name: str, choice: str, chance: Fraction, path: Path) -> Path:
    return Path(path.commands, ((name, choice), *path.decided), chance * path.probability)


def unrolled(commands: tuple[Command, ...], decisions: Mapping[str, Runs]) -> tuple[Plain, ...]:
    """The commands of the path with these decisions."""
    return along(commands, {name: iter(_flat(runs)) for name, runs in decisions.items()})


def _flat(runs: Runs) -> list[str]:
    return [choice for choice, times in runs for _ in range(times)]


def along(commands: tuple[Command, ...], left: Mapping[str, Iterator[str]]) -> tuple[Plain, ...]:
    """The commands that run, in order, where each branch or loop takes the next of its choices."""
    result: list[Plain] = []
    for command in commands:
        if isinstance(command, Branch):
            taken = next(left[command.name])
            result += along(next(a.body for a in command.arms if a.name == taken), left)
        elif isinstance(command, Repeat):
            for _ in range(int(next(left[command.name]))):
                result += along(command.body, left)
        else:
            result.append(command)
    return tuple(result)


def random_chances(commands: tuple[Command, ...], random: Random) -> Chances:
    """Probabilities for most decisions of ``commands``; some arms never run, some loops end early."""
    arms: dict[str, Mapping[str, Fraction]] = {}
    iterations: dict[str, tuple[tuple[int, Fraction], ...]] = {}
    for command in walk(commands):
        if random.random() < 0.3:
            continue
        if isinstance(command, Branch):
            shares = [random.randint(0, 4) for _ in command.arms]
            shares[0] += not any(shares)
            arms[command.name] = {
                a.name: Fraction(s, sum(shares)) for a, s in zip(command.arms, shares, strict=True)
            }
        elif isinstance(command, Repeat):
            numbers = random.sample(range(4), random.randint(1, 3))
            counts = Counter({number: random.randint(1, 5) for number in numbers})
            iterations[command.name] = tuple((n, Fraction(c, counts.total())) for n, c in counts.items())
    return Chances(arms, iterations)
