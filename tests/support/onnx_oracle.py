"""What an op of an imported model computes, by the reference evaluator of the onnx package, and which
elements of its operands a part of it depends on."""

from collections.abc import Mapping, Sequence
from math import prod
from pathlib import Path
from random import Random
from typing import Any, TypeAlias, cast

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from chipmodel.cascades.columns import op_columns, part_reads, part_writes
from chipmodel.execute.byte_arrays import Bytes
from chipmodel.geometry.interval import Interval
from chipmodel.geometry.layout import spans
from chipmodel.geometry.share import Share
from chipmodel.model.program import DTYPE_BITS, Op, Program, Tensor
from workloads.load import load

Array: TypeAlias = NDArray[Any]
Values: TypeAlias = Mapping[str, Array]
OPSET, IR_VERSION = 18, 9
ROUNDING = 1e-5


def real_model(
    nodes: Sequence[onnx.NodeProto], inputs: Values, constants: Values, opset: int = OPSET
) -> onnx.ModelProto:
    """A model of ``nodes``, whose inputs are like the arrays ``inputs``."""
    given = [helper.make_tensor_value_info(n, _type(a), a.shape) for n, a in inputs.items()]
    made = [onnx.ValueInfoProto(name=name) for name in nodes[-1].output if name]
    held = [numpy_helper.from_array(a, n) for n, a in constants.items()]
    graph = helper.make_graph(list(nodes), "real", given, made, held)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=IR_VERSION)


def _type(array: Array) -> int:
    return helper.np_dtype_to_tensor_dtype(array.dtype)


def imported(model: onnx.ModelProto, folder: Path, dtype: str = "float32") -> Program:
    """``model`` as the importer reads it."""
    file = folder / "real.onnx"
    file.write_bytes(model.SerializeToString())
    return load(str(file), dtype=dtype)


def computed(model: onnx.ModelProto, values: Values) -> dict[str, Array]:
    """The outputs of ``model``."""
    names = [each.name for each in model.graph.output]
    evaluator: Any = ReferenceEvaluator(model)
    with np.errstate(all="ignore"):
        found = cast("list[Array]", evaluator.run(None, dict(values)))
    return dict(zip(names, found, strict=True))


def of_op(model: onnx.ModelProto, op: Op) -> onnx.ModelProto:
    """The nodes between the inputs and the outputs of ``op``. Constants of zeros are others, so that what
    they are multiplied by counts."""
    inferred = onnx.shape_inference.infer_shapes(model)
    known = {v.name: v for v in (*inferred.graph.input, *inferred.graph.value_info, *inferred.graph.output)}
    wanted, nodes = set(op.outputs), list[onnx.NodeProto]()
    for node in reversed(model.graph.node):
        if wanted & set(node.output):
            nodes.insert(0, node)
            wanted |= set(node.input) - set(op.inputs)
    held = [_not_zero(each) for each in model.graph.initializer if each.name in wanted]
    given = [known[name] for name in dict.fromkeys(op.inputs)]
    graph = helper.make_graph(nodes, op.name, given, [known[name] for name in op.outputs], held)
    return helper.make_model(graph, opset_imports=model.opset_import, ir_version=model.ir_version)


def _not_zero(constant: onnx.TensorProto) -> onnx.TensorProto:
    array = numpy_helper.to_array(constant)
    if array.any() or array.size < 2 or array.dtype.kind != "f":
        return constant
    other = np.random.default_rng(0).normal(0, 1, array.shape)
    return numpy_helper.from_array(other.astype("f"), constant.name)


# -- which elements count --------------------------------------------------------------------------


