"""Plan files for the tests of exports: hard to name, and with every kind of command."""

from chipmodel.geometry.interval import Interval
from chipmodel.geometry.share import Share
from chipmodel.model.commands import Branch, BranchArm, Command, Compute, DmaStart, DmaWait, Located, Repeat
from chipmodel.model.schedule import Part
from chipmodel.plan_file.contents import PlanFile, PlannedBuffer
from tests.reports.sample import EVIL, UNICODE

ROWS = Interval(0, 4)


def at(name: str, offset: int, size: int, weights: bool = False) -> Located:
    return Located(Part(name, weights=weights), offset, size)


def compute(op: str, position: int, reads: tuple[Located, ...], writes: tuple[Located, ...]) -> Compute:
    return Compute(op, op, position, ROWS, ROWS, 10, reads, writes)


def load(name: str, place: Located, op: str, psram: int, size: int) -> DmaStart:
    return DmaStart(name, "load", size, place, op, psram, Interval(psram, psram + size))


X, Y, Z = at("x", 0, 64), at(EVIL, 64, 64), at("z", 128, 32)
W0, W1 = at("a", 192, 16, True), at("b", 208, 16, True)
HALF = Located(Part("z", Share(Interval(0, 2), 4, Interval(0, 1), 1)), 128, 32)
COMMANDS: tuple[Command, ...] = (
    load("load x", X, "a", 1000, 64),
    load("load a", W0, "a", 0, 16),
    DmaWait("load x", "a"),
    DmaWait("load a", "a"),
    load("load b", W1, "b", 16, 12),
    compute("a", 0, (X, W0), (Y,)),
    Branch(
        "gate",
        (BranchArm("left", (DmaWait("load b", "b"), compute("b", 1, (Y, W1), (Z,)))), BranchArm("right", ())),
        Y,
    ),
    DmaWait("load b", "gate"),
    Repeat("again", 3, (compute("c", 2, (Y,), (Y,)),)),
    compute("d", 3, (Y,), (HALF,)),
    DmaStart("store z", "store", 32, Z, "d", 2000, Interval(2000, 2112), 4, 24),
    compute("e", 4, (Y,), (Y,)),
    DmaWait("store z", "e"),
)
BUFFERS = (
    PlannedBuffer("x", 0, 64, (Interval(0, 1),)),
    PlannedBuffer(EVIL, 64, 64, (Interval(0, 5),)),
    PlannedBuffer("z", 128, 32, (Interval(1, 2), Interval(3, 5))),
    PlannedBuffer("w.a", 192, 16, (Interval(0, 1),)),
    PlannedBuffer("w-a", 208, 16, (Interval(0, 2),)),
    PlannedBuffer(UNICODE, 224, 0, ()),
)


def plan(workload: str = "nets/Kws 10.yaml", capacity: int = 256) -> PlanFile:
    """One core; a transfer's name is in no buffer's."""
    return PlanFile(workload, "chip */ \\ ??/", ("a=b",), capacity, 224, 16, (), BUFFERS, COMMANDS)
