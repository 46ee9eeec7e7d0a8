"""Workloads: files, built-in networks, models in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Protocol, TypeAlias, runtime_checkable

from chipmodel.api.arguments import checked
from chipmodel.api.effort import TimeLimit
from chipmodel.errors import BadInput
from chipmodel.model.program import Program
from chipmodel.rewrites.states import with_states
from chipmodel.rewrites.steady_state import steady
from workloads.build.control_options import with_probabilities
from workloads.build.read_options import ReadOptions
from workloads.from_python.network import Network
from workloads.load import load as load_source, load_bytes
from workloads.profile import read_profile, with_profile


@runtime_checkable
class ModelProto(Protocol):
    """What is asked of an ``onnx.ModelProto``, which is not imported for it."""

    def SerializeToString(self) -> bytes:  # noqa: N802
        """The contents of an ONNX file."""
        ...


WorkloadSource: TypeAlias = str | Path | bytes | ModelProto | Network | Program
"""What names a workload: a file or ``zoo:NAME``, a file's contents, a model, or a program itself."""

Chance: TypeAlias = float | Fraction


@checked
def load(
    source: WorkloadSource,
    *,
    name: str = "model",
    dtype: str | None = None,
    shapes: Mapping[str, Sequence[int] | int] | None = None,
    strict: bool = False,
    iterations: Mapping[str, int] | None = None,
    values: Mapping[str, Sequence[float] | float] | None = None,
    probabilities: Mapping[str, Chance | Sequence[Chance]] | None = None,
    profile: str | Path | None = None,
    states: Mapping[str, str] | None = None,
    inferences: int | None = None,
    time_limit: float | TimeLimit | None = None,
) -> Program:
    """Return the workload that ``source`` names, as a validated program.

    Parameters
    ----------
    source
        A .yaml, .onnx or .tflite file, ``zoo:NAME``, ``onnx:NAME``, the contents of an ONNX or TensorFlow
        Lite file (of YAML where ``name`` ends in .yaml), an ``onnx.ModelProto``, a ``Network``, or a program.
    name
        What messages call a source that is no file.
    dtype
        The type in which tensors and weights are deployed, such as ``"int8"``.
    shapes
        Shapes of inputs, and the sizes of symbols in them.
    strict
        Whether an unknown operator is an error.
    iterations
        How often each loop of a model runs.
    values
        What inputs of an ONNX model hold, row by row; shapes and arms may depend on them.
    probabilities
        The probability of the first arm of each ``if``, or of all its arms.
    profile
        A CSV file with measured cycles of ops.
    states
        Inputs, each with the output that has its next value; ``*`` in both stands for any text.
    inferences
        How many inferences follow one another; weights may stay from one to the next.
    time_limit
        Seconds, or a limit that further calls share.

    Returns
    -------
    Program
        Its ``notes`` say what was assumed.

    Raises
    ------
    BadInput
        If the source cannot be read; with file, line and column where it has them.
    TimeIsOver
        If the time limit comes first.

    Examples
    --------
    >>> load("zoo:resnet8").parameters
    77706
    """
    if isinstance(source, Program | Network):
        program = source if isinstance(source, Program) else source.build()
        _refuse(dtype=dtype, shapes=shapes, iterations=iterations, values=values)
    else:
        limit = time_limit if isinstance(time_limit, TimeLimit) else TimeLimit(time_limit)
        options: ReadOptions = {
            "dtype": dtype,
            "shapes": {n: (s,) if isinstance(s, int) else tuple(s) for n, s in (shapes or {}).items()},
            "strict": strict,
            "iterations": iterations or {},
            "values": {
                n: (v,) if isinstance(v, int | float) else tuple(v) for n, v in (values or {}).items()
            },
            "deadline": limit.grace,
        }
        if isinstance(source, str | Path):
            program = load_source(str(source), **options)
        else:
            data = source if isinstance(source, bytes) else source.SerializeToString()
            program = load_bytes(data, name, **options)
    if probabilities:
        program = with_probabilities(program, {n: _chances(p) for n, p in probabilities.items()})
    if profile is not None:
        program = with_profile(program, read_profile(Path(profile)))
    program = with_states(program, tuple((states or {}).items()))
    return program if inferences is None else steady(program, inferences)


def _refuse(**options: object) -> None:
    """Raise BadInput for an option that belongs where a program is made."""
    for option, value in options.items():
        if value:
            what = f"{option} says nothing about a program"
            raise BadInput(what, hint="give it where the program is made")


def _chances(given: Chance | Sequence[Chance]) -> tuple[Fraction, ...]:
    """Probabilities as exact numbers, of 0.3 as the decimal fraction that it was written as."""
    many = given if isinstance(given, Sequence) else (given,)
    return tuple(each if isinstance(each, Fraction) else Fraction(str(each)) for each in many)
