"""Plan files: a written plan reads back, and every malformed one is refused with its position."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from random import Random
from typing import Any, cast

import pytest
from hypothesis import given, settings, strategies as st

from chipmodel.errors import BadInput, DoesNotFit
from chipmodel.geometry.interval import Interval
from chipmodel.geometry.share import Share
from chipmodel.hardware.chip import Chip
from chipmodel.hardware.chip_file import load_chip
from chipmodel.model.commands import Branch, BranchArm, Compute, DmaStart, DmaWait, Located, Repeat
from chipmodel.model.program import Program
from chipmodel.model.schedule import Part
from chipmodel.pipeline.plan import plan
from chipmodel.pipeline.plan_export import plan_of_planned
from chipmodel.pipeline.request import PlanRequest
from chipmodel.plan_file.contents import FORMAT, PlanFile, PlannedBuffer, PsramHome
from chipmodel.plan_file.text import read_plan, write_plan
from chipmodel.verify.plan_file import verify_file
from reports.export.layout import layout_of
from tests.support.chips import tiny_chip
from tests.support.mistakes import mistakes
from tests.support.narrowed import some
from tests.support.random_programs import TreeShape, random_program

PARTIAL = Share(Interval(1, 3), 4, Interval(0, 2), 2)
X = Located(Part("x"), 0, 64, buffer="x")
EVERYTHING = PlanFile(
    workload='a "quoted" µ.yaml',
    chip="luna-arcs",
    overrides=("psram.clock_mhz=100", "shared_memory.bytes=64KiB"),
    capacity_bytes=65536,
    peak_bytes=96,
    alignment=16,
    psram=(
        PsramHome(Part("d", PARTIAL, weights=True), Interval(0, 32)),
        PsramHome(Part("y"), Interval(64, 69)),
    ),
    buffers=(
        PlannedBuffer("x", 0, 64, (Interval(0, 2), Interval(3, 4))),
        PlannedBuffer("w", 64, 32, ()),
    ),
    commands=(
        DmaStart("load w", "load", 32, Located(Part("d", weights=True), 64, 32, buffer="w"), "d"),
        DmaWait("load w", "d"),
        Compute(
            "d [1/2]", "d", 0, Interval(1, 3), Interval(0, 2), 17,
            (X, Located(Part("d", PARTIAL, weights=True), 64, 32, buffer="w")),
            (Located(Part("y", PARTIAL), 0, 64, in_tensor=True, runs=4, pitch=20, advance=16, buffer="x"),),
        ),
        Branch("if", (BranchArm("a", (DmaWait("t", "d"),)), BranchArm("b", ())), Located(Part("c"), 0, 64)),
        Repeat("loop", 3, (Branch("outside", (BranchArm("only", ()),)),)),
        DmaStart("store z", "store", 6, Located(Part("z"), 0, 64), "d", 40, Interval(32, 64), 3, 8),
        DmaStart("store y", "store", 5, Located(Part("y"), 0, 64), "d"),
        DmaStart("load y", "load", 5, Located(Part("y"), 0, 64), "d", advance=8),
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
        *("dma_start", "dma_wait", "compute", "branch", "repeat", "dma_start", "dma_start", "dma_start")
    ]
    assert document["buffers"][0] == {"name": "x", "offset": 0, "bytes": 64, "live": [[0, 2], [3, 4]]}
    first, *_, runs, _, last = document["commands"]
    assert first["at"] == {"weights_of": "d", "buffer": "w", "offset": 64, "bytes": 32}
    rest = {"bytes": 5, "op": "d", "at": last["at"], "psram": 0, "home": [0, 0]}
    assert last == {"dma_start": "load y", "direction": "load", **rest, "advance": 8}
    (write,) = document["commands"][2]["writes"]
    part = {"tensor": "y", "rows": [1, 3, 4], "channels": [0, 2, 2]}
    where = {"buffer": "x", "offset": 0, "bytes": 64, "in_tensor": True, "runs": 4, "pitch": 20}
    assert write == {**part, **where, "advance": 16}
    assert (runs["psram"], runs["home"], runs["runs"], runs["pitch"]) == (40, [32, 64], 3, 8)
    reads = document["commands"][2]["reads"]
    assert reads[1] == {
        "weights_of": "d", "rows": [1, 3, 4], "channels": [0, 2, 2], "buffer": "w", "offset": 64, "bytes": 32,
    }  # fmt: skip
    assert sum(line.startswith("  {") for line in TEXT.splitlines()) == 2 + 2 + 8
    empty = PlanFile("w", "c", (), 0, 0, 1, (), (), ())
    assert read_plan(write_plan(empty), "f") == empty


def planned(seed: int) -> tuple[Program, Chip, PlanFile] | None:
    random = Random(seed)
    program = random_program(seed, TreeShape(ops=4, depth=2, side=4, channels=4))
    chip, streamer = tiny_chip(random), random.choice(("sync", "ping-pong"))
    try:
        made = plan(PlanRequest(program, chip, "large-first", streamer))
    except DoesNotFit:
        return None
    if made.solved.peak > chip.shared_memory.bytes:
        return None
    return made.program, chip, plan_of_planned(made, chip, chip.name, ())


@pytest.mark.slow
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
    ("key", "number", "message"),
    [
        ("runs", 5, "64 bytes are not 5 runs of equal length at a pitch of 20"),
        ("pitch", 15, "64 bytes are not 4 runs of equal length at a pitch of 15"),
        ("runs", 0, "at least 1, not 0"),
        ("advance", -1, "expected a whole number of 0 or more, not -1"),
        ("in_tensor", 1, "expected true or false, not 1"),
    ],
)
def test_runs_that_do_not_make_up_the_bytes_are_refused(key: str, number: int, message: str) -> None:
    document = json.loads(TEXT)
    document["commands"][2]["writes"][0][key] = number
    with pytest.raises(BadInput, match=re.escape(message)):
        read_plan(json.dumps(document), "f.json")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "f.json:1:1: not JSON: Expecting value"),
        ("{\n  ]", "f.json:2:3: not JSON: Expecting property name enclosed in double quotes"),
        (TEXT[:-40], f"f.json:{TEXT[:-40].count(chr(10)) + 1}:"),
        ("[]", "f.json:1:1: expected an object, not a list"),
        ("3", "f.json:1:1: expected an object, not 3"),
        ("{}", f"f.json:1:1: this is not a {FORMAT} document"),
        ('{"format": "chipmodel-plan/4"}', f"f.json:1:1: this is not a {FORMAT} document"),
        ('{"format": "chipmodel-plan/1"}', "f.json:1:1: this plan has the earlier format chipmodel-plan/1"),
        ('{"format": "chipmodel-plan/2-cores"}', "f.json:1:1: this plan has the earlier format chipmodel"),
        ('{"format": "chipmodel-plan/3"}', "f.json:1:1: the key 'workload' is missing"),
        ('{"a": ' + "9" * 5000 + "}", "f.json: a number is too long"),
        ("[" * 100_000, "f.json: nested too deeply"),
    ],
)
def test_a_file_that_is_not_a_plan_is_refused(text: str, message: str) -> None:
    with pytest.raises(BadInput) as refusal:
        read_plan(text, "f.json")
    assert str(refusal.value).startswith(message)
    assert "chipmodel simulate WORKLOAD --plan FILE" in refusal.value.hint


def test_a_plan_of_too_deeply_nested_loops_is_refused() -> None:
    inner = '{"dma_wait": "a", "op": "b"}'
    for _ in range(450):
        inner = '{"repeat": "a", "iterations": 1, "commands": [' + inner + "]}"
    text = TEXT[: TEXT.index(' "commands": [')] + f' "commands": [{inner}]}}'
    with pytest.raises(BadInput, match="nested too deeply"):
        read_plan(text, "f.json")


def damaged(path: tuple[str | int, ...], value: object) -> str:
    """The document with ``value`` at ``path``; ``DELETE`` removes the key."""
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


@pytest.mark.parametrize(("at", "written", "message"), mistakes("plan_file"))
def test_a_malformed_value_is_named_by_its_path_and_place(at: str, written: str, message: str) -> None:
    text = damaged(json.loads(at), DELETE if written == "gone" else json.loads(written))
    error = some(refusal_of(text))
    assert error.what.startswith(message)
    assert len(str(error)) < 300
    wrong = json.loads(text)
    for step in re.findall(r"[a-z_]+|[0-9]+", path_of(error)):
        wrong = wrong[int(step) if step.isdigit() else step]
    assert error.where is not None
    assert error.where.line == 1
    assert json.JSONDecoder().raw_decode(text, error.where.column - 1)[0] == wrong


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
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return text.removeprefix(".")


def path_of(error: BadInput) -> str:
    """The path of the value that ``error`` names, empty for the whole document."""
    found = re.match(r"([a-z_.0-9\[\]]+): ", error.what)
    return found[1] if found else ""


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
            named = path_of(error)
            # The reader stops at the first mistake, which may be inside of the new value.
            assert spelled(path).startswith(named) or named.startswith(spelled(path)), (path, value)
            assert error.hint
    assert refused > 400


def test_an_arena_beyond_every_buffer_is_stated_and_checked() -> None:
    chip = load_chip("luna-csk6")
    program = random_program(235, TreeShape(ops=25, depth=0, side=8, channels=12))
    planned = plan(PlanRequest(program, chip, packer="free-list", streamer="sync"))
    file = plan_of_planned(planned, chip, "luna-csk6", ())
    assert (file.arena_bytes, file.peak_bytes, planned.solved.plan.top(planned.problem)) == (752, 752, 736)
    assert read_plan(write_plan(file), "plan.json") == file
    assert layout_of(file, "plan.json").peak == 752
    assert verify_file(program, file, chip) == ()
    for wrong in (replace(file, arena_bytes=0), replace(file, arena_bytes=753)):
        assert "states a peak of 752 bytes, its buffers end at 736" in verify_file(program, wrong, chip)[0]
        with pytest.raises(BadInput, match="its peak is 752 B"):
            layout_of(wrong, "plan.json")
