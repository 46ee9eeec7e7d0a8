"""Sections of a chip file: energy and further memories, what each number does, and chips without them."""

from fractions import Fraction

import pytest

from chipmodel.errors import BadInput
from chipmodel.geometry.interval import Interval
from chipmodel.hardware.chip_file import load_chip, parse_chip, with_overrides
from chipmodel.hardware.energy import COUNTED, STATIC, EnergyCosts
from chipmodel.hardware.fields import FIELDS, children
from chipmodel.hardware.further_memories import FurtherMemory, memory_path
from chipmodel.model.fit import further_addresses
from tests.support.folders import data
from tests.support.narrowed import some

CHIP = """
base: luna-arcs
energy: {model: counted, volts: 0.9, nominal_volts: 0.9, static_mw: 2, pj: {mac_int8: 0.5}}
"""


def test_a_chip_file_without_energy_has_none() -> None:
    assert load_chip("luna-arcs").energy is None
    assert not [path for path in load_chip("luna-arcs").figures if path.startswith("energy.pj")]


def test_numbers_that_a_file_leaves_out_are_zero() -> None:
    energy = some(parse_chip(CHIP, "mine.yaml").energy)
    assert {key for key, number in energy.pj.items() if number} == {"mac_int8"}
    assert children("energy.pj") == tuple(COUNTED)
    assert FIELDS["energy.pj.cycle"].unit == "picojoules"


def test_energy_is_counts_times_numbers_and_time_times_power() -> None:
    energy = EnergyCosts(Fraction(1), Fraction(1), Fraction(2), dict.fromkeys(COUNTED, Fraction(3)))
    found = energy.picojoules({"mac_int8": 7, "cycle": 0}, Fraction(5))
    assert found == {STATIC: 2 * 5 * 1000, "MACs of 8 bits": 21}  # 1 mW for 1 µs is 1000 pJ


def test_what_is_counted_goes_with_the_square_of_the_supply() -> None:
    """GAP9 at 650 mV takes 66 % of the charge's energy at 800 mV; leakage stays."""
    at = {volts: load_chip("gap9", [f"energy.volts={volts}"]).energy for volts in ("0.8", "0.65")}
    high, low = (at[volts] for volts in ("0.8", "0.65"))
    assert high is not None
    assert low is not None
    counts, time = {"cycle": 1000, "weight_byte": 10}, Fraction(3)
    assert low.picojoules(counts, time)[STATIC] == high.picojoules(counts, time)[STATIC]
    ratio = low.picojoules(counts, time)["clock"] / high.picojoules(counts, time)["clock"]
    assert ratio == pytest.approx((0.65 / 0.8) ** 2)


def test_without_a_supply_the_numbers_are_as_they_are() -> None:
    energy = some(load_chip("luna-arcs", ["energy.model=counted", "energy.pj.cycle=3"]).energy)
    assert energy.picojoules({"cycle": 5}, Fraction(1)) == {"clock": 15}


TWO = data("small/two_memories.yaml")


def test_each_memory_has_a_latency_and_a_rate_in_each_direction() -> None:
    chip = parse_chip(TWO.replace("100", "1000"), "two.yaml")
    assert chip.memories == (
        FurtherMemory("sram2", 1000, 40, Fraction(8), 9, Fraction(16, 3)),
        FurtherMemory("mram", 1024, 0, Fraction(2), 0, Fraction(1, 2)),
    )
    assert chip.figures["memories.mram.bytes"].mark == "published"
    assert chip.figures["memories.mram.load.latency_cycles"].mark == "assumed"
    assert not load_chip("stm32n6").memories


def test_their_addresses_follow_those_of_psram_and_weights() -> None:
    chip = parse_chip(TWO.replace("100", "1000"), "two.yaml")
    start = chip.psram.bytes + (chip.weights.memory.bytes if chip.weights else 0)
    assert further_addresses(chip) == {
        "sram2": Interval(start, start + 1000),
        "mram": Interval(start + 1024, start + 2048),
    }


def test_settings_add_and_change_memories() -> None:
    fields = ("bytes=1KiB", "load.bytes_per_cycle=8", "store.bytes_per_cycle=8")
    chip = load_chip("luna-arcs", [f"memories.second.{each}" for each in fields])
    assert chip.memories == (FurtherMemory("second", 1024, 0, Fraction(8), 0, Fraction(8)),)
    assert with_overrides(chip, ["memories.second.bytes=2KiB"]).memories[0].bytes == 2048
    assert f"memories.second.{fields[1]}" in chip.overrides


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (TWO, "memories.sram2.bytes is 100"),
        (TWO.replace("100", "1KiB").replace("0.5", "0"), "memories.mram.store.bytes_per_cycle is 0"),
        (TWO.replace("bytes: 100", "size: 100"), "unknown key 'size' in memories.sram2"),
        (TWO.replace("    bytes: 100\n", ""), "the chip has no memories.sram2.bytes"),
        (TWO.replace("sram2", "Second SRAM"), "unknown key 'Second SRAM' in memories"),
        (TWO.replace("sram2", "psram"), "unknown key 'psram' in memories"),
        (
            TWO.replace("100", "1KiB") + "cores: 2\n",
            "2 cores cannot share memories.sram2, memories.mram: plans lay them out for one core",
        ),
        ("base: stm32n6\nmemories: 3\n", "memories must be a mapping"),
    ],
)
def test_what_is_no_memory_is_refused(text: str, says: str) -> None:
    with pytest.raises(BadInput) as caught:
        parse_chip(text, "two.yaml")
    assert says in str(caught.value)


def test_paths_of_memories() -> None:
    assert memory_path("memories.sram2.load.latency_cycles") == ("sram2", "load.latency_cycles")
    assert (
        memory_path("memories") is memory_path("psram.bytes") is memory_path("memories.weights.bytes") is None
    )
