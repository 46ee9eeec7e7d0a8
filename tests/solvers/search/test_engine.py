"""The compiled kernel and its Python text: equal in every array, whichever of them is there."""

import os
import shutil
import subprocess
import sys
import warnings
from dataclasses import replace
from pathlib import Path
from random import Random
from threading import Event, Thread

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from chipmodel.errors import LimitedSearch
from chipmodel.model.plan import Problem
from solvers.search import columns as col, kernel as python_kernel
from solvers.search.fuse import fused
from solvers.search.model import ConstraintClash, NotSearchable, SearchModel, search_model
from solvers.search.state import SearchState, copy
from solvers.search.tables import rank, search_state
from solvers.search.workers import Kernel, SearchRun, fastest_kernel
from tests.solvers.random_problems import random_problem
from tests.support.folders import ROOT, WORKLOADS
from tests.support.minimalloc import CAPACITY, instances
from tests.support.processes import run_python
from workloads.packing.guillotine import guillotine
from workloads.packing.problem_csv import read_packing

PROBLEMS = 150
PAUSES = (1, 2, 17, 60)
"""Nodes after which the arrays are compared."""
COMPILED = fastest_kernel()
BUILD = "build the kernel first: python setup.py build_ext --inplace"


def random_model(random: Random) -> SearchModel | None:
    """A small problem with constraints of all kinds, or a larger one with lifetimes only."""
    if random.random() < 0.3:
        full = guillotine(random.randint(10, 90), random.randrange(99), 70, 4096)
        return search_model(Problem(full.buffers))
    try:
        small = random_problem(random.randrange(10**6), random.randint(2, 9))
        return search_model(replace(small, capacity=None))
    except (ConstraintClash, NotSearchable):
        return None


