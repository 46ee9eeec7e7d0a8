"""The compiled kernel as a module: its arrays, threads, and what is without it."""

import sys
import warnings
from dataclasses import replace
from random import Random
from threading import Event, Thread
from typing import Any

import numpy as np
import pytest

from chipmodel.errors import LimitedSearch
from chipmodel.model.plan import Problem
from solvers.core.outcome import Limits
from solvers.search import columns as col
from solvers.search.complete import fit, minimise
from solvers.search.model import ConstraintClash, NotSearchable, SearchModel, search_model
from solvers.search.state import SearchState
from solvers.search.tables import rank, search_state
from solvers.search.workers import SearchRun, compiled_kernel
from tests.solvers.random_problems import random_problem
from tests.support.folders import WORKLOADS
from tests.support.processes import run_python
from workloads.packing.guillotine import guillotine

PROBLEMS = 150
COMPILED: Any = compiled_kernel()
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


def test_the_compiled_kernel_is_there() -> None:
    assert COMPILED is not None, BUILD


def test_a_search_ends_in_three_ways() -> None:
    """Some problems are searched to the end, some have plans, and some wait for more nodes."""
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


def test_without_the_compiled_kernel_there_is_a_warning_and_nothing_is_searched(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "solvers.search._kernel", None)
    problem = guillotine(20, 3, 70, 4096)
    compiled_kernel.cache_clear()
    try:
        with pytest.warns(LimitedSearch, match="without the compiled search.*solvers.search._kernel"):
            outcome = fit(problem, 4096, Limits())
        assert (outcome.status, outcome.lower_bound) == ("unknown", 0)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert minimise(problem, Limits()).status == "unknown"
    finally:
        compiled_kernel.cache_clear()


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


@pytest.mark.slow
@pytest.mark.parametrize("packer", ["exact", "auto"])
def test_pack_works_without_the_compiled_kernel(packer: str) -> None:
    """A packing without waste, which no heuristic finds: CP-SAT does."""
    code = "import sys; sys.modules['solvers.search._kernel'] = None; from chipmodel.cli.main import main;"
    code += f"sys.argv = ['chipmodel', 'pack', 'guillotine:n=40,seed=1', '--packer', '{packer}']; main()"
    ended = run_python(code)
    assert ended.returncode == 0
    assert ended.stderr.count("note: heuristics and CP-SAT pack without the compiled search") == 1
    assert "no plan needs less" in " ".join(ended.stdout.split())


def test_the_example_loads_nothing_large() -> None:
    source = WORKLOADS / "packing-example.csv"
    code = f"import sys; sys.argv = ['chipmodel', 'pack', {str(source)!r}]\n"
    code += "from chipmodel.cli.main import main\ntry: main()\n"
    code += "finally: print(sorted(sys.modules), file=sys.stderr)"
    ended = run_python(code)
    assert "no plan needs less" in " ".join(ended.stdout.split())
    assert "'solvers.search.workers'" in ended.stderr
    for heavy in ("numba", "ortools", "plotly", "onnx"):
        assert f"'{heavy}'" not in ended.stderr
