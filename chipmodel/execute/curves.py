"""Element-wise functions. An integer ``n`` stands for ``n / 16`` where a function is not linear."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import lru_cache

import numpy as np

from chipmodel.execute.elements import Numbers, is_float, is_signed
from chipmodel.model.program import DTYPE_BITS

SCALE = 16.0
"""Integer steps from 0 to 1."""
_TABLE_BITS = 16
"""Functions of integers up to so many bits are computed once for every value."""


def _sigmoid(x: Numbers) -> Numbers:
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(x, -60.0, 60.0))))


def _softplus(x: Numbers) -> Numbers:
    return np.asarray(np.log1p(np.exp(np.clip(x, -60.0, 60.0))))


_ERF = np.frompyfunc(math.erf, 1, 1)


def _erf(x: Numbers) -> Numbers:
    return np.asarray(_ERF(x), np.float64)


def _gelu(x: Numbers) -> Numbers:
    return np.asarray(x / 2 * (1 + _erf(x / math.sqrt(2))))


def _fast_gelu(x: Numbers) -> Numbers:
    return np.asarray(x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))))


_CURVES: Mapping[str, Callable[[Numbers], Numbers]] = {
    "relu6": lambda x: np.clip(x, 0.0, 6.0),
    "leaky_relu": lambda x: np.where(x > 0, x, x / 8),
    "elu": lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0.0))),
    "selu": lambda x: (
        1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(np.minimum(x, 0.0)))
    ),
    "gelu": _gelu,
    "fast_gelu": _fast_gelu,
    "quick_gelu": lambda x: x * _sigmoid(1.702 * x),
    "bias_gelu": _gelu,
    "erf": _erf,
    "silu": lambda x: x * _sigmoid(x),
    "mish": lambda x: x * np.tanh(_softplus(x)),
    "hard_sigmoid": lambda x: np.clip(x / 6 + 0.5, 0.0, 1.0),
    "hard_swish": lambda x: x * np.clip(x / 6 + 0.5, 0.0, 1.0),
    "sigmoid": _sigmoid,
    "softplus": _softplus,
    "softsign": lambda x: x / (1.0 + np.abs(x)),
    "tanh": np.tanh,
    "exp": lambda x: np.exp(np.clip(x, -60.0, 60.0)),
    "log": lambda x: np.log(np.maximum(np.abs(x), 1e-6)),
    "sqrt": lambda x: np.sqrt(np.abs(x)),
    "reciprocal": lambda x: 1.0 / np.where(x == 0, 1.0, x),
    "sin": np.sin,
    "cos": np.cos,
    "clip": lambda x: np.clip(x, -6.0, 6.0),
    "round": np.rint,
    "floor": np.floor,
    "ceil": np.ceil,
}

_EXACT: Mapping[str, Callable[[Numbers], Numbers]] = {
    "copy": lambda x: x,
    "cast": lambda x: x,
    "dropout": lambda x: x,
    "bias_add": lambda x: x,
    "relu": lambda x: np.maximum(x, 0),
    "abs": np.abs,
    "neg": np.negative,
    "sign": np.sign,
    "square": lambda x: x * x,
    "not": lambda x: (x == 0) * 1,
    "bitwise_not": lambda x: -1 - x,
}


def curve(kind: str, x: Numbers, dtype: str) -> Numbers | None:
    """The function ``kind`` of elements of ``dtype``; None for a kind that is no function of one operand."""
    if kind in _EXACT:
        return _EXACT[kind](x)
    if kind not in _CURVES:
        return None
    if is_float(dtype):
        return _CURVES[kind](x)
    bits = DTYPE_BITS[dtype]
    if bits > _TABLE_BITS:
        return np.rint(np.clip(_CURVES[kind](x / SCALE) * SCALE, -(2.0**62), 2.0**62)).astype(np.int64)
    return np.asarray(_table(kind, dtype)[x - _least(dtype)])


def _least(dtype: str) -> int:
    return -(1 << (DTYPE_BITS[dtype] - 1)) if is_signed(dtype) else 0


@lru_cache(maxsize=256)
def _table(kind: str, dtype: str) -> Numbers:
    """The function of every value of an integer type."""
    values = (np.arange(1 << DTYPE_BITS[dtype]) + _least(dtype)) / SCALE
    return np.rint(_CURVES[kind](values) * SCALE).astype(np.int64)


_INTEGER_PAIRS: Mapping[str, Callable[[Numbers, Numbers], Numbers]] = {
    "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor,
}
_TRUTHS: Mapping[str, Callable[[Numbers, Numbers], Numbers]] = {
    "equal": np.equal,
    "less": np.less,
    "greater": np.greater,
    "and": np.logical_and,
    "or": np.logical_or,
    "xor": np.logical_xor,
}
_PAIRS: Mapping[str, Callable[[Numbers, Numbers], Numbers]] = {
    "add": np.add,
    "bias_add": np.add,
    "bias_gelu": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
    "prelu": lambda a, b: np.where(a > 0, a, a * b),
    "mod": lambda a, b: np.mod(a, np.where(b == 0, 1, b)),
    "pow": lambda a, b: np.power(np.abs(a), np.abs(_whole(b)) & 3),
    "div": lambda a, b: _quotient(a, np.where(b == 0, 1, b)),
}


def combined(kind: str, a: Numbers, b: Numbers) -> Numbers:
    """The function ``kind`` of two operands; of a kind that is not known, a sum in which they differ."""
    if kind in _INTEGER_PAIRS:
        return np.asarray(_INTEGER_PAIRS[kind](_whole(a), _whole(b)))
    if kind in _TRUTHS:
        return np.asarray(_TRUTHS[kind](a, b), np.int64)
    return np.asarray(_PAIRS[kind](a, b) if kind in _PAIRS else a * 3 + b)


def _whole(numbers: Numbers) -> Numbers:
    return np.rint(numbers).astype(np.int64)


def _quotient(a: Numbers, b: Numbers) -> Numbers:
    return np.asarray(a / b if "f" in (a.dtype.kind, b.dtype.kind) else a // b)
