"""The networks with control flow have the sizes that their publications print."""

from math import prod

import pytest

from chipmodel.model.program import If, Node, Op, Program, ops
from chipmodel.model.work import Conv
from tests.support.networks import built_in as program
from workloads.build.builder import ProgramBuilder
from workloads.zoo.catalogue import entry
from workloads.zoo.layered import append


def arm(body: tuple[Node, ...], name: str) -> list[Op]:
    """The ops of all arms with this name."""
    found: list[Op] = []
    for node in body:
        if isinstance(node, If):
            for each in node.arms:
                found += ops(each.body) if each.name == name else arm(each.body, name)
    return found


def macs(listed: list[Op]) -> int:
    return sum(op.work.macs for op in listed)


def parameters(built: Program, listed: list[Op]) -> int:
    return sum(built.weights[w].elements for w in {w for op in listed for w in op.weights})


# -- SkipNet --------------------------------------------------------------------------------------------


def test_the_backbone_of_skipnet_110_is_resnet_110() -> None:
    # He et al. 2015, Table 6: ResNet-110 has 1.7 M parameters; 253 M multiply-adds are those usually quoted.
    built = program("skipnet?depth=110")
    backbone = [op for op in ops(built.body) if ".gate." not in op.name]
    assert round(parameters(built, backbone) / 1e6, 1) == 1.7
    assert macs(backbone) // 1_000_000 == 253


@pytest.mark.parametrize(("depth", "convolutions"), [(38, 37), (74, 73), (110, 109), (152, 151)])
def test_depth_counts_3x3_convolutions_and_the_classifier(depth: int, convolutions: int) -> None:
    body = program(f"skipnet?depth={depth}").body
    windows = [op.work.window for op in ops(body) if isinstance(op.work, Conv)]
    assert sum(w.kernel_h == 3 for w in windows) == convolutions
    assert sum(w.kernel_h == 1 for w in windows) == 2


# -- BranchyNet -----------------------------------------------------------------------------------------


# -- speech ---------------------------------------------------------------------------------------------


def test_rnnoise() -> None:
    # 215 units (Valin 2018, section 4), 88 k weights and 17.5 Mflops for a second (his talk at the W3C
    # workshop on machine learning, 2020); 87,503 follows from the layers of training/rnn_train.py.
    built = program("denoise")
    layers = [op for op in ops(built.body) if op.weights]
    assert sum(prod(built.tensors[op.outputs[0]].shape) for op in layers) == 24 + 24 + 1 + 48 + 96 + 22 == 215
    assert built.parameters == 87_503
    assert round(2 * built.parameters * 100 / 1e6, 1) == 17.5
    biases = sum(built.weights[w].elements for op in layers for w in op.weights if w.endswith("bias"))
    assert built.macs == 100 * (87_503 - biases)


@pytest.mark.parametrize(
    ("which", "operations", "kilobytes"), [("gate.", 5.4, 38.6), ("recogniser.", 56.9, 497.6)]
)
def test_detector_and_recogniser_have_their_published_sizes(
    which: str, operations: float, kilobytes: float
) -> None:
    # Zhang et al. 2017, DS-CNN of the budgets S and L: millions of operations, of which a multiply-accumulate
    # has two, and bytes of weights and activations.
    built = program("wakeword")
    listed = [op for op in ops(built.body) if op.name.startswith(which)]
    assert 2 * macs(listed) / 1e6 == pytest.approx(operations, rel=0.02)
    assert 0.55 * kilobytes < parameters(built, listed) / 1000 < kilobytes


# -- detectors ------------------------------------------------------------------------------------------


def test_stem_and_face_branch_are_faceboxes() -> None:
    # openvinotoolkit/open_model_zoo, faceboxes-pytorch: 1.8975 GFLOPs (pooling and the like included),
    # 1.0059 M parameters and 21,824 anchors at 1024 x 1024.
    net = ProgramBuilder("faceboxes")
    whole = entry("control_flow", "fusiondetect")
    append(net, {**whole, "layers": "=stem:24 =face =outputs"}, {"input": 1024})
    built = net.build()
    assert built.tensors["boxes"].shape == (1, 21_824, 4)
    assert built.tensors["scores"].shape == (1, 21_824, 2)
    assert 2 * built.macs / 1e9 == pytest.approx(1.8975, rel=0.02)
    assert built.parameters / 1e6 == pytest.approx(1.0059, rel=0.005)


def test_fusiondetect_has_the_published_bytes() -> None:
    # Wang et al. 2025, Table 1: 26,502,400 B of tensors without reuse. The shape's sizes were taken for the
    # 460,800 B of Table 2; what Algorithm 2 needs for it is in bench.published.
    built = program("fusiondetect")
    assert sum(t.bytes for t in built.tensors.values()) == pytest.approx(26_502_400, rel=0.005)
    tensors = built.tensors
    assert tensors["input"].bytes + tensors["conv1"].bytes == 460_800
    assert 3 * tensors["body.block0.add"].bytes == 460_800


def test_both_branches_give_the_same_tensors() -> None:
    built = program("fusiondetect")
    for name in ("face", "body"):
        assert set(built.outputs) <= {t for op in arm(built.body, name) for t in op.outputs}
    assert built.tensors["boxes"].shape == (1, 21 * 100 + 25 + 9, 4)


# -- decoders -------------------------------------------------------------------------------------------


def test_show_and_tell() -> None:
    # GoogLeNet of the paper without classifier (6,998,552 with it), then 512 units: embeddings, an LSTM of
    # four gates, logits; 12,000 words.
    built = program("lstm_decoder")
    decoder = [op for op in ops(built.body) if op.name in {"word_embedding", "lstm", "logits"}]
    assert parameters(built, decoder) == 12_000 * 512 + 4 * 512 * (1024 + 1) + 513 * 12_000
    trunk = 6_998_552 - 1001 - 1024 * 1000 + 1
    assert built.parameters == trunk + 1025 * 512 + parameters(built, decoder)
    iterations = 4 * 512 * 1024 + 512 * 12_000
    first = 1024 * 512 + 4 * 512 * 1024
    assert built.macs == program("googlenet?kernel=5").macs - 1_024_000 + first + 20 * iterations


def test_rnn_encoder_decoder() -> None:
    # Cho et al. 2014, appendix A: E = 100, K = 15,000, 1000 units, 500 maxout units of two each, output
    # matrix of rank 100. Biases are added here.
    built = program("gru_decoder")
    encoder = 3 * 1000 * (100 + 1000)
    decoder = 3 * 1000 * (100 + 1000 + 1000)
    deep = 1000 * (100 + 1000 + 1000)
    ends = 2 * 1000 * 1000 + 500 * 100 + 100 * 15_000
    biases = sum(w.elements for w in built.weights.values() if w.name.endswith("bias"))
    assert built.parameters - biases == 2 * 15_000 * 100 + encoder + decoder + deep + ends
    assert built.macs == 20 * (encoder + decoder + deep + 500 * 100 + 100 * 15_000) + 2 * 1000 * 1000
