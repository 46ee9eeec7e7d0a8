"""The header in a compiler, and its numbers in a program."""

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from chipmodel.model.commands import DmaStart
from chipmodel.pipeline.plan_export import plan_of
from chipmodel.plan_file.contents import PlanFile
from reports.export.c_header import c_header, identifiers
from reports.export.layout import Layout, layout_of, moves
from tests.reports.cascade_sample import cascaded, in_bands
from tests.reports.plan_files import BUFFERS, plan, plan_of_cores

CC = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
CXX = shutil.which("c++") or shutil.which("g++")
STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror"]
needs_cc = pytest.mark.skipif(CC is None, reason="there is no C compiler")
MAIN = """#define NET_TABLES
#include "plan.h"
#include "plan.h"
#include <stdio.h>
int main(void) {
  unsigned i;
  printf("%lu %lu %lu %u %u\\n", (unsigned long)NET_CAPACITY, (unsigned long)NET_PEAK,
         (unsigned long)NET_ALIGNMENT, NET_STEPS, (unsigned)NET_INDEX_Z);
  for (i = 0; i < NET_BUFFERS; i++)
    printf("%lu %lu\\n", (unsigned long)net_buffers[i].offset, (unsigned long)net_buffers[i].bytes);
  for (i = 0; i < NET_TRANSFERS; i++) {
    const struct net_transfer *t = &net_transfers[i];
    printf("%lu %lu %lu %lu %lu %u %u %u\\n", (unsigned long)t->source, (unsigned long)t->destination,
           (unsigned long)t->bytes, (unsigned long)t->runs, (unsigned long)t->pitch,
           t->step, t->due, t->store);
  }
  return 0;
}
"""


