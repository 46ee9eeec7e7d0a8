"""Machine code of a program in LLVM's language: made, kept on disk, loaded, called."""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# llvmlite has no types.

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import Any

import llvmlite
import llvmlite.binding as llvm

from solvers.search.native.cache import keep, kept
from solvers.search.native.program import program
from solvers.search.native.types import BOOL, FLOAT, INT, NOTHING, Record, Scalar, Type, signature

Function = Callable[..., Any]
OPTIMISATION = 2
_C_TYPES: dict[Scalar, Any] = {
    INT: ctypes.c_int64,
    FLOAT: ctypes.c_double,
    BOOL: ctypes.c_bool,
    NOTHING: None,
}


class MachineCode:
    """Functions as machine code, which release the interpreter's lock while they run."""

    def __init__(self, entries: Sequence[Function], sources: str) -> None:
        """Load the machine code of ``entries`` from disk, or make it and keep it there.

        ``sources`` is a checksum of all that it is made of besides this package, LLVM and the processor.
        Raises Untranslatable for a function that leaves the subset.
        """
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        machine = _target()
        name = _file_name(sources)
        code = kept(name)
        self.made = code is None
        """Whether it had to be made, which takes about a second."""
        if code is None:
            code = _compiled(program(entries), machine)
            keep(name, code)
        self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
        self._engine.add_object_file(llvm.object_file.ObjectFileRef.from_data(code))
        self._engine.finalize_object()

    def function(self, entry: Function) -> Callable[..., Any]:
        """``entry`` as machine code: an array is passed as its address, rows and columns, a record as the
        address of three such numbers for each array."""
        types = signature(entry)
        parameters = [c_type for _, kind in types.parameters for c_type in _parameters(kind)]
        call = ctypes.CFUNCTYPE(_C_TYPES[types.result], *parameters)
        return call(self._engine.get_function_address(entry.__name__))


def _parameters(kind: Type) -> list[Any]:
    if isinstance(kind, Scalar):
        return [_C_TYPES[kind]]
    return [ctypes.c_void_p] + ([] if isinstance(kind, Record) else [ctypes.c_int64, ctypes.c_int64])


def _target() -> llvm.TargetMachine:
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(
        cpu=llvm.get_host_cpu_name(),
        features=llvm.get_host_cpu_features().flatten(),
        opt=OPTIMISATION,
        reloc="pic",
        codemodel="jitdefault",
        jit=True,
    )


def _file_name(sources: str) -> str:
    """A name that no other machine code has."""
    parts = (
        sources,
        llvmlite.__version__,
        *map(str, llvm.llvm_version_info),
        llvm.get_default_triple(),
        llvm.get_host_cpu_name(),
        llvm.get_host_cpu_features().flatten(),
        str(OPTIMISATION),
    )
    return f"search-{sha256('/'.join(parts).encode()).hexdigest()[:32]}.bin"


def _compiled(text: str, machine: llvm.TargetMachine) -> bytes:
    module = llvm.parse_assembly(text)
    module.triple = machine.triple
    module.data_layout = str(machine.target_data)
    module.verify()
    options = llvm.create_pipeline_tuning_options(speed_level=OPTIMISATION)
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    return bytes(machine.emit_object(module))
