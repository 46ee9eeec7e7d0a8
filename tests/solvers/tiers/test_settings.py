"""What a user writes after ``state-search:``."""

import pytest

from chipmodel.errors import BadInput
from solvers.registry import packer_named
from solvers.tiers.settings import STANDARD, TierSettings


@pytest.mark.parametrize(
    ("text", "settings"),
    [
        ("segment=3", TierSettings(3)),
        ("actions=swap+reuse,segment=1", TierSettings(1, frozenset({"swap", "reuse"}))),
        ("cost=bytes", TierSettings(cost="bytes")),
        ("actions=move+swap+reuse,cost=cycles", STANDARD),
    ],
)
def test_settings_are_read(text: str, settings: TierSettings) -> None:
    assert packer_named(f"state-search:{text}").options == {"settings": settings}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "3",
        "segment=0",
        "segment=65",
        "segment=1,segment=2",
        "actions=",
        "actions=swap+fly",
        "actions=swap+swap",
        "cost=time",
        "steps=2",
        "segment=3,",
    ],
)
def test_what_is_none_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(BadInput) as refused:
        packer_named(f"state-search:{text}")
    assert refused.value.hint.endswith("state-search:segment=3,actions=move+swap+reuse,cost=bytes")
