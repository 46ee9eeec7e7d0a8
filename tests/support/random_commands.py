"""Random commands for a chip: transfers and ops side by side on the same banks, waits, branches, loops.

They need not make sense as a program, only be legal for the sequencer: every wait has a transfer.
"""

from random import Random

from chipmodel.geometry.interval import Interval
from chipmodel.model.commands import Branch, BranchArm, Command, Compute, DmaStart, DmaWait, Located, Repeat
from chipmodel.model.schedule import Direction, Part, Phase, PhaseKind
from chipmodel.model.tree import walk

ONE = Interval(0, 1)
KINDS: tuple[PhaseKind, ...] = ("configure", "inputs", "weights", "outputs", "stream")


class RandomCommands:
    """Commands on ``memory`` bytes of SharedMemory, about ``count`` of them."""

    def __init__(self, random: Random, memory: int, count: int) -> None:
        self.random = random
        self.memory = memory
        self.left = count
        self.serial = 0

    def body(self, depth: int, started: tuple[str, ...] = ()) -> tuple[Command, ...]:
        commands: list[Command] = []
        names = list(started)
        while self.left > 0:
            self.left -= 1
            self.serial += 1
            draw = self.random.random()
            if draw < 0.4:
                commands.append(self.start())
                names.append(f"t{self.serial}")
            elif draw < 0.6 and names:
                name = self.random.choice(names)
                commands.append(DmaWait(name, f"op{self.serial}"))
            elif draw < 0.92 or not depth:
                commands.append(self.compute())
            else:
                commands.append(self.nested(depth, tuple(names)))
            if started and self.random.random() < 0.3:
                break
        return tuple(commands)

    def nested(self, depth: int, names: tuple[str, ...]) -> Command:
        name = f"n{self.serial}"
        if self.random.random() < 0.5:
            return Repeat(name, self.random.randint(0, 3), self.body(depth - 1, (*names, "")[: len(names)]))
        arms = tuple(BranchArm(arm, self.body(depth - 1, names)) for arm in ("a", "b"))
        return Branch(name, arms)

    def start(self) -> DmaStart:
        part = Part(
            self.random.choice(("x", "y", "z", f"w{self.serial}")), weights=self.random.random() < 0.5
        )
        size = self.random.choice((1, 3, 16, 33, 64, 200, 700))
        size = min(size, self.memory)
        at = Located(part, self.random.randint(0, self.memory - size), size)
        direction: Direction = "store" if self.random.random() < 0.33 else "load"
        psram = self.random.randint(0, 2000)
        runs, pitch = self.runs(size)
        home = Interval(psram, psram + (runs - 1) * pitch + size)
        return DmaStart(f"t{self.serial}", direction, size, at, "op", psram, home, runs, pitch)

    def runs(self, size: int) -> tuple[int, int]:
        """A number of runs of bytes in Psram, and their pitch; draws ahead, so that other draws stay."""
        ahead = Random()
        ahead.setstate(self.random.getstate())
        if size == 1 or ahead.random() < 0.6:
            return 1, 0
        return ahead.randint(2, min(size, 40)), ahead.choice((size, 100, 1024))

    def compute(self) -> Compute:
        kinds = self.random.sample(KINDS, self.random.randint(0, 4))
        phases = tuple(Phase(kind, self.random.choice((1, 2, 7, 40, 150))) for kind in kinds)
        cycles = sum(p.cycles for p in phases) if phases else self.random.choice((0, 1, 5, 90))
        reads = tuple(self.place(i == 1) for i in range(self.random.randint(0, 3)))
        writes = tuple(self.place(False) for _ in range(self.random.randint(0, 2)))
        return Compute(
            f"c{self.serial}", f"op{self.serial}", self.serial, ONE, ONE, cycles, reads, writes, phases
        )

    def place(self, weights: bool) -> Located:
        size = self.random.randint(1, self.memory)
        offset = self.random.randint(0, self.memory - size)
        first = self.random.randint(0, size - 1)
        touched = Interval(first, self.random.randint(first, size)) if self.random.random() < 0.5 else None
        return Located(Part("p", weights=weights), offset, size, touched)


def random_commands(random: Random, memory: int, count: int) -> tuple[Command, ...]:
    """About ``count`` commands on ``memory`` bytes, ifs and loops up to two deep."""
    return RandomCommands(random, memory, count).body(2)


def random_path(commands: tuple[Command, ...], random: Random) -> dict[str, str]:
    """An arm for every if, and up to three iterations for every loop."""
    choices: dict[str, str] = {}
    for command in walk(commands):
        if isinstance(command, Branch):
            choices[command.name] = random.choice(command.arms).name
        elif isinstance(command, Repeat):
            choices[command.name] = str(random.randint(1, 3))
    return choices
