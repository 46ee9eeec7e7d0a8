"""``chipmodel decode``: each length is the plan of that length by itself, of built-in and of ONNX models."""

import json
from pathlib import Path

import pytest
from onnx import TensorProto, helper

import chipmodel as cm
from chipmodel.api.decode import TOKENS, contexts
from chipmodel.errors import BadInput
from tests.support.command_line import call

QUICK = ("--streamer", "resident-knapsack", "--packer", "large-first", "--cascade", "off")
OPTIONS: cm.PlanOptions = {"streamer": "resident-knapsack", "packer": "large-first", "cascade": "off"}
SMALL = ("--chip", "gap9-psram", "--set", "shared_memory.bytes=160KiB")
CHIP = cm.chip("gap9-psram", shared_memory__bytes="160KiB")


def decoder(path: Path, total: str = "past_sequence_length + sequence_length") -> Path:
    """One head of attention with a cache, its sizes named as Optimum does."""
    width = 32
    sizes: list[str | int | None] = ["batch_size", "sequence_length", width]
    cache: list[str | int | None] = ["batch_size", "past_sequence_length", width]
    inputs = [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, sizes),
        helper.make_tensor_value_info("attention_mask", TensorProto.FLOAT, ["batch_size", 1, total]),
        *(
            helper.make_tensor_value_info(f"past_key_values.0.{kind}", TensorProto.FLOAT, cache)
            for kind in ("key", "value")
        ),
    ]
    nodes = [
        *(helper.make_node("MatMul", ["x", f"w{kind}"], [kind]) for kind in ("query", "key", "value")),
        *(
            helper.make_node("Concat", [f"past_key_values.0.{kind}", kind], [f"present.0.{kind}"], axis=1)
            for kind in ("key", "value")
        ),
        helper.make_node("Transpose", ["present.0.key"], ["turned"], perm=[0, 2, 1]),
        helper.make_node("MatMul", ["query", "turned"], ["scores"]),
        helper.make_node("Add", ["scores", "attention_mask"], ["masked"]),
        helper.make_node("Softmax", ["masked"], ["shares"]),
        helper.make_node("MatMul", ["shares", "present.0.value"], ["out"]),
    ]
    outputs = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, None)
        for name in ("out", "present.0.key", "present.0.value")
    ]
    weights = [
        helper.make_tensor(f"w{kind}", TensorProto.FLOAT, [width, width], [0.5] * width * width)
        for kind in ("query", "key", "value")
    ]
    graph = helper.make_graph(nodes, "decoder", inputs, outputs, weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    path.write_bytes(model.SerializeToString())
    return path


@pytest.mark.slow
def test_each_length_has_the_cycles_of_its_own_plan(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The cache is 5 KiB of 160 at 16 tokens, and does not fit at 512."""
    page = tmp_path / "d.html"
    model = "zoo:stories?variant=260K"
    arguments = ("decode", model, "--context", "1,16,512", *SMALL, *QUICK)
    code, out, _ = call(capsys, *arguments, "--json", "-", "--html", str(page))
    assert code == 0
    found = json.loads(out)["lengths"]
    assert [each["context"] for each in found] == [1, 16, 512]
    assert found[0]["token_cycles"] is None
    for each in found:
        length = each["context"]
        if length < 512:
            prompt = cm.simulate(f"{model}&tokens={length}&past=0", CHIP, **OPTIONS)
            assert (prompt.cycles, prompt.bound.cycles) == (
                each["prefill_cycles"],
                each["prefill_bound_cycles"],
            )
        if 1 < length < 512:
            alone = cm.load(f"{model}&past={length - 1}", inferences=TOKENS)
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
def test_more_tokens_in_a_row_take_as_long_each() -> None:
    cycles: list[int] = []
    for inferences in (TOKENS, 8):
        program = cm.load("zoo:stories?variant=260K&past=63", inferences=inferences)
        cycles.append(cm.simulate(program, CHIP, **OPTIONS).to_dict()["steady_state"]["further_cycles"])
    assert cycles[0] == cycles[1]


@pytest.mark.slow
def test_a_model_in_a_file_has_its_sizes_by_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = decoder(tmp_path / "decoder.onnx")
    code, out, _ = call(capsys, "decode", str(file), "--context", "1..5", *QUICK, "--json", "-")
    assert code == 0
    found = json.loads(out)
    assert [each["context"] for each in found["lengths"]] == [1, 2, 4, 5]
    assert [each["cache_bytes"] for each in found["lengths"][1:]] == [64, 192, 256]
    other = decoder(tmp_path / "other.onnx", "total_sequence_length")
    same = cm.decode(str(other), context=[1, 2, 4, 5], total_size="total_sequence_length", **OPTIONS)
    assert [each["token_cycles"] for each in same.rows()] == [e["token_cycles"] for e in found["lengths"]]
    code, out, _ = call(capsys, "decode", str(file), "--context", "4", *QUICK)
    assert code == 0
    assert "a context of 4; the cache stays on chip" in " ".join(out.split())


def test_no_plan_is_an_answer(capsys: pytest.CaptureFixture[str]) -> None:
    small = ("--context", "4", "--set", "psram.bytes=64KiB")
    code, out, _ = call(capsys, "decode", "zoo:stories?variant=260K", *small, *QUICK)
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