def elements(tensor: Tensor, share: Share) -> NDArray[np.bool_]:
    """Which elements of ``tensor`` lie in ``share``, in the tensor's shape."""
    held = np.zeros(tensor.bytes, np.bool_)
    for span in spans(share, tensor.bytes):
        held[span.start : span.stop] = True
    stored = tensor.stored
    own = held[np.arange(prod(stored.shape)) * DTYPE_BITS[tensor.dtype] // 8]
    return own.reshape(stored.sizes).transpose(np.argsort(stored.order)).reshape(tensor.shape)


class _Part:
    """A part of an op, and which elements it says that it reads and writes."""

    def __init__(self, program: Program, op: Op, random: Random, rows: Interval | None = None) -> None:
        self.program, self.op = program, op
        self.rows = rows or _some(random, op.work.rows)
        self.channels = _some(random, op.work.channels)
        self.columns = None
        columns = op_columns(program, op)
        if columns is not None and rows is None and random.random() < 0.5:
            self.channels, self.columns = Interval(0, op.work.channels), _some(random, columns)

    def shares(self) -> list[tuple[str, Share]]:
        own = self.rows, self.channels, self.columns
        return [(n, part_reads(self.program, self.op, i, *own)) for i, n in enumerate(self.op.inputs)]

    def read(self, name: str) -> NDArray[np.bool_]:
        tensor = self.program.tensors[name]
        found = np.zeros(tensor.shape, np.bool_)
        for share in (share for own, share in self.shares() if own == name):
            found |= elements(tensor, share)
        return found

    def written(self, name: str) -> NDArray[np.bool_]:
        own = self.rows, self.channels, self.columns
        return elements(self.program.tensors[name], part_writes(self.program, self.op, name, *own))

    def same(self, a: Values, b: Values) -> bool:
        """Whether the part is the same in two results."""
        pairs = ((a[n], b[n], self.written(n).reshape(a[n].shape)) for n in self.op.outputs)
        return all(np.allclose(x[own], y[own], ROUNDING, ROUNDING, equal_nan=True) for x, y, own in pairs)


def _some(random: Random, total: int) -> Interval:
    start = random.randrange(total)
    return Interval(start, random.randint(start + 1, total) if random.random() < 0.7 else start + 1)


def random_values(model: onnx.ModelProto, seed: int, largest: float = 1) -> dict[str, Array]:
    """Arrays for all inputs: floats, which are positive for an even seed, and indices of 0 and 1."""
    rng, found = np.random.default_rng(seed), dict[str, Array]()
    for each in model.graph.input:
        kind = each.type.tensor_type
        shape = [size.dim_value for size in kind.shape.dim]
        dtype = helper.tensor_dtype_to_np_dtype(kind.elem_type)
        drawn = rng.normal(0, largest, shape) if dtype.kind == "f" else rng.integers(0, 2, shape)
        found[each.name] = (drawn if seed % 2 else np.abs(drawn)).astype(dtype)
    return found


def check_reads(model: onnx.ModelProto, program: Program, op: Op, seed: int, draws: int = 4) -> None:
    """Fail where a part of ``op`` depends on elements that it does not say it reads."""
    own, random = of_op(model, op), Random(seed)
    values, others = random_values(own, 2 * seed), random_values(own, 2 * seed + 1)
    right = computed(own, values)
    for _ in range(draws):
        part = _Part(program, op, random)
        given = {n: np.where(part.read(n).reshape(v.shape), v, others[n]) for n, v in values.items()}
        assert part.same(right, computed(own, given)), (op, part.rows, part.channels, part.columns)


def needless_rows(model: onnx.ModelProto, program: Program, op: Op, most: int = 12) -> float:
    """The share of parts of a row of ``op`` that do not depend on the first row of what they say they read of
    an operand, or on the last one, whichever is more; of operands that they do not read as a whole."""
    own, random = of_op(model, op), Random(0)
    values, others = random_values(own, 0), random_values(own, 1, 100)
    right = computed(own, values)
    needless: list[tuple[bool, bool]] = []
    for row in random.sample(range(op.work.rows), min(most, op.work.rows)):
        part = _Part(program, op, random, Interval(row, row + 1))
        for name, share in part.shares():
            if share.whole:
                continue

            def spared(start: int, name: str = name, share: Share = share, part: _Part = part) -> bool:
                line = Share(Interval(start, start + 1), share.of_rows, share.channels, share.of_channels)
                changed = elements(program.tensors[name], line).reshape(values[name].shape)
                given = {**values, name: np.where(changed, others[name], values[name])}
                return part.same(right, computed(own, given))

            needless.append((spared(share.rows.start), spared(share.rows.stop - 1)))
    return max((sum(edge) / len(needless) for edge in zip(*needless, strict=True)), default=0.0)


# -- values as bytes -------------------------------------------------------------------------------


def in_memory(tensor: Tensor, array: Array) -> Bytes:
    """The bytes of ``tensor`` whose elements are ``array``."""
    stored = tensor.stored
    ordered = array.reshape(stored.shape).transpose(stored.order)
    return np.frombuffer(np.ascontiguousarray(ordered).tobytes(), np.uint8).copy()


def from_memory(tensor: Tensor, data: Bytes, like: Array) -> Array:
    """The inverse of ``in_memory``, as an array of the shape and type of ``like``."""
    stored = tensor.stored
    ordered = data.view(like.dtype).reshape(stored.sizes)
    return ordered.transpose(np.argsort(stored.order)).reshape(like.shape)
