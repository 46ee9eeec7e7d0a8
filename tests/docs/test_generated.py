"""Pages show what the program prints, its registries, and every model that a chip file may choose."""

import pytest

from chipmodel.hardware.chip_file import preset_names
from chipmodel.hardware.fields import FIELDS
from docs.generate import Part, made, parts, present
from docs.tools.units import FIELDS_OF_UNITS, UNITS, rows

QUICK = "docs/reference"
"""Where few commands take long."""
LONG = ("explain", "decode", "memory")
"""Those that do."""


def _is_quick(part: Part) -> bool:
    return QUICK in part.page.as_posix() and not any(f" {each} " in part.name for each in LONG)


@pytest.mark.parametrize(
    "part",
    [pytest.param(part, marks=() if _is_quick(part) else pytest.mark.slow, id=part.name) for part in parts()],
)
def test_generated_parts_are_up_to_date(part: Part) -> None:
    assert made(part) == present(part), "bring it up to date with: python -m docs.generate"


def test_every_model_of_a_unit_has_a_row_and_no_other() -> None:
    chosen = {(field, option) for field in FIELDS_OF_UNITS for option in FIELDS[field].options}
    assert set(UNITS) == chosen


def test_every_row_says_how_far_off_it_is() -> None:
    errors = {unit: error for unit, _, _, error in rows()}
    assert all(errors.values())
    assert errors["`npu.model: luna`"].startswith("none on 782 rows")
    for name in preset_names():
        assert any(f"`{name}`" in error for error in errors.values()), name
