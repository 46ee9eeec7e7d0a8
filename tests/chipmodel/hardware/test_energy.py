"""Energy in a chip file: what each number does, and that a chip without a model has none."""

from fractions import Fraction

import pytest

from chipmodel.hardware.chip_file import load_chip, parse_chip
from chipmodel.hardware.energy import COUNTED, STATIC, EnergyCosts
from chipmodel.hardware.fields import FIELDS, children

CHIP = """
base: luna-arcs
energy: {model: counted, volts: 0.9, nominal_volts: 0.9, static_mw: 2, pj: {mac_int8: 0.5}}
"""


def test_a_chip_file_without_energy_has_none() -> None:
    assert load_chip("luna-arcs").energy is None
    assert not [path for path in load_chip("luna-arcs").figures if path.startswith("energy.pj")]


def test_numbers_that_a_file_leaves_out_are_zero() -> None:
    energy = parse_chip(CHIP, "mine.yaml").energy
    assert energy is not None
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
    energy = load_chip("luna-arcs", ["energy.model=counted", "energy.pj.cycle=3"]).energy
    assert energy is not None
    assert energy.picojoules({"cycle": 5}, Fraction(1)) == {"clock": 15}
