"""Inputs on which users found faults, each by its command: exit code, and what is printed."""

from pathlib import Path

import pytest

from tests.support.command_line import call
from tests.support.folders import ROOT

CASES = ROOT / "tests" / "data" / "cases"
DNN = ("--chip", "luna-csk6", "--streamer", "sync", "--in-place", "none", "--cascade", "off")
ONE_STEP = ("--streamer", "sync", "--cascade", "off")
CACHE = ("--state", "cache=cache_out", "--steady-state", "8")
SMALL = ("--chip", "stm32n6", "--set", "shared_memory.bytes=512")
ROWS: tuple[tuple[tuple[str, ...], int, str], ...] = (
    (("pack", "exact_wrong_bound.csv"), 0, "9 buffers fit in 191.3 KiB (195,920 B); no plan needs less."),
    (
        ("pack", "free_list_arena.csv", "--packer", "free-list"),
        0,
        "8 buffers fit in 7.9 KiB (8,059 B); a plan",
    ),
    (("pack", "gaps_300.csv"), 0, "40 buffers fit in 820 B; no plan needs less."),
    (
        ("pack", "context_core.csv", "--packer", "context:core", "--capacity", "320"),
        0,
        "fit in 320 B",
    ),
    (("simulate", "exact_not_smallest.yaml", *DNN, "--packer", "exact"), 0, "peak 5,128 B"),
    (("simulate", "exact_not_smallest.yaml", *DNN, "--packer", "cp-sat"), 0, "peak 5,128 B"),
    (("simulate", "group_norm_224.yaml", *ONE_STEP, "--chip", "stm32n6"), 0, "peaks at 1.54 MiB"),
    (("arena", "fp16_dequantize.tflite"), 2, "no kernel for DEQUANTIZE 0 (FLOAT16 to FLOAT32)"),
    (("arena", "var_handle.tflite"), 0, "by the runtime's planner 384 as large"),
    (
        ("report", "store_area.sqlite", "-o", "new.html"),
        0,
        "left out rows d43b8a026ed0fd55, 69590bd91e836fb7, cd4a1c13da63fc11, 05ea1891e1de34ea: the store "
        "says nothing of what their designs cost",
    ),
    (
        ("simulate", "concat_users.yaml", "--chip", "stm32n6"),
        0,
        "(217,892 cycles at 1000 MHz) and peaks at 80.0 KiB",
    ),
    (
        ("memory", "output_rows.yaml", "--chip", "stm32n6", "--streamer", "sync", "--points", "0"),
        0,
        "Without spilled tensors, striped or split ops, cascades named by hand or rows computed again, no "
        "plan in this order of ops needs less than 8.3 KiB",
    ),
    (
        ("simulate", "output_rows.yaml", *SMALL, "--cascade", "a,b", "--streamer", "sync"),
        0,
        "Spilled (1): b",
    ),
    (("simulate", "att_u55.yaml", "--chip", "alif-e7"), 0, "not timed: kt (transpose), s (matmul)"),
    (("simulate", "if_arm_shape.onnx", "--shape", "n=8"), 0, "fits"),
    (("simulate", "kv_scatter.onnx", *CACHE), 0, "peak at 65.1 KiB"),
    (
        ("simulate", "loop_as_documented.yaml"),
        2,
        "loop_as_documented.yaml:7:18: unknown key 'most' in 'ops[1].iterations' (keys here are max, min)",
    ),
    (
        ("check", "negative_buffer_plan.json", "../../../workloads/tiny_cnn.yaml"),
        2,
        "buffers[2].bytes: expected a whole number of 0 or more, not -1152",
    ),
    (
        ("arena", "arena_struct_error.tflite", "--write-model", "new.tflite"),
        2,
        "the file is damaged: one of its references leads nowhere",
    ),
    (
        ("ci", "ci_budget.yaml", "--against", "ci_base_no_match.json"),
        2,
        "no value of any limit: peak of zoo:ds_cnn on luna-arcs, latency of zoo:ds_cnn on luna-arcs",
    ),
)


@pytest.mark.parametrize(("arguments", "code", "words"), ROWS, ids=[row[0][1] for row in ROWS])
def test_what_is_right(
    arguments: tuple[str, ...], code: int, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    named = [str(CASES / each) if (CASES / each).exists() else each for each in arguments]
    named = [str(tmp_path / each) if each.startswith("new.") else each for each in named]
    found, out, err = call(capsys, *named)
    assert (found, words in " ".join((out + err).split())) == (code, True), out + err


def test_a_limit_without_an_earlier_value_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base = tmp_path / "base.json"
    text = (CASES / "ci_base_no_match.json").read_text(encoding="utf-8")
    base.write_text(text.replace('"quantity": "x"', '"quantity": "peak"'), encoding="utf-8")
    code, _, err = call(capsys, "ci", str(CASES / "ci_budget.yaml"), "--against", str(base))
    assert code == 0
    assert "compared with nothing, as the earlier report has no value: latency of zoo:ds_cnn" in " ".join(
        err.split()
    )
