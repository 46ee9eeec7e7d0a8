"""The text of one function in LLVM's intermediate language, as it grows."""

from __future__ import annotations

from dataclasses import dataclass

from solvers.search.native.types import Record, Scalar, Table


@dataclass(frozen=True, slots=True)
class ScalarValue:
    """A scalar: a constant or the name of what an instruction computed."""

    type: Scalar
    text: str


@dataclass(frozen=True, slots=True)
class TableValue:
    """An array: names of its address, rows and columns."""

    table: Table
    address: str
    rows: str
    columns: str


@dataclass(frozen=True, slots=True)
class RecordValue:
    """A record of arrays: the name of its address."""

    record: Record
    address: str


AnyValue = ScalarValue | TableValue | RecordValue


class Writer:
    """Instructions in order, in blocks each of which ends with one jump or return."""

    def __init__(self) -> None:
        self._slots: list[str] = []
        self._lines: list[str] = []
        self._count = 0
        self._open = True
        """Whether the current block has no end yet: what follows an end is never reached, and dropped."""

    def fresh(self, prefix: str = "v") -> str:
        """A name that is used nowhere else in the function."""
        self._count += 1
        return f"{prefix}{self._count}"

    def compute(self, instruction: str) -> str:
        """Append an instruction; the name of its result."""
        name = f"%{self.fresh()}"
        self.do(f"{name} = {instruction}")
        return name

    def do(self, instruction: str) -> None:
        """Append an instruction without result."""
        if self._open:
            self._lines.append(f"  {instruction}")

    def slot(self, llvm: str) -> str:
        """The address of a new variable, 0 at first, in the function's first block."""
        name = f"%{self.fresh('slot')}"
        zero = "0.0" if llvm == "double" else "0"
        self._slots += [f"  {name} = alloca {llvm}", f"  store {llvm} {zero}, ptr {name}"]
        return name

    def load(self, kind: Scalar, address: str) -> ScalarValue:
        """Read a variable or an element of an array."""
        return ScalarValue(kind, self.compute(f"load {kind.llvm}, ptr {address}"))

    def store(self, value: ScalarValue, address: str) -> None:
        """Write a variable or an element of an array."""
        self.do(f"store {value.type.llvm} {value.text}, ptr {address}")

    def jump(self, label: str) -> None:
        """End the block."""
        self.do(f"br label %{label}")
        self._open = False

    def fork(self, condition: ScalarValue, yes: str, no: str) -> None:
        """End the block with a jump to one of two labels."""
        self.do(f"br i1 {condition.text}, label %{yes}, label %{no}")
        self._open = False

    def leave(self, value: ScalarValue | None) -> None:
        """End the block by returning from the function."""
        self.do("ret void" if value is None else f"ret {value.type.llvm} {value.text}")
        self._open = False

    def begin(self, label: str) -> None:
        """Begin the block ``label``; an open block before it goes on there."""
        if self._open:
            self.jump(label)
        self._lines.append(f"{label}:")
        self._open = True

    def text(self) -> str:
        """The body of the function."""
        return "\n".join(["entry:", *self._slots, "  br label %body", "body:", *self._lines])
