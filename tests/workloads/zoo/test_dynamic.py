"""The built-in networks with branches and loops: every path is planned, checked and simulated."""

from fractions import Fraction
from functools import cache
from itertools import product

import pytest

from chipmodel.hardware.chip_file import load_chip
from chipmodel.machine.simulate import simulate
from chipmodel.model.program import If, Loop, Node, Op, ops
from chipmodel.passes.validate import validate_program
from chipmodel.pipeline.plan import plan
from chipmodel.pipeline.request import Planned, PlanRequest
from chipmodel.verify.commands import verify
from tests.support.bounds import lower_bound_cycles
from tests.support.chips import with_psram
from tests.support.networks import built_in as program
from workloads import zoo
from workloads.zoo.layered import lengths

NETWORKS = {network.name: network for network in zoo.networks("control_flow")}
LARGE_PSRAM = 64 << 20
"""Bytes; more than the decoders need."""
CHIPS = ("luna-arcs", "stm32n6")

Nodes = dict[str, tuple[str, ...]]
"""Ifs with their arms, and loops with the numbers of iterations that are tried."""

CONTROL: dict[str, Nodes] = {
    "branchynet": {"exit1": ("exit", "continue"), "exit2": ("exit", "continue")},
    "denoise": {"frames": ("1", "20"), "voice_activity": ("speech", "silence")},
    "fusiondetect": {"branch": ("face", "body")},
    "gru_decoder": {"encode": ("1", "2"), "decode": ("1", "3")},
    "lstm_decoder": {"decode": ("1", "3")},
    "skipnet": {"layer1.1.gate": ("run", "skip"), "layer3.0.gate": ("run", "skip")},
    "wakeword": {"wake": ("sleep", "awake")},
}
"""Decisions of ``--path``; of the many gates of SkipNet, one with and one without a stride."""


ON_LUNA = {
    "fusiondetect": "fusiondetect?input=64",
    "gru_decoder": "gru_decoder?units=16",
    "lstm_decoder": "lstm_decoder?units=16",
}
"""Smaller variants for LUNA, whose simulation is long where every load has bank conflicts."""


def on_chip(name: str, chip: str) -> str:
    """The network that is planned for ``chip``."""
    return ON_LUNA.get(name, name) if chip.startswith("luna") else name


@cache
def planned(name: str, chip: str) -> Planned:
    return plan(PlanRequest(program(name), with_psram(load_chip(chip), LARGE_PSRAM)))


def ifs(name: str) -> dict[str, If]:
    return {node.name: node for node in program(name).nodes() if isinstance(node, If)}


def loops(name: str) -> dict[str, Loop]:
    return {node.name: node for node in program(name).nodes() if isinstance(node, Loop)}


def ways(name: str) -> list[dict[str, str]]:
    given = CONTROL[name.partition("?")[0]]
    return [dict(zip(given, choice, strict=True)) for choice in product(*given.values())]


# -- every network --------------------------------------------------------------------------------------


def test_every_network_with_control_flow_is_listed_and_has_some() -> None:
    assert sorted(NETWORKS) == sorted(CONTROL)
    assert set(NETWORKS) < {network.name for network in zoo.networks()}
    for name in NETWORKS:
        assert {*ifs(name), *loops(name)}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "chip_name"),
    [(name, chip) for name in CONTROL for chip in CHIPS if "decoder" not in name or chip == "stm32n6"],
)
def test_every_path_is_planned_checked_and_simulated(name: str, chip_name: str) -> None:
    name = on_chip(name, chip_name)
    network, done = program(name), planned(name, chip_name)
    chip = with_psram(load_chip(chip_name), LARGE_PSRAM)
    assert done.solved.peak <= chip.shared_memory.bytes
    assert verify(network, done.commands, chip) == ()
    cycles: set[int] = set()
    for choices in ways(name):
        trace = simulate(done.commands, chip, choices)
        assert choices.items() <= trace.path.items()
        assert lower_bound_cycles(network, chip, trace.path) <= trace.cycles
        ran = {event.op for event in trace.events if event.unit == "npu" and event.kind == "compute"}
        assert ran <= {op.name for op in ops(network.body)}
        cycles.add(trace.cycles)
    assert len(cycles) > 1


