"""The how-to with the real ExecuTorch, and a model with branches in its runtime.

Needs the extra ``executorch``, which brings 1.3 GB and is therefore no part of ``test``:
``pip install -e '.[executorch]'``. Without it the planner runs on graphs with the attributes of ExecuTorch's
only (``test_planner``).
"""

import re
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from chipmodel.executorch import ExecutorchPlanner
from tests.support.folders import ROOT

pytestmark = pytest.mark.skipif(
    not (find_spec("executorch") and find_spec("torch")),
    reason="ExecuTorch is not installed: pip install -e '.[executorch]'",
)


def test_the_how_to_runs_as_it_is_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs" / "howto" / "executorch.md").read_text()
    found = re.search(r"```python\n(.*?)```", text, re.DOTALL)
    assert found
    exec(compile(found[1], "executorch.md", "exec"), {})
    assert (tmp_path / "model.pte").stat().st_size > 0


def test_results_of_two_branches_are_both_right() -> None:
    """ExecuTorch 1.5.1 writes the second result over the first. By CP-SAT no plan is below four tensors; the
    planner's own limits prove it for the graph of torch 2.13, not for that of 2.14."""
    torch: Any = import_module("torch")
    exir: Any = import_module("executorch.exir")
    passes: Any = import_module("executorch.exir.passes")
    runtime: Any = import_module("executorch.runtime")

    class TwoBranches(torch.nn.Module):  # type: ignore[misc]
        def forward(self, x: Any) -> Any:
            def twice(y: Any) -> Any:
                return y * 2 + 1

            def less(y: Any) -> Any:
                return y - 3

            first = torch.cond(x.sum() > 0, twice, less, (x,))
            second = torch.cond(x[0, 0] > 0, less, twice, (x,))
            return first + second

    inputs = (torch.rand(16, 64) + 1,)
    planner = ExecutorchPlanner()
    config = exir.ExecutorchBackendConfig(
        memory_planning_pass=passes.MemoryPlanningPass(memory_planning_algo=planner)
    )
    made = exir.to_edge(torch.export.export(TwoBranches(), inputs)).to_executorch(config)
    tensor = inputs[0].numel() * inputs[0].element_size()
    assert planner.answers[-1].sizes[1] <= 4 * tensor
    method = runtime.Runtime.get().load_program(made.buffer).load_method("forward")
    for given in (inputs[0], -inputs[0]):
        assert torch.allclose(method.execute((given,))[0], TwoBranches()(given))
