"""Presets, chip files and overrides: exact numbers, their sources, and every mistake at its place."""

import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import get_args

import pytest

from chipmodel.errors import BadInput, Place
from chipmodel.hardware.chip import (
    CPU_KINDS,
    Chip,
    Dma,
    InPlaceWish,
    OperandTime,
    VendorStreamer,
)
from chipmodel.hardware.chip_file import load_chip, preset_names
from chipmodel.hardware.energy import COUNTED
from chipmodel.hardware.ethos_npu import OUTPUT_RATES
from chipmodel.hardware.fields import FIELDS, children
from chipmodel.hardware.psram_parts import device_named
from chipmodel.hardware.vector_cpu import KERNELS
from tests.support.mistakes import mistakes

PRESETS = (
    *("alif-e7", "axi-cdma", "corstone-300", "corstone-300-64", "corstone-320", "corstone-320-lpddr5"),
    *("ef-psram", "esp32s3", "esp32s3-sram", "gap9", "gap9-psram", "imx93", "imx93-lpddr4"),
    *("luna-arcs", "luna-csk6", "pulp-hyperbus", "stm32n6"),
)


def write(folder: Path, text: str, name: str = "mine.yaml") -> str:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)


def refused(path_or_name: str, *overrides: str) -> BadInput:
    with pytest.raises(BadInput) as caught:
        load_chip(path_or_name, overrides)
    return caught.value


def test_preset_names() -> None:
    assert preset_names() == PRESETS


@pytest.mark.parametrize("name", PRESETS)
def test_every_number_of_a_preset_has_a_document_or_says_what_would_settle_it(name: str) -> None:
    chip = load_chip(name)
    assert chip.name == name
    assert chip.title
    choices = {path: figure.value for path, figure in chip.figures.items() if FIELDS[path].kind == "choice"}
    assert tuple(chip.figures) == tuple(path for path, field in FIELDS.items() if field.belongs(choices))
    for path, figure in chip.figures.items():
        source = figure.source
        assert figure.mark in ("published", "derived", "fitted", "assumed")
        assert "hardware.md" not in source, path
        assert not source.startswith("Published by"), path
        assert len(source) > 30, path
        if figure.mark == "assumed":
            assert re.search(r"Settled by: \w.{20,}\.$", source), (path, source)


