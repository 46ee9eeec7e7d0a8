"""Plans as JSON: what is written reads back, and nothing malformed gets in or ends in a traceback."""

from __future__ import annotations

import json
from collections.abc import Iterator
from random import Random
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chipmodel.chip.chip import Chip
from chipmodel.errors import BadInput, DoesNotFit
from chipmodel.model.commands import Branch, BranchArm, Compute, DmaStart, DmaWait, Located, Repeat
from chipmodel.model.interval import Interval
from chipmodel.model.program import Program
from chipmodel.model.schedule import Part
from chipmodel.model.work import Share
from chipmodel.pipeline.single_core import plan
from chipmodel.plan_file.document import FORMAT, PlanFile, PlannedBuffer, read_plan, write_plan
from chipmodel.verify.commands import verify_file
from tests.support.chips import tiny_chip
from workloads.build.random_programs import Shape, random_program

PARTIAL = Share(Interval(1, 3), 4, Interval(0, 2), 2)
EVERYTHING = PlanFile(
    workload='a "quoted" µ.yaml',
    chip="luna-arcs",
    overrides=("psram.clock_mhz=100", "shared_memory.bytes=64KiB"),
    packer="large-first",
    streamer="ping-pong",
    capacity_bytes=65536,
    peak_bytes=96,
    buffers=(
        PlannedBuffer("x", 0, 64, (Interval(0, 2), Interval(3, 4))),
        PlannedBuffer("w", 64, 32, ()),
    ),
    commands=(
        DmaStart("load w", "load", 32, Located(Part("d", weights=True), 64, 32), "d"),
        DmaWait("load w", "d"),
        Compute(
            "d [1/2]", "d", 0, Interval(1, 3), Interval(0, 2), 17,
            (Located(Part("x"), 0, 64), Located(Part("d", PARTIAL, weights=True), 64, 32)),
            (Located(Part("y", PARTIAL), 0, 64),),
        ),
        Branch("if", (BranchArm("a", (DmaWait("t", "d"),)), BranchArm("b", ())), Located(Part("c"), 0, 64)),
        Repeat("loop", 3, (Branch("outside", (BranchArm("only", ()),)),)),
        DmaStart("store y", "store", 5, Located(Part("y"), 0, 64), "d"),
    ),
)  # fmt: skip
TEXT = write_plan(EVERYTHING)


def test_every_kind_of_value_reads_back_as_it_was() -> None:
    assert read_plan(TEXT, "plan.json") == EVERYTHING
    assert write_plan(read_plan(TEXT, "plan.json")) == TEXT


def test_the_text_is_json_with_a_command_a_line() -> None:
    document = json.loads(TEXT)
    assert next(iter(document)) == "format"
    assert document["format"] == FORMAT
    assert [next(iter(c)) for c in document["commands"]] == [
        *("dma_start", "dma_wait", "compute", "branch", "repeat", "dma_start"),
    ]
    assert document["buffers"][0] == {"name": "x", "offset": 0, "bytes": 64, "live": [[0, 2], [3, 4]]}
    first, *_, last = document["commands"]
    assert first["at"] == {"weights_of": "d", "offset": 64, "bytes": 32}
    rest = {"bytes": 5, "op": "d", "at": last["at"], "psram": 0, "home": [0, 0]}
    assert last == {"dma_start": "store y", "direction": "store", **rest}
    reads = document["commands"][2]["reads"]
    assert reads[1] == {
        "weights_of": "d", "rows": [1, 3, 4], "channels": [0, 2, 2], "offset": 64, "bytes": 32,
    }  # fmt: skip
    assert sum(line.startswith("  {") for line in TEXT.splitlines()) == 2 + 6
    empty = write_plan(PlanFile("w", "c", (), "p", "s", 0, 0, (), ()))
    assert read_plan(empty, "f") == PlanFile("w", "c", (), "p", "s", 0, 0, (), ())


