"""The cycle-by-cycle simulator by hand; on any commands it equals the other one (``test_two_simulators``)."""

from __future__ import annotations

import subprocess
import sys

from chipmodel.model.commands import Repeat
from chipmodel.model.trace import Event
from tests.chipmodel.machine.test_simulate import PLAIN, compute, start, wait
from tests.support.folders import ROOT
from tests.support.stepper import step_through

NOT_SHARED = {"chipmodel.machine.simulate", "chipmodel.passes.lower", "solvers", "dma"}


def test_the_stepper_is_an_oracle_of_its_own() -> None:
    """Nothing that it imports, directly or not, simulates by events, lowers schedules or plans."""
    code = "import sys, tests.support.stepper; print(*sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    loaded = set(found.stdout.split())
    assert "chipmodel.machine.banks" in loaded
    assert not loaded & NOT_SHARED


def test_by_hand() -> None:
    # a: [0, 12), then y: [12, 18). The NPU computes [0, 3) and waits for a, then is finished.
    commands = (start("a", 2), compute("c", 3), start("y", 1, "store", weights=False), wait("a"))
    trace = step_through(commands, PLAIN)
    assert trace.cycles == 18
    assert trace.events == (
        Event("dma", 0, 12, "", "a", "op of a", "load weights", 2),
        Event("npu", 0, 3, "", "c", "op of c", "compute", 0, 0),
        Event("npu", 3, 12, "weights", "a", "waiter for a", "wait"),
        Event("dma", 12, 18, "", "y", "op of y", "store tensor", 1),
        Event("npu", 12, 18, "finished", "", "", "wait"),
    )


def test_a_channel_is_idle_before_its_last_transfer_and_finished_after_it() -> None:
    commands = (compute("c", 2), start("x", 1, weights=False), wait("x"), compute("d", 4))
    trace = step_through(commands, PLAIN)
    assert [(e.start, e.stop, e.cause) for e in trace.of("dma")] == [
        (0, 2, "nothing issued"),
        (2, 13, ""),
        (13, 17, "finished"),
    ]
    assert trace.stalls("npu") == {"input": 11}
    assert trace.unaccounted() == ()


def test_the_same_step_twice_is_two_events() -> None:
    trace = step_through((Repeat("loop", 2, (compute("c", 3),)),), PLAIN)
    assert [(e.start, e.stop) for e in trace.of("npu")] == [(0, 3), (3, 6)]
