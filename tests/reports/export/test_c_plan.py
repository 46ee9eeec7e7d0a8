"""Plans as C: compiled, run on the host, and compared with the executor byte by byte; faults are noticed."""

import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from chipmodel.answers.result import Result
from chipmodel.cascades.accumulation import in_cascades
from chipmodel.execute.byte_arrays import Bytes
from chipmodel.execute.check import PlanRun, covering_paths
from chipmodel.execute.machine import RunOptions, execute
from chipmodel.execute.memory import homes_of
from chipmodel.execute.reference import random_inputs, random_weights
from chipmodel.geometry.share import WHOLE
from chipmodel.hardware.chip import Chip
from chipmodel.hardware.chip_file import load_chip
from chipmodel.model.commands import Branch, Compute, DmaMove, DmaStart, Repeat
from chipmodel.model.program import Program
from chipmodel.model.tree import walk
from chipmodel.pipeline.plan import plan
from chipmodel.pipeline.plan_export import plan_of, plan_of_planned
from chipmodel.pipeline.request import PlanRequest
from chipmodel.plan_file.contents import PlanFile
from chipmodel.rewrites.in_place import reuse
from reports.export.c_plan import c_files
from reports.export.layout import layout_of
from tests.chipmodel.execute.test_check import joined_network
from tests.chipmodel.verify.test_accumulators import PROGRAM as POOLED, planned as pooled
from tests.chipmodel.verify.test_moves import case as moving
from tests.chipmodel.verify.test_shared_rings import network as sharing, planned as shared_rings
from tests.reports.cascade_sample import cascaded, cascaded_program, in_bands
from tests.support.chips import LUNA_LIKE, with_memory
from workloads.load import load

