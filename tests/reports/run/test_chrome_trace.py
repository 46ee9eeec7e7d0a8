"""Rules from "Trace Event Format" (Google, 2016)."""

import json
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from math import floor
from typing import Any

import pytest
from hypothesis import given, strategies as st

from chipmodel.answers.result import Result
from chipmodel.hardware.chip_file import load_chip
from chipmodel.model.trace import Unit
from chipmodel.pipeline.request import PlanRequest
from chipmodel.pipeline.run import run
from reports.run.chrome_trace import chrome_trace
from tests.reports.sample import chip, sample
from tests.support.folders import WORKLOADS
from workloads.load import load

REQUIRED = {
    "M": {"name", "pid", "args"},
    "X": {"name", "cat", "pid", "tid", "ts", "dur"},
    "C": {"name", "ts", "args"},
    "s": {"name", "cat", "id", "pid", "tid", "ts"},
    "f": {"name", "cat", "id", "pid", "tid", "ts", "bp"},
}


def events(result: Result) -> list[dict[str, Any]]:
    document: dict[str, Any] = json.loads(json.dumps(chrome_trace(result), allow_nan=False))
    found: list[dict[str, Any]] = document["traceEvents"]
    return found


def nanoseconds_rounded(value: float) -> int:
    """``CoerceToTs`` of Perfetto's importers/json/json_trace_tokenizer.cc: llround."""
    return floor(value * 1000.0 + 0.5)


def nanoseconds_truncated(value: float) -> int:
    """The same in earlier versions, in json_utils.cc: a cast."""
    return int(value * 1000.0)


def assert_orderly(found: list[dict[str, Any]]) -> None:
    threads: defaultdict[tuple[int, int], list[dict[str, Any]]] = defaultdict(list)
    for event in found:
        if event["ph"] == "X":
            threads[event["pid"], event["tid"]].append(event)
    assert len(threads) > 1
    for thread in threads.values():
        for before, after in pairwise(thread):
            for read in (nanoseconds_rounded, nanoseconds_truncated):
                assert read(before["ts"]) + read(before["dur"]) <= read(after["ts"])


def real(workload: str, *overrides: str) -> Result:
    chip_ = load_chip("stm32n6", ["shared_memory.bytes=256KiB", *overrides])
    return run(PlanRequest(load(workload), chip_))


RESULTS: dict[str, Callable[[], Result]] = {
    "sample": sample,
    "two cores": lambda: real("zoo:resnet8", "cores=2"),
    "two channels": lambda: real("zoo:resnet8", "dma.channels=2", "dma.arbitration=round robin"),
    "branches": lambda: real("zoo:branchynet", "core_mhz=300"),
    "loops": lambda: real(str(WORKLOADS / "decoder_loop.yaml"), "core_mhz=333.3"),
}


@pytest.mark.parametrize("name", RESULTS)
def test_the_rules_of_the_format(name: str) -> None:
    found = events(RESULTS[name]())
    for event in found:
        assert REQUIRED[event["ph"]] <= event.keys()
        assert all(type(event[key]) is int for key in ("pid", "tid"))
        assert event["ts"] >= 0
        assert event.get("dur", 0) >= 0
        assert isinstance(event.get("args", {}), dict)
    metadata = [event["ph"] == "M" for event in found]
    assert metadata == sorted(metadata, reverse=True)
    named = {e["tid"] for e in found if e["name"] == "thread_name"}
    assert {e["tid"] for e in found if e["ph"] in "Xsf"} == named
    assert len([e for e in found if e["name"] == "process_name"]) == len({e["pid"] for e in found}) == 1
    assert_orderly(found)
    assert_counters(found)
    assert_flows(found)


def assert_counters(found: list[dict[str, Any]]) -> None:
    """Numbers alone, the same series each time, forwards in time."""
    counters: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    for event in found:
        if event["ph"] == "C":
            counters[event["name"]].append(event)
    for samples in counters.values():
        assert [e["ts"] for e in samples] == sorted(e["ts"] for e in samples)
        assert len({tuple(e["args"]) for e in samples}) == 1
        assert all(type(value) in (int, float) for e in samples for value in e["args"].values())


def assert_flows(found: list[dict[str, Any]]) -> None:
    """Each id begins once and ends once, both where a busy slice of another thread begins, and the first of
    them has ended by then."""
    slices = {(e["tid"], e["ts"]): e for e in found if e["ph"] == "X" and e["cat"][:4] == "busy"}
    starts = {e["id"]: e for e in found if e["ph"] == "s"}
    ends = {e["id"]: e for e in found if e["ph"] == "f"}
    assert len([e for e in found if e["ph"] in "sf"]) == 2 * len(starts) > 10
    assert starts.keys() == ends.keys()
    for number, start in starts.items():
        end = ends[number]
        assert (start["name"], start["cat"], end["bp"]) == (end["name"], end["cat"], "e")
        source, target = (slices[each["tid"], each["ts"]] for each in (start, end))
        assert source["tid"] != target["tid"]
        assert source["args"]["start_cycle"] + source["args"]["cycles"] <= target["args"]["start_cycle"]


@given(mhz=st.fractions(Fraction(1, 100), 5000, max_denominator=10_000))
def test_times_are_cycles_over_the_core_clock(mhz: Fraction) -> None:
    result = sample()
    found = events(replace(result, chip=replace(chip(), core_mhz=mhz)))
    assert_orderly(found)
    for event in (e for e in found if e["ph"] == "X"):
        start = Fraction(event["args"]["start_cycle"]) / mhz
        stop = start + Fraction(event["args"]["cycles"]) / mhz
        for read in (nanoseconds_rounded, nanoseconds_truncated):
            assert read(event["ts"]) == floor(start * 1000)
            assert read(event["ts"]) + read(event["dur"]) == floor(stop * 1000)


def test_busy_and_stall_have_different_categories() -> None:
    result = sample()
    units: tuple[tuple[Unit, int], ...] = (("npu", 1), ("dma", 2))
    for unit, thread in units:
        busy = [e for e in events(result) if e["ph"] == "X" and e["tid"] == thread and e["cat"][:4] == "busy"]
        assert sum(e["args"]["cycles"] for e in busy) == result.trace.busy(unit)
    stalls = [e for e in events(result) if e.get("cat") == "stall,weights"]
    assert sum(e["args"]["cycles"] for e in stalls) == result.trace.stalls("npu")["weights"]
    assert all(e["args"]["cause"] == "weights" for e in stalls)


def test_the_bandwidth_counter_integrates_to_the_bytes_moved() -> None:
    result = sample()
    counters = [e for e in events(result) if e["ph"] == "C" and e["name"] == "Psram MB/s"]
    assert [e["ts"] for e in counters] == sorted({e["ts"] for e in counters})
    moved = dict.fromkeys(counters[0]["args"], 0.0)
    for now, later in pairwise(counters):
        for kind, rate in now["args"].items():
            moved[kind] += rate * (later["ts"] - now["ts"])
    assert not any(counters[-1]["args"].values())
    wanted = {k: sum(e.bytes for e in result.trace.of("dma") if e.kind == k and not e.cause) for k in moved}
    assert {k: pytest.approx(v, rel=1e-5) for k, v in wanted.items()} == moved
