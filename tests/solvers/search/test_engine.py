"""The search as machine code and as Python: equal in every array, whichever of them is there."""

from __future__ import annotations

import re
import warnings
from functools import cache
from pathlib import Path
from random import Random

import numpy as np
import pytest

from chipmodel.errors import LimitedSearch
from chipmodel.model.plan import Problem
from solvers.search import columns as col
from solvers.search import engine, kernel
from solvers.search.engine import (
    COMPILED_FROM,
    TRANSLATED_BY,
    Engine,
    Entries,
    SearchRun,
    addresses,
    fingerprint,
    machine_code,
)
from solvers.search.model import ConstraintClash, NotSearchable, SearchModel, search_model
from solvers.search.native.program import modules_of
from solvers.search.state import SearchState, copy
from solvers.search.tables import rank, search_state
from tests.solvers.brute_force import MOST, random_problem
from tests.support.folders import WORKLOADS
from tests.support.processes import run_python
from workloads.packing.guillotine import guillotine

FOLDER = Path(engine.__file__).parent
PROBLEMS = 150
STEPS = 30


@cache
def entries() -> Entries:
    return machine_code()


def absent() -> Entries:
    raise ImportError("no LLVM here")


def random_model(random: Random) -> SearchModel | None:
    """A small problem with constraints of all kinds, or a larger one with lifetimes only."""
    if random.random() < 0.3:
        full = guillotine(random.randint(10, 90), random.randrange(99), 70, 4096)
        return search_model(Problem(full.buffers))
    try:
        return search_model(random_problem(random, random.randint(2, 9)))
    except (ConstraintClash, NotSearchable):
        return None


def random_state(random: Random, model: SearchModel) -> SearchState:
    top = random.randint(model.bound(), max(model.bound() + model.bound() // 8, MOST))
    state = search_state(model, top, random.randrange(16))
    rank(state, [random.random() for _ in model.items])
    state.control[col.BRANCH_RULE] = random.randrange(col.BRANCH_RULES)
    state.control[col.FLUSH_FIRST] = random.randrange(2)
    return state


@pytest.mark.parametrize("seed", range(PROBLEMS))
def test_machine_code_does_to_every_array_what_python_does(seed: int) -> None:
    random = Random(seed)
    model = random_model(random)
    if model is None:
        return
    blank = random_state(random, model)
    compiled = SearchRun(copy(blank), Engine(entries, 0))
    python = SearchRun(copy(blank), Engine(absent, 10**9))
    for run in (compiled, python):
        run.restart()
    for step in range(STEPS):
        nodes = random.choice((1, 2, 17, 60))
        assert compiled.run(nodes) == python.run(nodes), step
        for name, one, other in zip(blank._fields, compiled.state, python.state, strict=True):
            assert np.array_equal(one, other), (step, name)
        if compiled.state.control[col.STATUS] != col.RUNNING:
            break


def test_the_arrays_reach_all_that_the_comparison_is_about() -> None:
    """Some of those problems are searched to the end, some have plans, and some wait for more nodes."""
    ends = set[int]()
    for seed in range(PROBLEMS):
        random = Random(seed)
        model = random_model(random)
        if model is not None:
            run = SearchRun(random_state(random, model), Engine(entries, 0))
            run.restart()
            ends.add(run.run(STEPS * 20))
    assert ends >= {col.RUNNING, col.FOUND, col.EXHAUSTED}


def test_python_hands_over_when_its_share_is_done() -> None:
    model = search_model(guillotine(60, 3, 70, 4096))
    runs = [SearchRun(search_state(model, 4096), Engine(entries, work)) for work in (0, 999, 10**9)]
    for run in runs:
        run.restart()
        run.run(1000)
    for run in runs[1:]:
        assert all(np.array_equal(a, b) for a, b in zip(run.state, runs[0].state, strict=True))


def test_without_machine_code_the_search_warns_once_and_runs_as_python() -> None:
    model = search_model(guillotine(20, 3, 70, 4096))
    failing = Engine(absent, 0)
    run = SearchRun(search_state(model, 4096), failing)
    with pytest.warns(LimitedSearch, match="no LLVM here"):
        run.restart()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run.run(50)
        assert failing.load() is None
    assert run.state.control[col.NODES] >= 20


def test_arrays_of_another_shape_are_refused() -> None:
    state = search_state(search_model(guillotine(20, 3, 70, 4096)), 4096)
    with pytest.raises(ValueError, match="not as compiled functions take them"):
        addresses(state._replace(items=state.items[:, ::2]))
    with pytest.raises(ValueError, match="not as compiled functions take them"):
        addresses(state._replace(items=state.items.astype(np.int32)))


def test_pack_works_without_llvm_and_says_that_it_is_slow() -> None:
    code = "import sys; sys.modules['llvmlite'] = None; from chipmodel.cli.main import main;"
    code += "sys.argv = ['chipmodel', 'pack', 'guillotine:n=300,seed=1', '--node-limit', '3000']; main()"
    ended = run_python(code)
    assert ended.returncode == 0
    assert ended.stderr.count("note: the search runs as Python") == 1


def test_the_example_needs_no_machine_code() -> None:
    source = WORKLOADS / "packing-example.csv"
    code = f"import sys; sys.argv = ['chipmodel', 'pack', {str(source)!r}]\n"
    code += "from chipmodel.cli.main import main\ntry: main()\n"
    code += "finally: print(sorted(sys.modules), file=sys.stderr)"
    ended = run_python(code)
    assert "no plan needs less" in ended.stdout
    assert "'solvers.search.kernel'" in ended.stderr
    for heavy in ("llvmlite", "numba", "ortools", "plotly", "onnx"):
        assert f"'{heavy}'" not in ended.stderr


def test_the_fingerprint_changes_with_the_text_of_each_module(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(engine, "__file__", str(tmp_path / "engine.py"))
    (tmp_path / "native").mkdir()
    files = [f"{module}.py" for module in COMPILED_FROM] + [f"native/{module}.py" for module in TRANSLATED_BY]
    for file in files:
        (tmp_path / file).write_text("before")
    before = fingerprint()
    for file in files:
        (tmp_path / file).write_text("after")
        assert fingerprint() != before
        (tmp_path / file).write_text("before")
    (tmp_path / files[-1]).unlink()
    with pytest.raises(FileNotFoundError, match=files[-1]):
        fingerprint()


def test_the_fingerprint_covers_every_module_that_is_compiled_or_imported_by_one() -> None:
    reached, wanted = set[str](), {"kernel"}
    while wanted:
        module = wanted.pop()
        reached.add(module)
        text = (FOLDER / f"{module}.py").read_text()
        found = re.findall(r"^from solvers\.search(?:\.(\w+) import| import (\w+) as)", text, re.MULTILINE)
        assert text.count("solvers.search import") == sum(1 for _, whole in found if whole)
        wanted |= {part or whole for part, whole in found} - reached
    assert reached == set(COMPILED_FROM)
    own = {f"solvers.search.{module}" for module in COMPILED_FROM}
    assert modules_of((kernel.restart, kernel.run)) <= own


def test_the_fingerprint_covers_the_translator() -> None:
    """All of it but the package's own text and the place where files are kept."""
    files = {path.stem for path in (FOLDER / "native").glob("*.py")}
    assert set(TRANSLATED_BY) == files - {"__init__", "cache"}