def compiled(folder: Path, header: str, main: str, *options: str) -> subprocess.CompletedProcess[str]:
    (folder / "plan.h").write_text(header)
    (folder / "main.c").write_text(main)
    command = [CC or "", "-std=c99", *STRICT, *options, "main.c", "-o", "main"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def run(folder: Path, header: str, main: str, *options: str) -> str:
    made = compiled(folder, header, main, *options)
    assert made.returncode == 0, made.stderr
    return subprocess.run([folder / "main"], capture_output=True, text=True, check=True).stdout


def expected(layout: Layout, index: int) -> str:
    lines: list[tuple[int, ...]] = [(layout.capacity, layout.peak, layout.alignment, 5, index)]
    lines += [(b.offset, b.bytes) for b in layout.buffers]
    for move in moves(layout):
        start, due = move.start, 0xFFFFFFFF if move.due is None else move.due
        ends = (move.shared, start.psram) if start.direction == "store" else (start.psram, move.shared)
        sizes = start.bytes, start.runs, start.pitch
        lines.append((*ends, *sizes, move.step, due, int(start.direction == "store")))
    return "".join(" ".join(map(str, line)) + "\n" for line in lines)


@needs_cc
@pytest.mark.parametrize("far", [0, 1 << 33])
def test_the_numbers_of_a_compiled_header_are_the_plans(far: int, tmp_path: Path) -> None:
    made = plan()
    if far:
        first, *rest = made.commands
        assert isinstance(first, DmaStart)
        made = replace(made, commands=(replace(first, psram=far), *rest))
    layout = layout_of(made, "p")
    out = run(tmp_path, c_header(layout, "net"), MAIN)
    assert out == expected(layout, 2)
    assert (str(1 << 33) in out) == bool(far)


@needs_cc
def test_a_smaller_memory_does_not_compile(tmp_path: Path) -> None:
    header = c_header(layout_of(plan(), "p"), "net")
    assert compiled(tmp_path, header, MAIN, "-DNET_CAPACITY=224u").returncode == 0
    refused = compiled(tmp_path, header, MAIN, "-DNET_CAPACITY=223u")
    assert refused.returncode != 0
    assert "net_plan_fits_its_memory" in refused.stderr


@needs_cc
def test_two_plans_and_two_files_make_one_program(tmp_path: Path) -> None:
    (tmp_path / "one.h").write_text(c_header(layout_of(plan_of_cores(), "p", 1), "one"))
    (tmp_path / "other.c").write_text(
        '#include "plan.h"\nint other(void);\nint other(void) { return NET_STEPS; }\n'
    )
    main = '#include "one.h"\n' + MAIN
    out = run(tmp_path, c_header(layout_of(plan(), "p"), "net"), main, "other.c")
    assert out.startswith("256 224 16 5 2\n")


@needs_cc
def test_an_empty_plan_compiles(tmp_path: Path) -> None:
    empty = PlanFile("w", "c", (), 0, 0, 1, (), (), ())
    main = '#define NET_TABLES\n#include "plan.h"\nint main(void) { return NET_BUFFERS + NET_TRANSFERS; }\n'
    assert run(tmp_path, c_header(layout_of(empty, "p"), "net"), main) == ""


@pytest.mark.skipif(CXX is None, reason="there is no C++ compiler")
def test_the_header_compiles_as_cplusplus(tmp_path: Path) -> None:
    (tmp_path / "plan.h").write_text(c_header(layout_of(plan(), "p"), "net"))
    (tmp_path / "main.cc").write_text(
        '#define NET_TABLES\n#include "plan.h"\nint main() { return net_buffers[0].offset; }\n'
    )
    command = [CXX or "", "-Wall", "-Wextra", "-Werror", "main.cc", "-o", "main"]
    made = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr


def test_every_buffer_has_a_macro_and_every_name_its_comment() -> None:
    header = c_header(layout_of(plan(), "p"), "net")
    for buffer, word in zip(BUFFERS, identifiers((b.name for b in BUFFERS), 40).values(), strict=True):
        assert f"#define NET_OFFSET_{word} {buffer.offset}u\n" in header
        assert f"#define NET_BYTES_{word} {buffer.bytes}u\n" in header
    assert "/* load x */" in header
    assert header.count("*/") == header.count("/*")


def test_the_header_of_a_core_names_the_core() -> None:
    header = c_header(layout_of(plan_of_cores(), "p", 1), "net")
    assert "core 1 of chip" in header
    assert "Waits of one core for another are not included." in header
    assert "net_transfers" not in header


@needs_cc
def test_rows_of_rolling_buffers_in_a_program(tmp_path: Path) -> None:
    result = cascaded()
    header = c_header(layout_of(plan_of(result, "alif-e7", ()), "plan.json"), "net")
    main = """#include "plan.h"
#include <stdio.h>
int main(void) {
  unsigned row;
  for (row = 0; row < 12; row++) printf("%lu ", (unsigned long)(NET_ROW_FIRST_ROWS(row)));
  printf("%u %u %u\\n", NET_CASCADES, NET_CASCADE_0_FIRST_STEP, NET_CASCADE_0_LAST_STEP);
  return 0;
}
"""
    start = result.solved.plan.offsets["first rows"]
    places = [start + row % 9 * 512 for row in range(12)]
    assert run(tmp_path, header, main) == " ".join(map(str, [*places, 1, 0, 19])) + "\n"


def test_a_plan_without_cascades_has_no_rolling_buffers() -> None:
    header = c_header(layout_of(plan(), "plan.json"), "net")
    assert "CASCADE" not in header
    assert "ROW" not in header


@needs_cc
def test_rows_of_rolling_buffers_in_bands_of_columns(tmp_path: Path) -> None:
    result = in_bands()
    header = c_header(layout_of(plan_of(result, "alif-e7", ()), "plan.json"), "net")
    assert "/* left rows: rows of left, columns [63, 128) */" in header
    main = """#include "plan.h"
#include <stdio.h>
int main(void) {
  unsigned row;
  for (row = 0; row < 5; row++) printf("%lu ", (unsigned long)(NET_ROW_LEFT_ROWS_BAND_0(row)));
  printf("%lu\\n", (unsigned long)(NET_ROW_LEFT_ROWS_BAND_1(4)));
  return 0;
}
"""
    start = result.solved.plan.offsets["left rows"]
    places = [start + row % 3 * 260 for row in (*range(5), 4)]
    assert run(tmp_path, header, main) == " ".join(map(str, places)) + "\n"
