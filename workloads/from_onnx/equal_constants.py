"""Tell constants of equal bytes, which are stored and loaded once."""

from __future__ import annotations

from hashlib import blake2b
from math import prod
from typing import TYPE_CHECKING, Any

from workloads.from_onnx.onnx_package import TensorProto, module

if TYPE_CHECKING:
    from numpy.typing import NDArray


def digest(tensor: TensorProto, array: NDArray[Any] | None) -> str:
    """A text that constants of equal type and bytes have in common; "" for those that share with no other.

    ``array`` is the value of a small constant. One with the same number everywhere shares with no other: such
    weights were never trained. What lies in a data file is equal where it is the same place of the file.
    """
    import numpy

    if tensor.data_location == module("onnx").TensorProto.EXTERNAL:
        place = sorted((entry.key, entry.value) for entry in tensor.external_data)
        return f"{tensor.data_type} {place}"
    held = numpy.frombuffer(tensor.raw_data, numpy.uint8) if tensor.HasField("raw_data") else array
    if held is None:
        held = module("onnx.numpy_helper").to_array(tensor)
    count = max(1, prod(tensor.dims))
    if held.dtype.hasobject or not held.size:
        return ""
    rows = numpy.ascontiguousarray(held).reshape(count, -1) if held.size % count == 0 else held.reshape(-1, 1)
    if (rows == rows[0]).all():
        return ""
    return (
        f"{tensor.data_type} {blake2b(numpy.ascontiguousarray(held).tobytes(), digest_size=16).hexdigest()}"
    )
