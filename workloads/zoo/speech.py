"""A denoiser of speech with a voice-activity branch.

``denoise`` is RNNoise (Valin 2018, arXiv:1709.08243), layer by layer as in training/rnn_train.py of
github.com/xiph/rnnoise at commit 3bfaf9fd: 42 features a frame of 10 ms, GRUs of 24 (voice activity),
48 (noise) and 96 units, 22 gains, which never fall below 0.6 of those in the frame before (denoise.c).
RNNoise runs all of it on every frame. Here a frame without voice skips the two larger GRUs and lets the gains
fade: a voice-activity branch as in the denoiser of Wang et al. 2025, whose network is not public.

Source of the branch: Wang et al. 2025 (docs/references.md).
"""

from __future__ import annotations

from fractions import Fraction

from workloads.build.builder import ProgramBuilder
from workloads.build.loop_tensors import allocate, collect, hand_over, pick
from workloads.build.shapes import Value
from workloads.zoo.control_flow import choose, copy_to, recurrent_cell, step
from workloads.zoo.layers import concat

SPEECH_PROBABILITY = Fraction(3853, 10_000)
"""The share of time that one side of a conversation speaks (ITU-T P.59, 38.53 %; cited from memory)."""

GRUS = {"vad": 24, "noise": 48, "denoise": 96}
"""Units of each GRU (training/rnn_train.py)."""
FEATURES, BANDS = 42, 22
"""Features and gains of a frame (training/rnn_train.py)."""


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
