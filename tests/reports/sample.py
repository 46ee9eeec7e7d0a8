"""Results made by hand for the tests of the reports: small, plausible, and hard to print.

The plans are made by hand, and simulated on a chip whose every transfer takes a cycle for each byte, after
100 to set up; ``large`` makes the thousands of events that a real network has.
"""

from fractions import Fraction
from pathlib import Path
from typing import Any

import yaml

from chipmodel.answers.result import Attempt, Result
from chipmodel.geometry.interval import Interval
from chipmodel.hardware.chip import Chip, Dma, Figure, Npu, Psram, Route, SharedMemory
from chipmodel.machine.simulate import simulate
from chipmodel.model.plan import Buffer, Plan, Problem, Solved
from chipmodel.model.program import Op, Program, ops
from chipmodel.model.schedule import (
    BufferSpec,
    Part,
    Schedule,
    Step,
    StepArm,
    StepIf,
    StepLoop,
    StepNode,
    Transfer,
)
from chipmodel.model.time_bound import TimeBound
from chipmodel.passes.lower import lower
from tests.support.folders import data
from workloads.build.builder import ProgramBuilder

EVIL = "dw<script>alert('x')</script>&amp;</b>"
UNICODE = "größe-畳み込み-🎧"
MARKUP = "[bold red]head[/] {{ 7*7 }} %{x}"
NAMES = {"EVIL": EVIL, "UNICODE": UNICODE, "MARKUP": MARKUP}
A_BYTE_A_CYCLE = Route(100, 1, Fraction(0))


def chip(capacity: int = 65536) -> Chip:
    figures = {
        "core_mhz": Figure("300", "published", "datasheet V1.8, table 3 <b>not bold</b>"),
        "shared_memory.bytes": Figure(str(capacity), "given", "--capacity"),
        "psram.clock_mhz": Figure("240", "derived", "https://example.org/psram?a=1&b=2"),
        "npu.array": Figure("[8, 2, 4]", "assumed", "like its predecessor"),
    }
    return Chip(
        name="toy",
        title="Toy <chip> & friends",
        core_mhz=Fraction(300),
        shared_memory=SharedMemory(capacity, 16),
        psram=Psram(8 * 2**20, Fraction(300), Fraction(1)),
        dma=Dma(A_BYTE_A_CYCLE, A_BYTE_A_CYCLE, port_bytes=1),
        npu=Npu({8: Fraction(64), 16: Fraction(16), 32: Fraction(4)}, (8, 2, 4), Fraction(8), Fraction(16)),
        figures=figures,
    )


def program() -> Program:
    """Twelve ops: a stem, a wide op in three stripes, an ``if``, a loop of three iterations, a head."""
    b = ProgramBuilder("kws-<i>demo</i> ü", source="sample.yaml")
    x = b.input("audio", (1, 8, 32, 32))
    stem = b.conv("stem", x, 16, 3, pad=1)
    dw = b.conv(EVIL, stem, 16, 3, pad=1, groups=16)
    wide = b.conv(UNICODE, dw, 32, 3, pad=1)
    b.elementwise("relu", "relu", [wide], in_place=True)
    pooled = b.pool("pool", wide, 2)
    with b.block() as loud:
        arm = b.conv("loud.conv", pooled, 32, 3, pad=1, outputs=["chosen"])
    with b.block() as quiet:
        b.elementwise("copy", "quiet.copy", [pooled], outputs=["chosen"])
    b.add_if("wake?", [("loud", loud), ("quiet", quiet)])
    with b.block() as body:
        a = b.conv("refine.a", arm, 16, 1)
        b.conv("refine.b", a, 32, 1, outputs=["chosen"])
    b.add_loop("refine", 3, body, carried=["chosen"])
    flat = b.pool("mean", arm, None, kind="average_pool")
    head = b.dense(MARKUP, b.flatten(flat), 12)
    b.output(b.vector("softmax", "softmax", [head]))
    b.notes.append("op 'softmax': opset 13 <b>assumed</b>")
    return b.build()


_ROWS: dict[str, dict[str, Any]] = yaml.safe_load(data("sample_run.yaml"))
PLAN = {group: {NAMES.get(name, name): row for name, row in rows.items()} for group, rows in _ROWS.items()}


def _buffer(name: str, size: int, live: str) -> Buffer:
    spans = (span.split("-") for span in live.split())
    return Buffer(name, size, tuple(Interval(int(start), int(stop)) for start, stop in spans), 16)


