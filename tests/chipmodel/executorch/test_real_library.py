"""The how-to with the real ExecuTorch, and a model with branches in its runtime.

Needs the extra ``executorch``, which brings 1.3 GB and is therefore no part of ``test``:
``pip install -e '.[executorch]'``. Without it the planner runs on graphs with the attributes of ExecuTorch's
only (``test_planner``).
"""

import re
from importlib.util import find_spec
from pathlib import Path

import pytest

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
