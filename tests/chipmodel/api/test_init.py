"""``import chipmodel``: everything is there, and nothing is read before it is asked for."""

from __future__ import annotations

import subprocess
import sys

import pytest

import chipmodel as cm


def test_every_name_is_there() -> None:
    assert sorted(set(cm.__all__)) == cm.__all__
    for name in cm.__all__:
        assert getattr(cm, name).__name__ == name
    assert {*cm.__all__} <= {*dir(cm)}
    with pytest.raises(AttributeError, match="nothing_such"):
        _ = cm.nothing_such  # type: ignore[attr-defined]


def test_the_import_alone_reads_no_other_module_of_ours() -> None:
    code = "import sys; before = set(sys.modules); import chipmodel; print(*set(sys.modules) - before)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert [name for name in loaded.split() if name.split(".")[0] == "chipmodel"] == ["chipmodel"]
