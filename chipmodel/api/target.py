"""Chips: presets, chip files, and the same in Python."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

from chipmodel.api.arguments import checked
from chipmodel.errors import BadInput
from chipmodel.hardware.chip import Chip
from chipmodel.hardware.chip_file import load_chip, parse_chip, with_overrides
from chipmodel.pipeline.choices import DEFAULT_CHIP

ChipSource: TypeAlias = str | Path | Mapping[str, Any] | Chip
"""What names a chip: a preset, a chip file, what a chip file says, or a chip itself."""


@checked
def chip(source: ChipSource = DEFAULT_CHIP, /, **overrides: object) -> Chip:
    """Return the chip that ``source`` names, with other values for some of its fields.

    Parameters
    ----------
    source
        A preset's name, the path of a chip file, a mapping with the keys of one (``{"base": "gap9", "psram":
        {"clock_mhz": 100}}``), or a chip.
    **overrides
        Values by the name of a field, in which two underscores stand for a dot.

    Raises
    ------
    BadInput
        If the chip is not known, or a value is not possible.

    Examples
    --------
    >>> chip("alif-e7", shared_memory__bytes="353KiB").shared_memory.bytes
    361472
    """
    texts = [f"{name.replace('__', '.')}={_written(value)}" for name, value in overrides.items()]
    if isinstance(source, Chip):
        return with_overrides(source, texts) if texts else source
    if isinstance(source, Mapping):
        import yaml

        return parse_chip(yaml.safe_dump(dict(source), sort_keys=False), "chip", texts)
    return load_chip(str(source), texts)


def chip_of_one_core(source: ChipSource, command: str) -> Chip:
    """Return the chip that ``source`` names, for a ``command`` of one core. Raises BadInput for several."""
    target = chip(source)
    if target.cores > 1:
        what = f"{command} is for one core, and the chip has {target.cores}"
        raise BadInput(what, hint="take one core: --set cores=1 (chip(..., cores=1))")
    return target


def _written(value: object) -> str:
    """``value`` as a chip file has it."""
    return str(value).lower() if isinstance(value, bool) else str(value)
