import numpy as np
import pytest

from chipmodel.answers.arena import ArenaRequest
from chipmodel.errors import BadInput, Place
from tests.support.tflite_models import MODELS, LayerWriter, conditional, lstm, repeated, residual
from tests.support.tflite_writer import ModelWriter
from workloads.from_tflite.arena import arena_requests, tail_estimate, unknown_kernels
from workloads.from_tflite.model_file import TfliteModel, parse_model


def parsed(model: ModelWriter) -> TfliteModel:
    return parse_model(model.bytes(), Place("m.tflite"))


def lives(model: ModelWriter) -> dict[str, tuple[int, int, int]]:
    return {each.name: (each.bytes, each.first, each.last) for each in arena_requests(parsed(model))}


def test_a_tensor_lives_from_its_operator_to_the_last_that_reads_it() -> None:
    found = lives(residual())
    image = 12 * 12 * 8
    assert found["t0"] == (image, 0, 3)  # the input, read by the first convolution and the first sum
    assert (found["t1"], found["t4"]) == ((image, 1, 2), (image, 2, 3))
    assert [each.first for each in arena_requests(parsed(residual()))] == sorted(
        each.first for each in arena_requests(parsed(residual()))
    )


def test_operators_that_read_and_write_a_tensor_are_counted() -> None:
    found = {each.name: (each.reads, each.writes) for each in arena_requests(parsed(residual()))}
    assert found["t0"] == (2, 0)  # the input: the first convolution and the first sum read it, none writes it
    assert found["t1"] == (1, 1)
    last = max(arena_requests(parsed(residual())), key=lambda each: each.first)
    assert (last.reads, last.writes) == (0, 1)


def test_an_operator_that_runs_a_subgraph_copies_what_goes_in_and_comes_out() -> None:
    model = conditional()
    requests = {each.tensor: each for each in arena_requests(parsed(model))}
    start = len(model.graphs[0].tensors)
    arm = model.graphs[1]
    given, result = (requests[start + number] for number in (arm.inputs[0], arm.outputs[0]))
    assert (given.writes, result.reads) == (1, 1)
    assert given.reads == result.writes == 1


def test_sizes_are_rounded_up_as_the_runtime_does() -> None:
    model = ModelWriter()
    net = LayerWriter(model.graph())
    net.output(net.dense(net.input(1, 17), 3))
    assert [each.bytes for each in arena_requests(parsed(model))] == [32, 16]


def test_subgraphs_have_scopes_of_their_own_inside_of_the_operator_that_runs_them() -> None:
    # Main: conv at 1, IF at 2; then: scope 3, convs at 4 and 5; else: scope 6, conv at 7; main: conv at 8.
    requests = arena_requests(parsed(conditional()))
    by_tensor = {each.tensor: (each.first, each.last) for each in requests}
    names = [each for each in requests if each.name in ("t0", "t1")]
    assert len(requests) == len(names) + len([r for r in requests if r not in names])
    assert (2, 8) in by_tensor.values()  # the result of the IF, read by the last convolution
    assert (1, 7) in by_tensor.values()  # what the IF reads lives until its second subgraph has run
    assert (3, 4) in by_tensor.values()


def test_a_loop_runs_its_condition_and_its_body() -> None:
    # Main: conv at 1, WHILE at 2; condition: scope 3, LESS at 4; body: scope 5, ADD, conv, ADD from 6 on.
    requests = arena_requests(parsed(repeated()))
    assert max(each.last for each in requests) == 9
    assert [(r.first, r.last) for r in requests if r.bytes == 16 and r.first == 4] == [(4, 4)]


def test_kernels_ask_for_memory_when_they_are_prepared() -> None:
    # Four buffers of the cell state's bytes, 1 x 12 of int16, at the operator of the LSTM.
    asked = [each for each in arena_requests(parsed(lstm())) if each.tensor is None]
    assert asked == [ArenaRequest("memory of UNIDIRECTIONAL_SEQUENCE_LSTM 0", 32, 1, 1, None)] * 4
    mean = [each for each in arena_requests(parsed(MODELS["branches"]())) if each.tensor is None]
    # int32 sums of 26 channels, an int for each of 4 axes, and for each of 2 axes summed over.
    assert [each.bytes for each in mean] == [112, 16, 16]


def test_states_are_not_in_the_head_but_in_the_tail() -> None:
    with_states = lstm()
    assert not {"state", "cell"} & {each.name for each in arena_requests(parsed(with_states))}
    before = tail_estimate(parsed(with_states))
    graph = with_states.graphs[0]
    for tensor in graph.tensors:
        tensor["variable"] = False
    assert tail_estimate(parsed(with_states)) == before - 16 - 32


def test_custom_operators_are_named() -> None:
    model = ModelWriter()
    net = LayerWriter(model.graph())
    x = net.input(1, 16)
    out = net.activation((1, 16))
    net.graph.op("MyOperator", [x], [out])
    net.output(out)
    assert unknown_kernels(parsed(model)) == ("MyOperator",)


def test_a_convolution_keeps_arrays_of_its_channels_for_floats_too() -> None:
    def tail(channels: int) -> int:
        model = ModelWriter()
        net = LayerWriter(model.graph())
        x = net.input(1, 4, 4, 2, kind="FLOAT32")
        out = net.activation((1, 4, 4, channels), "FLOAT32")
        filters = net.graph.constant(np.zeros((channels, 1, 1, 2), np.float32), "FLOAT32")
        net.graph.op("CONV_2D", [x, filters], [out], "Conv2DOptions")
        net.output(out)
        return tail_estimate(parsed(model))

    assert tail(24) - tail(8) == 16 * 8


def test_subgraphs_that_run_themselves_are_refused() -> None:
    model = conditional()
    arm = model.graphs[1]
    arm.op("IF", [0, 0], [arm.outputs[0]], "IfOptions", ThenSubgraphIndex=1, ElseSubgraphIndex=1)
    with pytest.raises(BadInput, match="levels deep"):
        arena_requests(parsed(model))