OPTIONS = {
    "branchynet": ({"variant": "lenet"}, {"classes": "1"}),
    "denoise": ({"frames": "1"}, {"frames": "2"}),
    "fusiondetect": ({"input": "32"}, {"input": "97", "blocks": "1"}),
    "gru_decoder": ({"steps": "1", "units": "1", "words": "1"}, {"steps": "3", "units": "7"}),
    "lstm_decoder": (
        {"steps": "1", "input": "15"},
        {"units": "3", "words": "1", "steps": "2", "input": "16"},
    ),
    "skipnet": ({"depth": "152"}, {"classes": "1"}),
    "wakeword": ({"input": "10", "coefficients": "4"}, {"classes": "1"}),
}


@pytest.mark.parametrize("dtype", ["int8", "int16", "float32"])
@pytest.mark.parametrize("name", CONTROL)
def test_options_and_dtypes(name: str, dtype: str) -> None:
    for options in ({}, *OPTIONS[name]):
        built = zoo.build(name, options, dtype)
        validate_program(built)
        read = {t for op in ops(built.body) for t in op.inputs} | set(built.outputs)
        read |= {node.condition or "" for node in built.nodes() if isinstance(node, If)}
        written = {t for op in ops(built.body) for t in op.outputs} | set(built.inputs)
        assert set(built.tensors) == written
        # The step of the last gate makes a cell state that nothing reads.
        assert [t for t in written - read if not t.endswith("gate.lstm.cell")] == []
        assert len(written - read) <= 1
        assert {w for op in ops(built.body) for w in op.weights} == set(built.weights)


@pytest.mark.parametrize("name", CONTROL)
def test_figures_are_those_of_the_program(name: str) -> None:
    number, unit = NETWORKS[name].macs.partition(", ")[0].split()
    size = {"M": 1e6, "G": 1e9}[unit]
    digits = len(number.partition(".")[2])
    assert round(program(name).macs / size, digits) == float(number)
    assert program(name).parameters == int(NETWORKS[name].parameters.partition(", ")[0])


# -- how likely -----------------------------------------------------------------------------------------


def chance(name: str, node: str, arm: str) -> Fraction:
    given = {each.name: each.probability for each in ifs(name)[node].arms}
    return given[arm] or 1 - sum((p for p in given.values() if p is not None), Fraction(0))


def test_branchynet_exits_as_often_as_in_table_1() -> None:
    first = chance("branchynet", "exit1", "exit")
    second = chance("branchynet", "exit1", "continue") * chance("branchynet", "exit2", "exit")
    assert [100 * first, 100 * second, 100 * (1 - first - second)] == [
        Fraction("65.6"),
        Fraction("25.2"),
        Fraction("9.2"),
    ]
    assert chance("branchynet?variant=lenet", "exit1", "exit") == Fraction("0.943")


def expected_macs(body: tuple[Node, ...]) -> Fraction:
    total = Fraction(0)
    for node in body:
        if isinstance(node, Op):
            total += node.work.macs
        elif isinstance(node, If):
            total += sum((arm.probability or 0) * expected_macs(arm.body) for arm in node.arms)
    return total


def test_skipnet_110_saves_the_published_half_of_the_computation() -> None:
    # Section 4.1: "SkipNet-110+HRL+SP with recurrent gates reduces computation on the CIFAR-10 ... by 50%".
    built = program("skipnet?depth=110")
    assert expected_macs(built.body) / built.macs == pytest.approx(0.5, abs=0.015)


@pytest.mark.parametrize("most", [1, 2, 3, 4, 7, 20, 1000])
def test_lengths_are_chances(most: int) -> None:
    chances = lengths(most)
    assert (sum(share for _, share in chances) == 1) == bool(chances) == (most > 1)
    assert len({words for words, _ in chances}) == len(chances)
    assert max((words for words, _ in chances), default=most) == most
    assert all(words > 0 for words, _ in chances)


def test_iterations_have_chances_where_they_depend_on_data() -> None:
    half, quarter = Fraction(1, 2), Fraction(1, 4)
    for name, loop in (("gru_decoder", "encode"), ("gru_decoder", "decode"), ("lstm_decoder", "decode")):
        assert loops(name)[loop].chances == ((10, half), (15, quarter), (20, quarter))
        assert any("assumed" in note for note in program(name).notes)
    assert loops("denoise")["frames"].chances == ()


# -- state ----------------------------------------------------------------------------------------------


def test_of_a_table_of_words_one_row_is_read() -> None:
    for op in ops(program("lstm_decoder").body):
        if op.kind == "embedding":
            assert op.gathers
            assert program("lstm_decoder").block_bytes(op) == 512
            return
    raise AssertionError("no table")
