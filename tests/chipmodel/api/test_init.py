"""``import chipmodel``: everything is there, and nothing is read before it is asked for."""

import subprocess
import sys

import pytest

import chipmodel as cm


def test_values_are_shown_in_a_line() -> None:
    made = (
        cm.chip("luna-arcs", shared_memory__bytes="64KiB"),
        cm.load("zoo:ds_cnn"),
        cm.TimeLimit(3),
        planned := cm.plan("zoo:ds_cnn", streamer="sync"),
        cm.check(planned, "zoo:ds_cnn"),
        cm.export(planned, "c-header"),
    )
    for each in made:
        assert repr(each).startswith(f"<{type(each).__name__}")
        assert len(repr(each)) < 250
    changed = "<Chip luna-arcs with shared_memory.bytes=64KiB: 300 MHz, 65,536 B of SharedMemory>"
    assert repr(made[0]) == changed


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
