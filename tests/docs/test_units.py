"""The table of what is modelled has every model that a chip file may choose, and its measured error."""

from chipmodel.hardware.chip_file import preset_names
from chipmodel.hardware.fields import FIELDS
from docs.tools.units import FIELDS_OF_UNITS, UNITS, rows


def test_every_model_of_a_unit_has_a_row_and_no_other() -> None:
    chosen = {(field, option) for field in FIELDS_OF_UNITS for option in FIELDS[field].options}
    assert set(UNITS) == chosen


def test_every_row_says_how_far_off_it_is() -> None:
    errors = {unit: error for unit, _, _, error in rows()}
    assert all(errors.values())
    assert errors["`npu.model: luna`"].startswith("none on 782 rows")
    for name in preset_names():
        assert any(f"`{name}`" in error for error in errors.values()), name