def _steps(net: Program) -> list[Step]:
    made: list[Step] = []
    for op in ops(net.body):
        parts = PLAN["cycles"][op.name]
        for index, cycles in enumerate(parts):
            rows = Interval(index * op.work.rows // len(parts), (index + 1) * op.work.rows // len(parts))
            label = op.name if len(parts) == 1 else f"{op.name} rows {rows.start}-{rows.stop}"
            made.append(Step(len(made), op.name, rows, Interval(0, op.work.channels), cycles, (), (), label))
    return made


def _transfers(net: Program, made: list[Step]) -> list[Transfer]:
    """Weights ping-pong from one step before; the wide op's stripes are stored as they are made."""
    first = {s.op: s.position for s in reversed(made)}
    weighted = [op for op in ops(net.body) if op.weights]
    found = [Transfer("load audio", "load", Part("audio"), "audio", 8192, 0, 0)]
    for index, op in enumerate(weighted):
        due = first[op.name]
        # The loop's and the arm's weights are not prefetched across the border.
        issue = due if index == 0 or op.name in ("loud.conv", "refine.a") else due - 1
        buffer = "w.odd" if index % 2 else "w.even"
        part = Part(op.name, weights=True)
        found.append(Transfer(f"load {op.name}", "load", part, buffer, net.block_bytes(op), issue, due))
    for index in range(3):
        p = first[UNICODE] + index
        found.append(
            Transfer(
                f"store {index}", "store", Part(UNICODE), f"stripe.{index % 2}", 10912, p, p + (index < 2)
            )
        )
    found.append(Transfer("load relu", "load", Part(UNICODE), "relu.stripe", 32768, 5, 5))
    found.append(Transfer("store softmax", "store", Part("softmax"), "softmax", 12, 13, 13))
    return found


def sample(capacity: int = 65536, path: str = "loud") -> Result:
    """One run of ``program``; with a small ``capacity`` the same plan does not fit."""
    net = program()
    made = _steps(net)
    transfers = _transfers(net, made)
    by_op = {op.name: [s for s in made if s.op == op.name] for op in ops(net.body)}
    body: tuple[StepNode, ...] = (
        *made[:7],
        StepIf(
            "wake?",
            (StepArm("loud", tuple(by_op["loud.conv"])), StepArm("quiet", tuple(by_op["quiet.copy"]))),
        ),
        StepLoop("refine", 3, (*by_op["refine.a"], *by_op["refine.b"])),
        *made[11:],
    )
    buffers = [_buffer(name, size, live) for name, (size, _, live) in PLAN["buffers"].items()]
    kinds = {b.name: _spec(b) for b in buffers}
    schedule = Schedule(body, tuple(transfers), kinds, "ping-pong", striped=(UNICODE,), spilled=(UNICODE,))
    problem = Problem(tuple(buffers), capacity)
    plan = Plan({name: offset for name, (_, offset, _) in PLAN["buffers"].items()})
    trace = simulate(lower(schedule, plan), chip(capacity), {"wake?": path})
    peak = plan.peak(problem)
    bound = 61184  # at position 5: two weight buffers, relu's stripe and nothing else
    return Result(
        program=net,
        chip=chip(capacity),
        schedule=schedule,
        problem=problem,
        solved=Solved(plan, "feasible", bound, peak, 0.25, "first-fit/large-first"),
        trace=trace,
        sync_cycles=trace.cycles + 12345,
        bound=TimeBound(trace.cycles - 6789),
        attempts=(Attempt(65536, 67000, 64000), Attempt(62464, peak, bound)),
    )


def _spec(buffer: Buffer) -> BufferSpec:
    if buffer.name.startswith("w."):
        return BufferSpec(buffer.name, buffer.bytes, buffer.live[0], "weights")
    if "stripe" in buffer.name:
        return BufferSpec(buffer.name, buffer.bytes, kind="stripe")
    return BufferSpec(buffer.name, buffer.bytes)


def large(count: int) -> Result:
    """A chain of ``count`` convolutions with ping-pong weights; at least two events each."""
    b = ProgramBuilder(f"chain{count}")
    x = b.input("x", (1, 16, 16, 16))
    for index in range(count):
        x = b.conv(f"block{index // 10}.conv{index % 10}", x, 16, 3, pad=1)
    b.output(x)
    net = b.build()
    chain: list[Op] = list(ops(net.body))
    made = [
        Step(i, op.name, Interval(0, 16), Interval(0, 16), 9800 + 1100 * (i * 7 % 3), (), (), op.name)
        for i, op in enumerate(chain)
    ]
    size = net.block_bytes(chain[0])
    loads = [
        Transfer(f"load {n}", "load", Part(n, weights=True), f"w.{i % 2}", size, max(0, i - 1), i)
        for i, n in enumerate(op.name for op in chain)
    ]
    buffers = [Buffer(op.name, 4096, (Interval(i, min(count, i + 2)),), 16) for i, op in enumerate(chain)] + [
        Buffer(f"w.{i}", size, (Interval(0, count),), 16) for i in (0, 1)
    ]
    offsets = {op.name: 4096 * (i % 2) for i, op in enumerate(chain)} | {"w.0": 8192, "w.1": 8192 + 2368}
    problem, plan = Problem(tuple(buffers), 65536), Plan(offsets)
    peak = plan.peak(problem)
    schedule = Schedule(tuple(made), tuple(loads), {b.name: _spec(b) for b in buffers}, "ping-pong")
    trace = simulate(lower(schedule, plan), chip())
    return Result(
        program=net,
        chip=chip(),
        schedule=schedule,
        problem=problem,
        solved=Solved(plan, "optimal", peak, peak, 0.1, "exact"),
        trace=trace,
        sync_cycles=trace.cycles * 3 // 2,
        bound=TimeBound(trace.cycles),
        attempts=(Attempt(65536, peak, peak),),
    )


def write(folder: Path, name: str, text: str) -> Path:
    """``text`` as a file of ``folder``, for a browser or a viewer to open."""
    target = folder / name
    target.write_text(text, encoding="utf-8")
    return target
