"""Networks in Python are those of YAML, and their errors name the line of code."""

from pathlib import Path

import pytest

from chipmodel.errors import BadInput
from chipmodel.model.program import Loop, Program
from tests.support.folders import ROOT
from workloads.from_python.network import Network
from workloads.load import load


def plain(program: Program) -> object:
    """What the program is, whatever it was written in: without places, source and notes about its file."""
    text = repr(program.body)
    while "place=Place(" in text:
        before, _, after = text.partition("place=Place(")
        text = before + after.partition(")")[2]
    return program.name, program.tensors, program.weights, program.inputs, program.outputs, text


def early_exit() -> Network:
    net = Network("early-exit")
    net.input("image", [1, 3, 32, 32])
    net.conv(channels=16, kernel=3, pad="same", activation="relu", name="c1")
    first = net.max_pool(kernel=2, name="p1")
    net.global_average_pool(name="glance")
    net.flatten(name="glance_flat")
    guess = net.dense(features=10, name="guess")
    sure = net.softmax(name="sure")
    with net.branch("easy", condition=sure) as easy:
        with easy.arm("leave", exit=True, probability=0.65):
            pass
        with easy.arm("go_on"):
            pass
        classes = easy.output("classes", leave=guess, go_on="answer")
    net.conv(first, channels=32, kernel=3, pad="same", activation="relu", name="c2")
    net.conv(channels=64, kernel=3, stride=2, pad=1, activation="relu", name="c3")
    net.global_average_pool(name="pooled")
    net.flatten(name="features")
    net.dense(features=10, name="answer")
    net.output(classes)
    return net


def decoder_loop() -> Network:
    net = Network("decoder-loop")
    encoded = net.input("encoded", [1, 128])
    start = net.input("start", [1], dtype="int32")
    first = net.dense(encoded, features=128, activation="tanh", name="state0")
    carry = {"state": (first, "state_new"), "token": (start, "token_new")}
    with net.loop("decode", 10, carry=carry):
        net.embedding("token", rows=1000, features=64, name="embedded")
        net.dense("embedded", features=384, name="from_input")
        net.dense("state", features=384, name="from_state")
        zi, ri, ni = net.split("from_input", axis=-1, out=["zi", "ri", "ni"], name="cut_input")
        zs, rs, ns = net.split("from_state", axis=-1, out=["zs", "rs", "ns"], name="cut_state")
        net.add(zi, zs, in_place=True, name="z_sum")
        z = net.sigmoid(in_place=True, name="z")
        net.add(ri, rs, in_place=True, name="r_sum")
        r = net.sigmoid(in_place=True, name="r")
        gated = net.mul(r, ns, name="gated")
        net.add(ni, gated, name="n_sum")
        candidate = net.tanh(in_place=True, name="candidate")
        step = net.sub("state", candidate, name="step")
        kept = net.mul(z, step, name="kept")
        net.add(candidate, kept, name="state_new")
        finish(net)
    net.output("state", "token")
    return net


def finish(net: Network) -> None:
    """What the file's loop ends with."""
    logits = net.dense("state_new", features=1000, weight_dtype="int4", name="logits")
    net.argmax(logits, name="token_new")


@pytest.mark.parametrize(
    ("file", "network"), [("early_exit", early_exit()), ("decoder_loop", decoder_loop())]
)
def test_a_network_is_that_of_the_yaml_file(file: str, network: Network) -> None:
    assert plain(network.build()) == plain(load(str(ROOT / "workloads" / f"{file}.yaml")))


def test_names_are_made_and_may_be_given() -> None:
    net = Network("names")
    net.input("x", [1, 8])
    assert net.dense(features=4) == "dense_1"
    assert net.dense(features=4, out="y") == "y"
    assert net.dense(features=4, name="last") == "last"
    assert [op.name for op in net.build().ops()] == ["dense_1", "dense_2", "last"]


def test_a_mistake_is_at_its_line_of_code() -> None:
    net = Network("wrong")
    net.input("x", [1, 3, 8, 8])
    net.conv(channels=8, kernel=3, pad="same")
    net.conv(channels=8, kernel=3, groups=3)  # here
    with pytest.raises(BadInput, match="3 groups do not divide 8 input") as caught:
        net.build()
    assert caught.value.where is not None
    lines = Path(__file__).read_text().splitlines()
    assert caught.value.where.file == __file__
    assert lines[caught.value.where.line - 1].endswith("# here")


def test_a_wrong_type_and_an_unknown_key_are_refused_as_in_a_file() -> None:
    net = Network("wrong")
    net.input("x", [1, 8])
    net.dense(features="4")  # type: ignore[arg-type]
    with pytest.raises(BadInput, match="must be a whole number, not '4'"):
        net.build()
    net = Network("wrong")
    net.input("x", [1, 8])
    net.dense(features=4, feature=5)  # type: ignore[call-arg]
    with pytest.raises(BadInput, match="feature"):
        net.build()


def test_what_is_no_tensor_is_refused() -> None:
    net = Network("n")
    net.input("x", [1, 3, 8, 8])
    net.conv(3, channels=4, kernel=3)  # type: ignore[arg-type]
    with pytest.raises(BadInput, match="must be a text, not 3"):
        net.build()


def test_an_open_block_is_refused() -> None:
    net = Network("open")
    net.input("x", [1, 8])
    with net.loop("again", 3, carry={"h": ("x", "next")}):
        net.dense("h", features=8, name="next")
        with pytest.raises(BadInput, match="still open"):
            net.build()
    assert net.build().name == "open"


def test_iterations_are_a_number_a_range_or_probabilities() -> None:
    for iterations, most in ((4, 4), ({"min": 1, "max": 3}, 3), ({1: 0.5, 6: 0.5}, 6)):
        net = Network("loop")
        net.input("x", [1, 8])
        with net.loop("again", iterations, carry={"h": ("x", "next")}):
            net.dense("h", features=8, name="next")
        assert [node.iterations for node in net.build().body if isinstance(node, Loop)] == [most]
