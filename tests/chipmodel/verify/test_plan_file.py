"""Every field of a plan file is checked: faults that no command notices are found by what the file states."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from chipmodel.hardware.chip import Chip
from chipmodel.pipeline.plan import plan
from chipmodel.pipeline.plan_export import plan_of_planned
from chipmodel.pipeline.request import PlanRequest
from chipmodel.plan_file.text import read_plan, write_plan
from chipmodel.rewrites.in_place import reuse
from chipmodel.verify.plan_file import verify_file
from tests.support.chips import LUNA_LIKE, with_memory
from tests.support.small_networks import small_network

Object = dict[str, Any]
CHIP = with_memory(LUNA_LIKE, 1280)
"""So small that ``a`` leaves SharedMemory and comes back, and ``sum`` runs in two stripes."""


PROGRAM = small_network("net")
TEXT = write_plan(
    plan_of_planned(plan(PlanRequest(PROGRAM, CHIP, "large-first", "sync")), CHIP, CHIP.name, ())
)


def faults(document: Object, chip: Chip = CHIP) -> tuple[str, ...]:
    return verify_file(reuse(PROGRAM, "all"), read_plan(json.dumps(document), "plan.json"), chip)


def commands(document: Object) -> Iterator[Object]:
    for command in document["commands"]:
        yield command
        for arm in command.get("arms", ()):
            yield from arm["commands"]


def transfer(document: Object, name: str) -> Object:
    return next(c for c in commands(document) if c.get("dma_start") == name)


def step(document: Object, label: str) -> Object:
    return next(c for c in commands(document) if c.get("compute") == label)


def exchange(a: Object, b: Object, *keys: str) -> None:
    assert any(a[key] != b[key] for key in keys)
    for key in keys:
        a[key], b[key] = b[key], a[key]


def move_all(document: Object, name: str, by: int) -> None:
    """Another place in Psram for ``name``, in the table and in every command."""
    for each in (*document["psram"], *commands(document)):
        part = each.get("at", each)
        if "home" in each and name in (part.get("tensor"), part.get("weights_of")):
            each["home"] = [address + by for address in each["home"]]
            each["psram"] = each.get("psram", 0) + by
    for each in document["psram"]:
        each.pop("psram", None)


# -- the faults ------------------------------------------------------------------------------------


def stripe_loaded_from_elsewhere(document: Object) -> None:
    transfer(document, "load a for sum [2/2]")["psram"] -= 64


def stripe_stored_elsewhere(document: Object) -> None:
    transfer(document, "store sum from sum [1/2]")["psram"] += 128


def weights_of_two_ops_exchanged(document: Object) -> None:
    b, c = (transfer(document, f"load weights of {op} [1/4]") for op in "bc")
    exchange(b, c, "home", "psram")


def weights_from_nowhere(document: Object) -> None:
    start = transfer(document, "load weights of b [1/4]")
    start["home"] = [address + (1 << 20) for address in start["home"]]
    start["psram"] += 1 << 20


def weights_beyond_psram(document: Object) -> None:
    move_all(document, "b", 8 << 20)


def tensor_beyond_psram(document: Object) -> None:
    move_all(document, "sum", 8 << 20)


def offsets_off_the_alignment(document: Object) -> None:
    places = [c.get("condition", {}) for c in commands(document)] + [
        c.get("at", {}) for c in commands(document)
    ]
    places += [each for c in commands(document) for each in (*c.get("reads", ()), *c.get("writes", ()))]
    for place in (*document["buffers"], *places):
        if "offset" in place:
            place["offset"] += 8
    document["peak_bytes"] += 8


def alignment_of_one(document: Object) -> None:
    document["alignment"] = 1


def lifetime_too_short(document: Object) -> None:
    buffer = max(document["buffers"], key=lambda b: b["live"][-1][1] - b["live"][0][0])
    buffer["live"][-1][1] -= 1


def no_lifetimes(document: Object) -> None:
    for buffer in document["buffers"]:
        buffer["live"] = []


def spill_stored_instead_of_loaded(document: Object) -> None:
    transfer(document, "load a")["direction"] = "store"


def touches_exchanged(document: Object) -> None:
    exchange(step(document, "b [1/4]")["reads"][1], step(document, "b [1/4]")["writes"][0], "touches")


def positions_exchanged(document: Object) -> None:
    exchange(step(document, "a [1/4]"), step(document, "b [1/4]"), "position")


FAULTS: dict[Callable[[Object], None], str] = {
    stripe_loaded_from_elsewhere: "transfer 'load a for sum [2/2]' moves 'a' (rows",
    stripe_stored_elsewhere: "transfer 'store sum from sum [1/2]' moves 'sum' (rows",
    weights_of_two_ops_exchanged: "transfer 'load weights of b [1/4]' has weights of 'b' (rows",
    weights_from_nowhere: "transfer 'load weights of b [1/4]' has weights of 'b' (rows",
    weights_beyond_psram: "bytes of Psram, the chip has 8388608",
    tensor_beyond_psram: "bytes of Psram, the chip has 8388608",
    offsets_off_the_alignment: "is not aligned to 16",
    alignment_of_one: "the plan aligns buffers to 1, the chip to 16",
    lifetime_too_short: "is said to be alive at",
    no_lifetimes: "is said to be alive at no step, its commands need",
    spill_stored_instead_of_loaded: "transfer 'load a' is a 'store a', which its name does not say",
    touches_exchanged: "step 'b [1/4]' touches bytes",
    positions_exchanged: "step 'a [1/4]' has position 4, it is number 0 in linear order",
}


def test_the_plan_that_is_broken_below_is_right() -> None:
    assert faults(json.loads(TEXT)) == ()
    names = [c.get("dma_start") for c in commands(json.loads(TEXT))]
    assert {"load a", "load a for sum [2/2]", "store sum from sum [1/2]", "load weights of b [1/4]"} <= {
        *names
    }


@pytest.mark.parametrize("break_it", FAULTS, ids=lambda function: str(function.__name__))
def test_a_plan_broken_in_one_place_is_refused(break_it: Callable[[Object], None]) -> None:
    document = json.loads(TEXT)
    break_it(document)
    assert document != json.loads(TEXT)
    found = faults(document)
    assert any(FAULTS[break_it] in fault for fault in found), found


def test_the_head_must_be_that_of_the_workload_and_the_chip() -> None:
    document = json.loads(TEXT)
    assert "the plan is for 1 cores, the chip has 2" in faults(document, replace(CHIP, cores=2))
    larger = faults(document, with_memory(CHIP, 2048))
    assert "the plan is for 1280 bytes of SharedMemory, the chip has 2048" in larger
    renamed = faults({**document, "workload": "other"})
    assert renamed == ("the plan is for workload 'other', not 'net'",)
    document["peak_bytes"] += 16
    assert any("its buffers end at" in fault for fault in faults(document))


def test_the_table_of_psram_has_what_commands_move_and_nothing_else() -> None:
    document = json.loads(TEXT)
    table = document["psram"]
    document["psram"] = table[1:]
    assert any("of Psram, the table does not" in fault for fault in faults(document))
    document["psram"] = [*table, {"tensor": "c", "home": [4096, 4608]}]
    assert "the table of Psram has 'c' at [4096, 4608), where no command finds it" in faults(document)
    document["psram"] = [*table, table[0]]
    assert any("twice" in fault for fault in faults(document))


def test_a_buffer_that_no_command_uses_is_refused() -> None:
    document = json.loads(TEXT)
    document["buffers"].append({"name": "spare", "offset": 0, "bytes": 16, "live": []})
    assert faults(document) == ("no command uses buffer 'spare'",)