# Computed by hand from the datasheets: overhead and data clocks of a burst, times core / Psram clock.
@pytest.mark.parametrize(("name", "macs"), [("corstone-300-64", 64), ("corstone-300", 128), ("alif-e7", 256)])
def test_ethos_u55_has_the_macs_of_its_micro_block(name: str, macs: int) -> None:
    """Eight for each element of the micro-block; half as many on 16 bits."""
    npu = load_chip(name).npu
    assert npu.macs_per_cycle == {8: macs, 16: macs // 2, 32: macs // 8}
    assert npu.ethos is not None
    assert npu.ethos.macs == macs


def test_override() -> None:
    chip = load_chip("luna-arcs", ["psram.clock_mhz = 100", "shared_memory.bytes=640KiB"])
    plain = load_chip("luna-arcs")
    assert chip.psram.clock_mhz == 100
    assert chip.psram.device == replace(device_named("LUNA-ARCS"), clock_mhz=Fraction(100))
    assert chip.shared_memory.bytes == 640 << 10
    assert chip.npu == plain.npu
    figure = chip.figures["psram.clock_mhz"]
    assert (figure.value, figure.mark, figure.source) == ("100", "given", "--set")
    assert chip.figures["core_mhz"] == plain.figures["core_mhz"]


def test_the_last_override_wins_and_decimals_and_ratios_are_exact() -> None:
    chip = load_chip("gap9-psram", ["core_mhz=1", "core_mhz=400/3", "dma.load.burst_overhead_clocks=0.1"])
    assert chip.core_mhz == Fraction(400, 3)
    assert isinstance(chip.dma, Dma)
    assert chip.dma.load.burst_overhead_clocks == Fraction(1, 10)


@pytest.mark.parametrize(("override", "what", "hint"), mistakes("override"))
def test_bad_override(override: str, what: str, hint: str) -> None:
    error = refused("luna-arcs", override)
    assert error.where == Place(f"--set {override}")
    assert what in error.what
    assert hint in error.hint


def test_unknown_chip() -> None:
    error = refused("luna-arc")
    assert "'luna-arc'" in error.what
    assert "did you mean 'luna-arcs'?" in error.hint
    assert all(name in error.hint for name in PRESETS[:24])
    assert "no such file" in refused("no/such/chip.yaml").what
    assert "no chip is named" in refused("").what


def test_a_chip_file_gives_only_the_differences_to_its_base(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        "base: luna-arcs\n"
        "psram:\n"
        "  clock_mhz: 133.3\n"
        "npu:\n"
        "  macs_per_cycle: {int16: {value: 32, mark: assumed, source: a guess}}\n",
    )
    chip, base = load_chip(path), load_chip("luna-arcs")
    assert (chip.name, chip.title) == ("mine", "mine, based on luna-arcs")
    assert (chip.psram.clock_mhz, chip.psram.bytes) == (Fraction("133.3"), base.psram.bytes)
    assert chip.npu.macs_per_cycle == {8: 64, 16: 32, 32: 4}
    assert chip.figures["psram.clock_mhz"].mark == "given"
    assert chip.figures["psram.clock_mhz"].source == f"{path}:3:3"
    assert chip.figures["npu.macs_per_cycle.int16"].source == "a guess"
    assert chip.figures["core_mhz"] == base.figures["core_mhz"]


def test_a_base_may_be_a_file_in_the_same_folder_and_keys_may_be_dotted(tmp_path: Path) -> None:
    write(tmp_path, "base: gap9-psram\nname: one\ncore_mhz: 200\n", "one.yaml")
    two = load_chip(write(tmp_path, "base: one.yaml\npsram.bytes: 4 MiB\n", "two.yaml"))
    assert two.core_mhz == 200
    assert (two.psram.bytes, two.title) == (4 << 20, "two, based on one")


def _unnamed(chip: Chip) -> Chip:
    return replace(chip, name="", title="", compared_with="", measured=(), blind=(), figures={})


def test_a_complete_chip_of_plain_numbers(tmp_path: Path) -> None:
    plain = load_chip("stm32n6")
    text = "".join(f"{path}: {figure.value}\n" for path, figure in plain.figures.items())
    chip = load_chip(write(tmp_path, "name: plain\n" + text))
    assert _unnamed(chip) == _unnamed(plain)
    assert chip.accuracy == "not compared with silicon"
    assert {figure.mark for figure in chip.figures.values()} == {"given"}


@pytest.mark.parametrize(("place", "text", "what", "hint"), mistakes("chip_file"))
def test_mistakes_have_line_and_column(tmp_path: Path, place: str, text: str, what: str, hint: str) -> None:
    path = write(tmp_path, "base: luna-arcs\n" + text)
    error = refused(path)
    assert str(error.where) == f"{path}:{place}"
    assert any(part in error.what for part in what.split("|"))
    assert any(part in error.hint for part in hint.split("|"))


@pytest.mark.parametrize("text", ["- 1\n", "luna-arcs\n", "3\n"])
def test_a_chip_file_is_a_mapping(tmp_path: Path, text: str) -> None:
    error = refused(write(tmp_path, text))
    assert "a chip file must be a mapping" in error.what
    assert error.where is not None
    assert (error.where.line, error.where.column) == (1, 1)


def test_a_users_numbers_of_another_npu_model_are_refused_and_a_bases_are_dropped(tmp_path: Path) -> None:
    error = refused("gap9-psram", "npu.luna.weight_buffer_bytes=8KiB")
    assert "means nothing on a chip with npu.model = array" in error.what
    plain = load_chip("luna-arcs", ["npu.model=array"])
    assert plain.npu.luna is None
    assert not [path for path in plain.figures if path.startswith("npu.luna")]
    assert (
        "one of array, luna, vector-cpu, ethos-u55, ethos-u85, ne16"
        in refused("gap9-psram", "npu.model=tpu").hint
    )
    assert "has no npu.luna.input_buffer_bytes" in refused("gap9-psram", "npu.model=luna").what


def test_lunas_lanes_multiply_to_its_macs(tmp_path: Path) -> None:
    assert "the array has 64 lanes" in refused("luna-arcs", "npu.macs_per_cycle.int8=128").what
    wide = load_chip("luna-arcs", ["npu.macs_per_cycle.int8=128", "npu.array.output_channels=4"])
    assert wide.npu.luna is not None
    assert (wide.npu.luna.out_lanes, wide.npu.luna.width_8.macs_per_cycle) == (4, Fraction(128))


def test_lunas_passes_save_no_more_configuration_than_they_take() -> None:
    """They would take less than no time."""
    for change in ("later_pass_saving_cycles=1300", "depthwise_configuration_cycles=200"):
        assert "more than it takes" in refused("luna-arcs", f"npu.luna.{change}").what
    load_chip("luna-arcs", ["npu.luna.later_pass_saving_cycles=1280"])


def test_a_psram_part_has_its_own_clocks(tmp_path: Path) -> None:
    assert "no latency code for 300 MHz" in refused("luna-arcs", "psram.clock_mhz=300").what
    hyper = load_chip("luna-arcs", ["psram.device=S27KS0642", "psram.clock_mhz=166"])
    assert hyper.psram.device is not None
    assert (hyper.psram.device.protocol, hyper.psram.device.latency_code) == ("HyperBus", 6)
    assert "LUNA-ARCS" in refused("luna-arcs", "psram.device=DDR4").hint
    assert load_chip("luna-arcs", ["psram.collision=worst"]).psram.collision == "worst"
    assert "means nothing" in refused("luna-arcs", "psram.bytes_per_clock=4").what


@pytest.mark.parametrize(("chip", "overrides", "what", "hint"), mistakes("controller"))
def test_impossible_controller_settings_are_refused(chip: str, overrides: str, what: str, hint: str) -> None:
    error = refused(chip, overrides)
    assert what in error.what
    assert hint in error.hint


def test_missing_numbers_are_named(tmp_path: Path) -> None:
    error = refused(write(tmp_path, "name: half\ncore_mhz: 100\n"))
    assert "no shared_memory.bytes, shared_memory.alignment, psram.bytes and 10 more" in error.what
    assert "take a base that has it" in error.hint


def test_missing_and_circular_bases_are_refused(tmp_path: Path) -> None:
    unknown = write(tmp_path, "name: a\nbase: luna\n")
    assert refused(unknown).where == Place(unknown, 2, 1)
    own = write(tmp_path, "base: own.yaml\n", "own.yaml")
    assert "based on itself" in refused(own).what
    write(tmp_path, "base: b.yaml\n", "a.yaml")
    assert "based on itself" in refused(write(tmp_path, "base: a.yaml\n", "b.yaml")).what


def test_a_cpu_that_takes_every_cycle_is_refused() -> None:
    with pytest.raises(BadInput, match="never be served"):
        load_chip("luna-arcs", ["cpu.shared_every_cycles=1"])
    assert load_chip("luna-arcs", ["cpu.shared_every_cycles=2"]).cpu.shared_every == 2


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("weights.in_place", get_args(InPlaceWish)),
        ("npu.operands", get_args(OperandTime)),
        ("vendor.streamer", get_args(VendorStreamer)),
        ("npu.vector.kernels", tuple(KERNELS)),
        ("npu.ethos.output_cycles", tuple(OUTPUT_RATES)),
        ("cpu.cycles_per_element", tuple(CPU_KINDS)),
        ("energy.pj", tuple(COUNTED)),
    ],
)
def test_the_table_of_fields_has_the_words_of_the_code(path: str, words: tuple[str, ...]) -> None:
    assert words == (FIELDS[path].options if path in FIELDS else children(path))
