"""The header of an arena in two memories in a compiler, called as the runtime calls its planner."""

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from chipmodel.answers.arena import SplitArenaAnswer
from chipmodel.comparison.split_arena import split_arena
from chipmodel.errors import Place
from reports.export.arena_header import arena_header
from solvers.core.outcome import Limits
from tests.support.folders import data
from tests.support.tflite_models import MODELS
from workloads.from_tflite.model_file import parse_model

CXX = shutil.which("c++") or shutil.which("g++")
needs_compiler = pytest.mark.skipif(CXX is None, reason="there is no C++ compiler")
RUNTIME = {
    "compatibility.h": "#define TF_LITE_REMOVE_VIRTUAL_DELETE void operator delete(void *) {}\n",
    "micro_log.h": '#include <cstdio>\n#define MicroPrintf(...) (std::printf(__VA_ARGS__), std::puts(""))\n',
    "memory_planner/micro_memory_planner.h": data("arena_header/micro_memory_planner.h"),
}
"""As much of the runtime's interface as the header uses."""
MAIN = data("arena_header/main.cpp")


def answered(name: str, sram: int) -> SplitArenaAnswer:
    model = parse_model(MODELS[name]().bytes(), Place("m.tflite"))
    return split_arena(model, "m.tflite", (sram, 1 << 20), None, "exact", Limits(nodes=20_000))


def called(answer: SplitArenaAnswer) -> list[int]:
    """The numbers of every buffer that the runtime adds."""
    asked = [each.request for each in answer.places]
    return [number for each in asked for number in (each.bytes, each.first, each.last)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in RUNTIME.items():
        file = tmp_path / "tensorflow/lite/micro" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"#pragma once\n{text}")
    (tmp_path / "main.cpp").write_text(MAIN)
    return tmp_path


def compiled(folder: Path, answer: SplitArenaAnswer) -> Path:
    (folder / "plan.h").write_text(arena_header(answer))
    strict = ["-std=c++17", "-Wall", "-Wextra", "-Wshadow", "-Werror", "-I."]
    command = [CXX or "", *strict, "main.cpp", "-o", "main"]
    made = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    return folder / "main"


def run(program: Path, *numbers: int) -> tuple[int, str]:
    done = subprocess.run([program, *map(str, numbers)], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


@needs_compiler
@pytest.mark.parametrize(("name", "sram"), [("branches", 1600), ("lstm", 400), ("repeated", 1 << 16)])
def test_the_planner_gives_every_buffer_its_place(folder: Path, name: str, sram: int) -> None:
    answer = answered(name, sram)
    code, out = run(compiled(folder, answer), 0, 1 << 12, *called(answer))
    places = [f"{int(each.in_psram)} {each.offset}" for each in answer.places]
    assert (code, out.splitlines()) == (0, [*places, str(answer.sram_bytes)])


@needs_compiler
def test_other_kernels_get_other_memory_and_other_models_are_refused(folder: Path) -> None:
    answer = answered("branches", 1600)
    assert answer.moved
    program, buffers = compiled(folder, answer), called(answer)
    scope = answer.places[0].request.first
    code, out = run(program, 0, 1 << 12, *buffers, 4096, scope, scope)
    *_, extra, used = out.splitlines()
    assert (code, extra.split()[0], int(used)) == (0, "0", int(extra.split()[1]) + 4096)
    assert int(used) > answer.sram_bytes
    for index in range(3):
        other = [value + 16 * (number == index) for number, value in enumerate(buffers)]
        assert run(program, 0, 1 << 12, *other) == (
            1,
            "m_arena: buffer 0 is another than in the plan; was the model changed?\n",
        )
    assert run(program, 8, 1 << 12, *buffers)[0] == 1
    assert run(program, 0, 40, *buffers)[0] == 1  # room for two requests of kernels, and there are three
    assert run(program, 0, 1 << 12, *buffers[:3])[0] == 1  # a tensor is missing


@needs_compiler
def test_names_end_no_comment(folder: Path) -> None:
    answer = answered("plain", 1 << 16)
    first, *rest = answer.places
    named = replace(first, request=replace(first.request, name="x\n#error \\"))
    compiled(folder, replace(answer, places=(named, *rest)))