def random_state(random: Random, model: SearchModel) -> SearchState:
    top = random.randint(model.bound(), max(model.bound() + model.bound() // 8, 16))
    state = search_state(model, top, random.randrange(16))
    rank(state, [random.random() for _ in model.items])
    state.control[col.BRANCH_RULE] = random.randrange(col.BRANCH_RULES)
    state.control[col.FLUSH_FIRST] = random.randrange(2)
    return state


def compare(blank: SearchState, pauses: list[int]) -> None:
    """Search with both kernels and compare all arrays at each pause."""
    kernels: tuple[Kernel, Kernel] = (COMPILED, python_kernel)
    runs = [SearchRun(copy(blank), kernel) for kernel in kernels]
    for run in runs:
        run.restart()
    for pause, nodes in enumerate(pauses):
        compiled, python = (run.run(nodes) for run in runs)
        assert compiled == python, pause
        for name, one, other in zip(blank._fields, runs[0].state, runs[1].state, strict=True):
            assert np.array_equal(one, other), (pause, name)
        if compiled != col.RUNNING:
            return


def test_the_compiled_kernel_is_there() -> None:
    assert COMPILED is not python_kernel, BUILD


@settings(max_examples=PROBLEMS)
@given(st.integers(0, 10**6), st.lists(st.sampled_from(PAUSES), min_size=1, max_size=30))
def test_the_compiled_kernel_does_to_every_array_what_python_does(seed: int, pauses: list[int]) -> None:
    random = Random(seed)
    model = random_model(random)
    if model is not None:
        compare(random_state(random, model), pauses)


@pytest.mark.parametrize("rule", range(col.BRANCH_RULES))
@pytest.mark.parametrize("flush_first", [0, 1])
def test_so_it_does_with_hundreds_of_buffers(rule: int, flush_first: int) -> None:
    full = guillotine(250, rule, 200, 1 << 20)
    state = search_state(search_model(replace(full, capacity=None)), 1 << 20)
    state.control[col.BRANCH_RULE], state.control[col.FLUSH_FIRST] = rule, flush_first
    compare(state, [*PAUSES, 200])


@pytest.mark.skipif(not instances(), reason="CHIPMODEL_MINIMALLOC names no folder of MiniMalloc's CSV files")
def test_so_it_does_on_minimallocs_instances() -> None:
    for path in instances():
        model = fused(search_model(read_packing(path, None, ()).problem), CAPACITY)
        compare(search_state(model, CAPACITY), [*PAUSES, 200])


def test_the_arrays_reach_all_that_the_comparison_is_about() -> None:
    """Some of those problems are searched to the end, some have plans, and some wait for more nodes."""
    ends = set[int]()
    for seed in range(PROBLEMS):
        random = Random(seed)
        model = random_model(random)
        if model is not None:
            run = SearchRun(random_state(random, model))
            run.restart()
            ends.add(run.run(600))
    assert ends >= {col.RUNNING, col.FOUND, col.EXHAUSTED}


def test_other_threads_run_while_it_searches() -> None:
    """Which therefore see the number of nodes rise; else they would see multiples of ``once`` only."""
    once, found = 10_000, Event()
    run = SearchRun(search_state(search_model(guillotine(300, seed=1)), 1 << 20, rules=0))
    run.restart()

    def search() -> None:
        for _ in range(300):
            if not found.is_set():
                run.run(once)

    thread = Thread(target=search)
    thread.start()
    while thread.is_alive() and not found.is_set():
        if run.state.control[col.NODES] % once:
            found.set()
    thread.join()
    assert run.state.control[col.STATUS] == col.RUNNING
    assert found.is_set()


def test_without_the_compiled_kernel_the_search_warns_once_and_runs_as_python(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "solvers.search._kernel", None)
    fastest_kernel.cache_clear()
    try:
        with pytest.warns(LimitedSearch, match="runs as Python.*solvers.search._kernel"):
            assert fastest_kernel() is python_kernel
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            run = SearchRun(search_state(search_model(guillotine(20, 3, 70, 4096)), 4096))
    finally:
        fastest_kernel.cache_clear()
    run.restart()
    run.run(50)
    assert run.state.control[col.NODES] >= 20


@pytest.mark.parametrize("field", SearchState._fields)
def test_arrays_of_another_shape_are_refused(field: str) -> None:
    state = search_state(search_model(guillotine(20, 3, 70, 4096)), 4096)
    array = getattr(state, field)
    wrongs = [array[::2], array.astype(np.int32), array.tolist()]
    if field != "sets":  # which are as wide as they need
        wrongs.append(array[..., :-1].copy())
    for wrong in wrongs:
        with pytest.raises((ValueError, TypeError, BufferError)):
            COMPILED.run(state._replace(**{field: wrong}), 1)


def test_pack_works_without_the_compiled_kernel_and_says_that_it_is_slow() -> None:
    code = "import sys; sys.modules['solvers.search._kernel'] = None; from chipmodel.cli.main import main;"
    code += "sys.argv = ['chipmodel', 'pack', 'guillotine:n=300,seed=1', '--node-limit', '300']; main()"
    ended = run_python(code)
    assert ended.returncode == 0
    assert ended.stderr.count("note: the search runs as Python") == 1


def test_the_example_loads_nothing_large() -> None:
    source = WORKLOADS / "packing-example.csv"
    code = f"import sys; sys.argv = ['chipmodel', 'pack', {str(source)!r}]\n"
    code += "from chipmodel.cli.main import main\ntry: main()\n"
    code += "finally: print(sorted(sys.modules), file=sys.stderr)"
    ended = run_python(code)
    assert "no plan needs less" in ended.stdout
    assert "'solvers.search.kernel'" in ended.stderr
    for heavy in ("numba", "ortools", "plotly", "onnx"):
        assert f"'{heavy}'" not in ended.stderr


MAPS = """
import sys
from pathlib import Path
opened = []
sys.addaudithook(lambda event, found: opened.append(str(found[0])) if event.endswith("open") else None)
sys.argv = ["chipmodel", "pack", "guillotine:n=60,seed=1"]
from chipmodel.cli.main import main
try:
    main()
finally:
    lines = [line.split(maxsplit=5) for line in Path("/proc/self/maps").read_text().splitlines()]
    mapped = {line[5] for line in lines if "x" in line[1] and line[-1].startswith("/")}
    print(*sorted(mapped), sep="\\n", file=sys.stderr)
    print("opened:", *opened, file=sys.stderr)
"""


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="no /proc/self/maps here")
def test_machine_code_is_loaded_from_the_installation_only(tmp_path: Path) -> None:
    """Whatever lies in the working folder, at home, or in a cache."""
    names = ("XDG_CACHE_HOME", "CHIPMODEL_CACHE", "HOME", "PWD")
    planted = {name: tmp_path / name for name in names}
    library = Path(COMPILED.__file__)  # type: ignore[attr-defined]
    for folder in planted.values():
        for inside in ("", ".cache/chipmodel", "chipmodel", "solvers/search"):
            (folder / inside).mkdir(parents=True, exist_ok=True)
            for name in (library.name, "_kernel.so", f"search-{'0' * 32}.bin"):
                shutil.copy(library, folder / inside / name)
    variables = os.environ | {name: str(folder) for name, folder in planted.items()}
    ended = subprocess.run(
        [sys.executable, "-P", "-c", MAPS],
        cwd=planted["PWD"],
        env=variables | {"XDG_CACHE_HOME": "../XDG_CACHE_HOME", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    mapped, _, opened = ended.stderr.partition("opened:")
    assert str(library) in mapped.splitlines()
    places = [ROOT / "solvers", Path(sys.prefix), Path(sys.base_prefix), Path("/lib"), Path("/usr/lib")]
    roots = tuple(f"{place}/" for each in places for place in (each, each.resolve()))
    assert [path for path in mapped.split() if not path.startswith(roots)] == []
    assert str(tmp_path) not in mapped + opened
