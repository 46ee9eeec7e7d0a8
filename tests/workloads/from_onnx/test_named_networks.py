"""Shrunken copies of transformers and detectors run on presets of a good size; their plans are right.

``python -m bench.exported_networks`` does it with the whole networks, as torch exports them.
"""

from functools import cache
from math import prod
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from chipmodel.execute.check import PlanRun, check_paths
from chipmodel.hardware.chip_file import load_chip, preset_names
from chipmodel.model.program import Program
from chipmodel.pipeline.plan import plan
from chipmodel.pipeline.plan_export import plan_of_planned
from chipmodel.pipeline.request import Planned, PlanRequest
from chipmodel.rewrites.compiled_weights import compiled
from chipmodel.rewrites.in_place import reuse
from chipmodel.verify.plan_file import verify_file
from dma.residency.fitted import fitted
from tests.support.shrunken_networks import NETWORKS
from tests.workloads.from_onnx.support_models import load, onnx

LARGE = tuple(name for name in preset_names() if load_chip(name).shared_memory.bytes >= 512 * 1024)
PAIRS = [
    (name, preset)
    for first, name in enumerate(NETWORKS)
    for preset in LARGE[first % len(NETWORKS) :: len(NETWORKS)]
]
"""Each preset runs one of the networks."""
SMALL_MEMORY = "shared_memory.bytes=12288"
"""As small for the shrunken networks as half a MiB is for the whole ones."""
CUT_FINER = ("coat", "retinanet", "segformer", "swin")
"""Networks with ops of which no row by one channel fits 12 KiB."""


def counted_macs(made: Any) -> int:
    """The MACs of a model's convolutions and products, counted from the shapes that onnx infers."""
    graph = onnx.shape_inference.infer_shapes(made, strict_mode=True, data_prop=True).graph
    shapes = {each.name: tuple(each.dims) for each in graph.initializer}
    for each in (*graph.input, *graph.value_info, *graph.output):
        shapes[each.name] = tuple(size.dim_value for size in each.type.tensor_type.shape.dim)
    products = [node for node in graph.node if node.op_type in ("Conv", "MatMul")]
    assert not {"Gemm", "ConvTranspose", "Einsum"} & {node.op_type for node in graph.node}  # not counted here
    assert all(0 not in shapes[node.output[0]] for node in products)
    # An output of a convolution sums over a kernel of (channels of its group, height, width).
    return sum(
        prod(shapes[node.output[0]])
        * (prod(shapes[node.input[1]][1:]) if node.op_type == "Conv" else shapes[node.input[0]][-1])
        for node in products
    )


@cache
def network(name: str) -> Program:
    with TemporaryDirectory() as folder:
        return load(Path(folder), NETWORKS[name]())


def planned(name: str, preset: str, overrides: tuple[str, ...] = ()) -> Planned:
    """The plan of a network on a preset, verified as its file is."""
    chip = load_chip(preset, overrides)
    program = reuse(fitted(compiled(network(name), chip), chip), "all")
    found = plan(PlanRequest(program, chip, streamer="sync"))
    assert found.fit(chip).fits
    assert verify_file(found.program, plan_of_planned(found, chip, preset, overrides), chip) == ()
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("name", "preset"), PAIRS)
def test_it_runs_in_a_preset_and_in_a_small_memory_of_it(name: str, preset: str) -> None:
    planned(name, preset)
    planned(name, preset, (SMALL_MEMORY,))


@pytest.mark.slow
@pytest.mark.parametrize("name", NETWORKS)
def test_its_parts_compute_what_it_computes(name: str) -> None:
    program = network(name)
    assert program.macs == counted_macs(NETWORKS[name]())
    assert program.notes == ()
    chip = load_chip("luna-csk6", (SMALL_MEMORY,))
    found = planned(name, "luna-csk6", (SMALL_MEMORY,))
    assert (set(found.program.ops()) != set(reuse(program, "all").ops())) == (name in CUT_FINER)
    run = PlanRun(found.program, (found.commands,), chip.shared_memory.bytes, ())
    (verdict,) = check_paths(run, {}, 0)
    assert verdict.faults == ()
