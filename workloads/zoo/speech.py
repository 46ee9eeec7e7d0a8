"""Speech with control flow: a wake word before a recogniser, and a denoiser with a voice-activity branch.

``wakeword`` is two networks of one publication in sequence, DS-CNN S and L of "Hello Edge" (Zhang, Suda, Lai,
Chandra 2017, arXiv:1711.07128), sized as in the authors' code (github.com/ARM-software/ML-KWS-for-MCU,
train_commands.txt). That the small one wakes the large one is assumed, and so is its probability; the
wake-word network in Wang et al. 2025 is not public.

``denoise`` is RNNoise (Valin 2018, arXiv:1709.08243), layer by layer as in training/rnn_train.py of
github.com/xiph/rnnoise at commit 3bfaf9fd: 42 features a frame of 10 ms, GRUs of 24 (voice activity),
48 (noise) and 96 units, 22 gains, which never fall below 0.6 of those in the frame before (denoise.c).
RNNoise runs all of it on every frame. Here a frame without voice skips the two larger GRUs and lets the gains
fade: a voice-activity branch as in the denoiser of Wang et al. 2025, whose network is not public.

Source of the branches: Wang et al. 2025 (docs/references.md).
"""

from __future__ import annotations

from fractions import Fraction

from chipmodel.model.attributes import AlongAxis
from chipmodel.records import dataclass
from workloads.build.builder import ProgramBuilder
from workloads.build.loop_tensors import allocate, collect, hand_over, pick
from workloads.build.shapes import Value
from workloads.zoo.control_flow import choose, copy_to, recurrent_cell, step
from workloads.zoo.layers import concat, separable_chain

WAKE_PROBABILITY = Fraction(1, 100)
"""The probability that the wake word is heard (assumed)."""

SPEECH_PROBABILITY = Fraction(3853, 10_000)
"""The share of time that one side of a conversation speaks (ITU-T P.59, 38.53 %; cited from memory)."""

GRUS = {"vad": 24, "noise": 48, "denoise": 96}
"""Units of each GRU (training/rnn_train.py)."""
FEATURES, BANDS = 42, 22
"""Features and gains of a frame (training/rnn_train.py)."""


def wakeword(net: ProgramBuilder, *, size: int, coefficients: int, classes: int) -> None:
    """Input: ``size`` frames of MFCC. Output: ``output``, from the recogniser where the detector wakes it,
    else from the detector, for which the wake word is one of the words."""
    x = net.input("input", (1, 1, size, coefficients))
    heard = _ds_cnn(net, "gate.", x, SMALL, classes, "gate.scores")

    choose(
        net,
        "wake",
        heard,
        {
            "sleep": lambda: copy_to(net, "gate.answer", heard, "output"),
            "awake": lambda: _ds_cnn(net, "recogniser.", x, LARGE, classes, "output"),
        },
        {"awake": WAKE_PROBABILITY},
    )
    net.output(Value("output", (1, classes), net.dtype))


@dataclass(frozen=True, slots=True)
class DsCnn:
    """Channels of all layers, stride of the first convolution, and strides of the separable ones."""

    channels: int
    first_stride: tuple[int, int]
    strides: tuple[int, ...]


SMALL = DsCnn(64, (2, 2), (1, 1, 1, 1))
LARGE = DsCnn(276, (2, 1), (2, 1, 1, 1, 1))
"""DS-CNN S and L (train_commands.txt)."""


def _ds_cnn(net: ProgramBuilder, name: str, x: Value, sizes: DsCnn, classes: int, scores: str) -> Value:
    """A 10x4 convolution, then depthwise separable 3x3 ones; BatchNorm folded."""
    channels = sizes.channels
    x = net.conv(f"{name}conv1", x, channels, (10, 4), stride=sizes.first_stride, pad="same")
    x = separable_chain(net, x, ((channels, stride) for stride in sizes.strides), name)
    x = net.pool(f"{name}avgpool", x, None, kind="average_pool")
    logits = net.dense(f"{name}fc", net.flatten(x), classes)
    along = AlongAxis(1, classes)
    return net.vector("softmax", f"{name}softmax", [logits], outputs=[scores], attributes=along)


def denoise(net: ProgramBuilder, *, frames: int) -> None:
    """Inputs: ``features`` (frames, 42), and states and gains after the frames before. Outputs: ``gains``
    (frames, 22), ``voice`` (frames, 1), and states and gains for the frames after."""
    features = net.input("features", (frames, FEATURES))
    states = {name: _carried(net, f"{name}_state", units) for name, units in GRUS.items()}
    last = _carried(net, "last_gains", BANDS)
    gains = allocate(net, "gains.room", "gains", (frames, BANDS), net.dtype)
    voice = allocate(net, "voice.room", "voice", (frames, 1), net.dtype)
    with net.block() as body:
        frame = pick(net, "frame", features, frames, (1, FEATURES))
        seen = net.dense("input_dense", frame, 24)
        heard = _gru(net, "vad", seen, states["vad"])
        speech = net.dense("vad_output", heard, 1)
        floor = net.vector("mul", "fade", [last])
        choose(
            net,
            "voice_activity",
            speech,
            {
                "speech": lambda: _speech(net, frame, seen, heard, floor, states),
                "silence": lambda: copy_to(net, "silent_gains", floor, "frame_gains"),
            },
            {"speech": SPEECH_PROBABILITY},
        )
        now = Value("frame_gains", (1, BANDS), net.dtype)
        collect(net, "gains.collect", now, gains, frames)
        collect(net, "voice.collect", speech, voice, frames)
        hand_over(net, "frames", {"vad_state": heard, "last_gains": now})
    carried = [*(f"{name}_state" for name in GRUS), "last_gains", "gains", "voice"]
    net.add_loop("frames", frames, body, carried)
    for value in (gains, voice, *states.values(), last):
        net.output(value)


def _carried(net: ProgramBuilder, name: str, width: int) -> Value:
    before = net.input(f"{name}.before", (1, width))
    return copy_to(net, f"{name}.first", before, name)


def _gru(net: ProgramBuilder, name: str, x: Value, state: Value) -> Value:
    cell = recurrent_cell(net, f"{name}_gru", "gru", x.shape[-1], GRUS[name])
    return step(net, f"{name}_gru", cell, x, [state])[0]


def _speech(
    net: ProgramBuilder, frame: Value, seen: Value, heard: Value, floor: Value, states: dict[str, Value]
) -> None:
    noise = _gru(net, "noise", concat(net, "noise_input", [seen, heard, frame]), states["noise"])
    joined = concat(net, "denoise_input", [heard, noise, frame])
    clean = _gru(net, "denoise", joined, states["denoise"])
    wanted = net.dense("denoise_output", clean, BANDS)
    net.elementwise("max", "speech_gains", [wanted, floor], outputs=["frame_gains"])
    hand_over(net, "speech", {"noise_state": noise, "denoise_state": clean})
