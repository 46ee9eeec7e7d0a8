"""If, Loop and Scan in the importer's first pass: what is not known before the network runs becomes a bound,
and a note that names the node."""

from __future__ import annotations

from collections.abc import Mapping

from workloads.from_onnx.branch_inference import infer_branch
from workloads.from_onnx.loop_inference import infer_loop
from workloads.from_onnx.scan_inference import infer_scan
from workloads.from_onnx.shape_inference import ControlHandler

CONTROL_HANDLERS: Mapping[str, ControlHandler] = {"If": infer_branch, "Loop": infer_loop, "Scan": infer_scan}
"""Each adds the facts of its node's outputs and the node with its control flow. Raises BadInput."""