def planned(seed: int) -> tuple[Program, Chip, PlanFile] | None:
    random = Random(seed)
    program = random_program(seed, Shape(ops=4, depth=2, side=4, channels=4))
    chip, streamer = tiny_chip(random), random.choice(("sync", "ping-pong"))
    try:
        made = plan(program, chip, "large-first", streamer)
    except DoesNotFit:
        return None
    offsets = made.solved.plan.offsets
    buffers = (PlannedBuffer(b.name, offsets[b.name], b.bytes, b.live) for b in made.problem.buffers)
    capacity, peak = chip.shared_memory.bytes, made.solved.peak
    if peak > capacity:
        return None
    return program, chip, PlanFile(
        program.name, chip.name, (), "large-first", streamer, capacity, peak, tuple(buffers), made.commands
    )  # fmt: skip


@settings(max_examples=60)
@given(st.integers(0, 10_000))
def test_random_plans_write_the_same_bytes_again_and_still_pass_the_check(seed: int) -> None:
    case = planned(seed)
    if case is None:
        return
    program, chip, made = case
    text = write_plan(made)
    again = read_plan(text, "plan.json")
    assert again == made
    assert write_plan(again) == text
    assert verify_file(program, again, chip) == ()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "f.json:1:1: not JSON: Expecting value"),
        ("{\n  ]", "f.json:2:3: not JSON: Expecting property name enclosed in double quotes"),
        (TEXT[:-40], f"f.json:{TEXT[:-40].count(chr(10)) + 1}:"),
        ("[]", "f.json: $: expected an object, not []"),
        ("3", "f.json: $: expected an object, not 3"),
        ("{}", f"f.json: $: this is no {FORMAT} document"),
        ('{"format": "chipmodel-plan/1"}', f"f.json: $: this is no {FORMAT} document"),
        ('{"format": "chipmodel-plan/2"}', "f.json: $: 'workload' is missing"),
        ('{"a": ' + "9" * 5000 + "}", "f.json: a number is too long"),
        ("[" * 100_000, "f.json: nested too deeply"),
    ],
)
def test_what_is_no_plan_at_all(text: str, message: str) -> None:
    with pytest.raises(BadInput) as refusal:
        read_plan(text, "f.json")
    assert str(refusal.value).startswith(message)
    assert "chipmodel simulate WORKLOAD --plan FILE" in refusal.value.hint


def test_a_plan_of_too_many_loops_in_loops_is_refused() -> None:
    inner = '{"dma_wait": "a", "op": "b"}'
    for _ in range(450):
        inner = '{"repeat": "a", "iterations": 1, "commands": [' + inner + "]}"
    text = TEXT[: TEXT.index(' "commands": [')] + f' "commands": [{inner}]}}'
    with pytest.raises(BadInput, match="nested too deeply"):
        read_plan(text, "f.json")


def damaged(path: tuple[str | int, ...], value: object) -> str:
    """The document with ``value`` at ``path``; ``DELETE`` takes the key out."""
    document = json.loads(TEXT)
    place: Any = document
    for step in path[:-1]:
        place = place[step]
    if value is DELETE:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return json.dumps(document)


