"""What the pages show of the program's output and of its registries is what these are now."""

import pytest

from docs.generate import Part, made, parts, present


@pytest.mark.parametrize("part", list(parts()), ids=lambda part: part.name)
def test_generated_parts_are_up_to_date(part: Part) -> None:
    assert made(part) == present(part), "bring it up to date with: python -m docs.generate"