CC = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
STRICT = ["-O1", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror"]
"""Where it optimises, the compiler follows values, and warns of more."""
needs_cc = pytest.mark.skipif(CC is None, reason="there is no C compiler")


class Case(NamedTuple):
    """A plan, and the program as it runs there."""

    file: PlanFile
    program: Program


def made(workload: str, chip: Chip, streamer: str = "ping-pong", cascade: str = "off") -> Case:
    program = reuse(joined_network().build() if workload == "joined" else load(workload), "all")
    planned = plan(PlanRequest(program, chip, "large-first", streamer, cascade=cascade))
    return Case(plan_of_planned(planned, chip, "chip", ()), planned.program)


def small(memory: int) -> Chip:
    return with_memory(LUNA_LIKE, memory, 1)


CASES: dict[str, tuple[Callable[[], Case], set[str]]] = {
    "straight": (lambda: made("zoo:resnet8", load_chip("luna-arcs")), set()),
    "concat in pieces": (lambda: made("joined", small(700)), {"spill", "strided", "pieces"}),
    "concat in place": (lambda: made("joined", small(4096)), {"runs"}),
    "rolling": (lambda: Case(plan_of(cascaded(), "c", ()), cascaded_program()), {"rolls"}),
    "loop": (lambda: Case(plan_of(cascaded(3), "c", ()), cascaded_program(3)), {"loop", "rolls"}),
    "bands": (lambda: Case(plan_of(in_bands(), "c", ()), in_bands().program), {"bands", "rolls"}),
    "rows in place": (
        lambda: Case(plan_of_planned(shared_rings(sharing()), LUNA_LIKE, "c", ()), sharing()),
        {"shared rows"},
    ),
    "sums": (lambda: Case(plan_of_planned(pooled(), LUNA_LIKE, "c", ()), POOLED), {"sums", "rolls"}),
    "decoder": (lambda: made("workloads/decoder_loop.yaml", load_chip("luna-arcs")), {"loop"}),
    "exits": (lambda: made("workloads/early_exit.yaml", load_chip("luna-arcs")), {"branch"}),
    "moves": (lambda: Case(moving()[2], moving()[0]), {"move"}),
    "recurrent": (
        lambda: made("zoo:rnnoise", load_chip("luna-arcs", ["shared_memory.bytes=16KiB"])),
        {"pieces"},
    ),
    "slices": (lambda: made("workloads/spoken_words.yaml", load_chip("luna-arcs")), {"slides"}),
}


def kinds(case: Case) -> Iterator[str]:
    """What is hard about a plan."""
    for command in walk(case.file.commands):
        match command:
            case Branch():
                yield "branch"
            case Repeat():
                yield "loop"
            case DmaMove():
                yield "move"
            case DmaStart():
                yield from ["pieces"] * (command.at.part.weights and command.at.part.share != WHOLE)
                store = command.direction == "store" and command.at.part.name not in case.program.outputs
                yield from (
                    ["spill"] * store + ["strided"] * (command.runs > 1) + ["slides"] * (command.advance > 0)
                )
            case Compute():
                places = (*command.reads, *command.writes)
                yield from ["bands"] * (command.columns is not None)
                yield from ["rolls"] * any(p.rolls for p in places) + ["runs"] * any(
                    p.runs > 1 for p in places
                )
                yield from ["shared rows"] * any(p.rolls and p.first for p in places)
                yield from ["sums"] * any(p.part.name.endswith(".sums") for p in places)
            case _:
                pass


def written(case: Case, folder: Path, prefix: str = "net") -> dict[str, str | bytes]:
    files = c_files(layout_of(case.file, "plan.json"), case.program, prefix)
    for name, content in files.items():
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return files


def compiled(folder: Path, *files: str) -> None:
    command = [CC or "", "-std=c99", *STRICT, *files, "-o", "main"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def after(folder: Path, *choices: str) -> Bytes:
    """The Psram after a run."""
    command = [str(folder / "main"), "psram.bin", "-o", "after.bin", *choices]
    subprocess.run(command, cwd=folder, check=True)
    return np.fromfile(folder / "after.bin", np.uint8)


def executed(case: Case, path: dict[str, str]) -> Iterator[tuple[str, Bytes, NDArray[np.bool_]]]:
    """The executor's outputs, and which of their bytes are the same whatever lies in memory before."""
    program = in_cascades(case.program, case.file.cascades)
    given = random_inputs(program), random_weights(program), path
    runs = [
        execute(
            program,
            (case.file.commands,),
            case.file.capacity_bytes,
            *given,
            RunOptions(seed),
        )
        for seed in range(5 if any(op.allocates for op in program.ops()) else 1)
    ]
    for name, content in runs[0].outputs.items():
        yield name, content, np.all([run.outputs[name] == content for run in runs], axis=0)


QUICK = ("straight", "concat in pieces", "loop", "exits")


@needs_cc
@pytest.mark.parametrize(
    "name", [each if each in QUICK else pytest.param(each, marks=pytest.mark.slow) for each in CASES]
)
def test_every_byte_of_every_output_is_the_executors(name: str, tmp_path: Path) -> None:
    make, wanted = CASES[name]
    case = make()
    assert wanted <= set(kinds(case))
    written(case, tmp_path)
    compiled(tmp_path, "net_plan.c", "net_plan_host.c")
    plain = subprocess.run(
        [tmp_path / "main", "psram.bin"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert plain.stdout == "".join(f"{each}: equal\n" for each in case.program.outputs)
    assert plain.returncode == 0
    homes = homes_of((case.file.commands,)).tensors
    for path in covering_paths(PlanRun(case.program, (case.file.commands,), case.file.capacity_bytes)):
        psram = after(tmp_path, *(f"{node}={choice}" for node, choice in path.items()))
        for output, right, defined in executed(case, path):
            found = psram[homes[output].start :][: len(right)]
            assert np.array_equal(found[defined], right[defined]), (output, path)


def with_fault(text: str, table: str, column: int, change: int, least: int = 0) -> str:
    """``text`` with a number changed in the last row of a table that has at least ``least`` there."""
    start = text.index(f"net_{table}[] = {{")
    lines = text[start : text.index("\n};", start)].split("\n")
    for line in reversed(lines):
        numbers = [*re.finditer(r"\d+", line.partition("/*")[0])]
        if numbers and int(numbers[column][0]) >= least:
            first, stop = numbers[column].span()
            faulty = f"{line[:first]}{int(numbers[column][0]) + change}{line[stop:]}"
            return text.replace(line, faulty, 1)
    raise AssertionError(table)


FAULTS: dict[str, tuple[str, tuple[int, ...]]] = {
    "rows begin early": ("steps", (1, -1, 1)),
    "rows end late": ("steps", (2, 1)),
    "channels begin early": ("steps", (3, -1, 1)),
    "channels begin late": ("steps", (3, 1)),
    "channels end early": ("steps", (4, -1, 2)),
    "channels end late": ("steps", (4, 1)),
    "another op": ("steps", (0, -1, 1)),
    "an operand less": ("steps", (8, -1, 1)),
    "an output less": ("steps", (10, -1, 1)),
    "an operand of another role": ("operands", (0, 1)),
    "a piece that is longer": ("pieces", (2, 1)),
    "a piece that is shorter": ("pieces", (2, -1, 1)),
    "a piece beyond its memory": ("pieces", (1, 1 << 20)),
    "a piece beyond its tensor": ("pieces", (0, 1 << 20)),
}


@needs_cc
def test_faults_in_the_tables_are_noticed(tmp_path: Path) -> None:
    """Rows, channels and operands of a step are what it reads and makes."""
    case = CASES["concat in pieces"][0]()
    text = str(written(case, tmp_path)["net_plan.c"])
    subprocess.run([CC or "", "-std=c99", "-c", "net_plan_host.c"], cwd=tmp_path, check=True)
    for name, (table, fault) in {"none": ("steps", (0, 0)), **FAULTS}.items():
        (tmp_path / "net_plan.c").write_text(with_fault(text, table, *fault))
        compiled(tmp_path, "net_plan.c", "net_plan_host.o")
        command = [str(tmp_path / "main"), "psram.bin"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert (done.returncode == 0) == (name == "none"), (name, done)


@needs_cc
@pytest.mark.parametrize(
    ("result", "macro", "row", "rows", "of_rows"),
    [(cascaded, "FIRST_ROWS", "first rows", 9, 512), (in_bands, "LEFT_ROWS_BAND_0", "left rows", 3, 260)],
)
def test_rows_of_rolling_buffers(
    result: Callable[[], Result], macro: str, row: str, rows: int, of_rows: int, tmp_path: Path
) -> None:
    run = result()
    written(Case(plan_of(run, "c", ()), run.program), tmp_path)
    (tmp_path / "main.c").write_text(f"""#include "net_plan.h"
#include <stdio.h>
int main(void) {{
  unsigned row;
  for (row = 0; row < 12; row++) printf("%lu\\n", (unsigned long)(NET_ROW_{macro}(row)));
  return 0;
}}
""")
    compiled(tmp_path, "main.c")
    said = subprocess.run([tmp_path / "main"], capture_output=True, text=True, check=True).stdout
    start = run.solved.plan.offsets[row]
    assert said.split() == [str(start + number % rows * of_rows) for number in range(12)]


def test_tensors_inside_of_others_have_names() -> None:
    case = made("joined", small(4096))
    header = str(c_files(layout_of(case.file, "p"), case.program, "net")["net_plan.h"])
    assert "#define NET_OFFSET_A (NET_OFFSET_BOTH + 0u)" in header
    assert "#define NET_OFFSET_B (NET_OFFSET_BOTH + 64u)" in header