DELETE = object()
COMMAND = ("commands", 2)


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("workload",), 3, "$.workload: expected a string, not 3"),
        (("set",), "a=b", '$.set: expected a list, not "a=b"'),
        (("set", 1), None, "$.set[1]: expected a string, not null"),
        (("capacity_bytes",), 1.0, "$.capacity_bytes: expected a whole number, not 1.0"),
        (("peak_bytes",), True, "$.peak_bytes: expected a whole number, not true"),
        (("peak_bytes",), DELETE, "$: 'peak_bytes' is missing"),
        (("buffers",), {}, "$.buffers: expected a list, not {}"),
        (("buffers", 1), [], "$.buffers[1]: expected an object, not []"),
        (("buffers", 1, "offset"), "0", '$.buffers[1].offset: expected a whole number, not "0"'),
        (("buffers", 0, "live", 1), [3], "$.buffers[0].live[1]: expected 2 numbers, not 1"),
        (("buffers", 0, "live", 1), [3, 2], "$.buffers[0].live[1]: [3, 2) is no interval"),
        (("buffers", 0, "live", 1), [-1, 2], "$.buffers[0].live[1]: [-1, 2) is no interval"),
        (("buffers", 0, "live", 1, 0), None, "$.buffers[0].live[1][0]: expected a whole number, not null"),
        (
            ("commands", 0),
            {},
            "$.commands[0]: no command: "
            "none of dma_start, dma_wait, release, acquire, compute, branch, repeat",
        ),
        (("commands", 0, "direction"), "up", "$.commands[0].direction: expected load or store, not 'up'"),
        (("commands", 0, "at", "weights_of"), DELETE, "$.commands[0].at: 'tensor' is missing"),
        (("commands", 1, "op"), DELETE, "$.commands[1]: 'op' is missing"),
        ((*COMMAND, "rows"), [0, 1, 2], "$.commands[2].rows: expected 2 numbers, not 3"),
        ((*COMMAND, "reads", 1, "rows"), [3, 3, 4], "$.commands[2].reads[1]: rows and channels must be"),
        ((*COMMAND, "reads", 1, "rows"), [0, 5, 4], "$.commands[2].reads[1]: rows and channels must be"),
        ((*COMMAND, "reads", 1, "rows"), [-1, 2, 4], "$.commands[2].reads[1]: rows and channels must be"),
        ((*COMMAND, "reads", 1, "channels"), [1, 3, 2], "$.commands[2].reads[1]: rows and channels must be"),
        ((*COMMAND, "reads", 1, "channels"), [0, 0, 0], "$.commands[2].reads[1]: rows and channels must be"),
        ((*COMMAND, "reads", 1, "channels"), DELETE, "$.commands[2].reads[1]: 'channels' is missing"),
        ((*COMMAND, "reads", 1, "rows"), DELETE, "$.commands[2].reads[1]: 'rows' is missing"),
        (("commands", 3, "arms", 0, "arm"), 1, "$.commands[3].arms[0].arm: expected a string, not 1"),
        (("commands", 3, "condition"), None, "$.commands[3].condition: expected an object, not null"),
        (("commands", 4, "commands", 0, "arms"), DELETE, "$.commands[4].commands[0]: 'arms' is missing"),
        (
            ("commands", 4, "iterations"),
            "x" * 99,
            '$.commands[4].iterations: expected a whole number, not "xxx',
        ),
    ],
)
def test_a_malformed_value_is_named_by_its_path(
    path: tuple[str | int, ...], value: object, message: str
) -> None:
    with pytest.raises(BadInput) as refusal:
        read_plan(damaged(path, value), "f.json")
    assert str(refusal.value).startswith(f"f.json: {message}")
    assert len(str(refusal.value)) < 300


def every_path(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    if path:
        yield path
    children: list[tuple[str | int, Any]] = []
    if isinstance(value, dict):
        children = list(cast("dict[str | int, Any]", value).items())
    elif isinstance(value, list):
        children = list(enumerate(cast("list[object]", value)))
    for key, child in children:
        yield from every_path(child, (*path, key))


def spelled(path: tuple[str | int, ...]) -> str:
    return "$" + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)


def refusal_of(text: str) -> BadInput | None:
    try:
        read_plan(text, "f.json")
    except BadInput as error:
        return error
    return None


def test_any_wrong_type_anywhere_is_refused_at_its_path_or_its_parents() -> None:
    refused = 0
    for path in every_path(json.loads(TEXT)):
        for value in (None, True, 1.5, -1, "x", [], {}, [None], {"tensor": 3}, DELETE):
            error = refusal_of(damaged(path, value))
            if error is None:
                continue
            refused += 1
            named = error.what.split(": ")[0]
            # A reader looks no further than at the first fault, which may be in what was put there.
            assert spelled(path).startswith(named) or named.startswith(spelled(path)), (path, value)
            assert error.hint
    assert refused > 400
