"""Chips in Python."""

from collections.abc import Callable
from fractions import Fraction

import pytest

import chipmodel as cm
from chipmodel.hardware.chip_file import load_chip


def test_a_preset_with_other_values_is_what_set_makes_of_it() -> None:
    given = cm.chip("alif-e7", shared_memory__bytes="353KiB", cores=1)
    assert given == load_chip("alif-e7", ["shared_memory.bytes=353KiB", "cores=1"])
    assert sorted(given.overrides) == ["cores=1", "shared_memory.bytes=353KiB"]
    assert given.source == "alif-e7"


def test_a_mapping_has_the_keys_of_a_chip_file_and_its_errors() -> None:
    given = cm.chip({"base": "luna-arcs", "name": "mine", "psram": {"clock_mhz": 100}})
    assert given.name == "mine"
    assert given.psram.clock_mhz == Fraction(100)
    assert given.source == ""
    with pytest.raises(cm.BadInput, match="unknown key 'clock_mz' in psram"):
        cm.chip({"base": "luna-arcs", "psram": {"clock_mz": 100}})


def test_a_chip_can_be_changed_again_and_is_itself_otherwise() -> None:
    first = cm.chip("luna-arcs", psram__clock_mhz=100)
    assert cm.chip(first) is first
    second = cm.chip(first, psram__clock_mhz=50)
    assert second == load_chip("luna-arcs", ["psram.clock_mhz=50"])
    assert second.source == "luna-arcs"
    with pytest.raises(cm.BadInput, match="no chip is named"):
        cm.chip("luna-arc")


@pytest.mark.parametrize("of_one_core", [cm.smallest_memory, cm.decode])
def test_a_command_for_one_core_says_so_by_its_own_name(of_one_core: Callable[..., object]) -> None:
    name = "decode" if of_one_core is cm.decode else "memory"
    with pytest.raises(cm.BadInput, match=f"^{name} is for one core, and the chip has 2") as refusal:
        of_one_core("zoo:stories?variant=260K", cm.chip("luna-arcs", cores=2))
    assert refusal.value.hint == "take one core: --set cores=1 (chip(..., cores=1))"
