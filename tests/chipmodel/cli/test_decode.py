"""``chipmodel decode``: each length is the plan of that length by itself, of built-in and of ONNX models."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import chipmodel as cm
from chipmodel.api.decode import TOKENS, contexts
from chipmodel.errors import BadInput
from tests.support.command_line import Call
from tests.workloads.from_onnx.support_models import model, node

QUICK = ("--streamer", "resident-knapsack", "--packer", "large-first", "--cascade", "off")
OPTIONS: cm.PlanOptions = {"streamer": "resident-knapsack", "packer": "large-first", "cascade": "off"}
SMALL = ("--chip", "gap9-psram", "--set", "shared_memory.bytes=160KiB")
CHIP = cm.chip("gap9-psram", shared_memory__bytes="160KiB")


def decoder(path: Path, total: str = "past_sequence_length + sequence_length") -> Path:
    """One head of attention with a cache, its sizes named as Optimum does."""
    kinds, width = ("key", "value"), 32
    inputs: dict[str, Sequence[int | str] | None] = {"x": ["batch_size", "sequence_length", width]}
    inputs["attention_mask"] = ["batch_size", 1, total]
    inputs |= {f"past_key_values.0.{kind}": ["batch_size", "past_sequence_length", width] for kind in kinds}
    nodes = [
        *(node("MatMul", f"x w{kind}", kind) for kind in ("query", *kinds)),
        *(node("Concat", f"past_key_values.0.{k} {k}", f"present.0.{k}", axis=1) for k in kinds),
        node("Transpose", "present.0.key", "turned", perm=[0, 2, 1]),
        node("MatMul", "query turned", "scores"),
        node("Add", "scores attention_mask", "masked"),
        node("Softmax", "masked", "shares"),
        node("MatMul", "shares present.0.value", "out"),
    ]
    weights = {f"w{kind}": np.full((width, width), 0.5, np.float32) for kind in ("query", *kinds)}
    made = model(nodes, inputs, "out present.0.key present.0.value", weights)
    path.write_bytes(made.SerializeToString())
    return path


@pytest.mark.slow
def test_each_length_has_the_cycles_of_its_own_plan(tmp_path: Path, call: Call) -> None:
    """The cache is 5 KiB of 160 at 16 tokens, and does not fit at 512."""
    page = tmp_path / "d.html"
    built_in = "zoo:stories?variant=260K"
    arguments = ("decode", built_in, "--context", "1,16,512", *SMALL, *QUICK)
    code, out, _ = call(*arguments, "--json", "-", "--html", str(page))
    assert code == 0
    found = json.loads(out)["lengths"]
    assert [each["context"] for each in found] == [1, 16, 512]
    assert found[0]["token_cycles"] is None
    for each in found:
        length = each["context"]
        if length < 512:
            prompt = cm.simulate(f"{built_in}&tokens={length}&past=0", CHIP, **OPTIONS)
            assert (prompt.cycles, prompt.bound.cycles) == (
                each["prefill_cycles"],
                each["prefill_bound_cycles"],
            )
        if 1 < length < 512:
            alone = cm.load(f"{built_in}&past={length - 1}", inferences=TOKENS)
            run = cm.simulate(alone, CHIP, **OPTIONS)
            assert (run.cycles, run.bound.cycles) == (each["run_cycles"], each["run_bound_cycles"])
            steady = run.to_dict()["steady_state"]
            assert steady["further_cycles"] == each["token_cycles"]
            assert steady["resident_bytes"] == each["resident_bytes"]
            assert run.bound.cycles <= run.cycles
    # 5 layers of keys and values, 32 B a token each; what the cache takes, weights lose.
    assert [each["cache_bytes"] for each in found[1:]] == [320 * 15, 320 * 511]
    kept = [each["resident_bytes"] for each in found[1:]]
    assert kept[0] > kept[1]
    off_chip = [each["cache_in_psram_bytes"] for each in found[1:]]
    assert off_chip[0] == 0 < off_chip[1]
    assert page.read_text(encoding="utf-8").count('class="chart"') == 2


@pytest.mark.slow
def test_a_model_in_a_file_has_its_sizes_by_name(tmp_path: Path, call: Call) -> None:
    file = decoder(tmp_path / "decoder.onnx")
    code, out, _ = call("decode", str(file), "--context", "1..5", *QUICK, "--json", "-")
    assert code == 0
    found = json.loads(out)
    assert [each["context"] for each in found["lengths"]] == [1, 2, 4, 5]
    assert [each["cache_bytes"] for each in found["lengths"][1:]] == [64, 192, 256]
    other = decoder(tmp_path / "other.onnx", "total_sequence_length")
    same = cm.decode(str(other), context=[1, 2, 4, 5], total_size="total_sequence_length", **OPTIONS)
    assert [each["token_cycles"] for each in same.rows()] == [e["token_cycles"] for e in found["lengths"]]
    code, out, _ = call("decode", str(file), "--context", "4", *QUICK)
    assert code == 0
    assert "a context of 4; the cache stays on chip" in " ".join(out.split())


def test_no_plan_is_an_answer(call: Call) -> None:
    small = ("--context", "4", "--set", "psram.bytes=64KiB")
    code, out, _ = call("decode", "zoo:stories?variant=260K", *small, *QUICK)
    assert (code, "no plan" in out) == (1, True)


def test_lengths_are_both_ends_and_powers_of_two_between() -> None:
    assert contexts("1..256") == (1, 2, 4, 8, 16, 32, 64, 128, 256)
    assert contexts("7,3,7") == (3, 7)
    assert contexts((9, 8)) == (8, 9)
    for wrong in ("", "..", "1..", "a", "1,,2", (), (0,), "5..4"):
        with pytest.raises(BadInput, match="names no lengths"):
            contexts(wrong)


def test_too_many_weights_are_named_without_a_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chipmodel.api.decode.simulate", None)
    found = cm.decode("zoo:stories?variant=260K", cm.chip("luna-arcs", psram__bytes="64KiB"), context=[1, 2])
    assert [row["prefill_cycles"] for row in found.rows()] == [None, None]
    assert "the weights alone take" in found.answer.reason
    assert found.answer.reason in found.to_dict()["notes"]
