"""The built-in networks that tests plan, simulate and verify. Tests of structure build all of them."""

from functools import cache

from chipmodel.model.program import Program
from workloads import zoo
from workloads.zoo.catalogue import BuiltInNetwork

MEASURED_ONES = ("espdet_pico", "fdmobilenet", "rnnoise", "st_efficientnet_lc_v1")
"""Of the networks that measurements of boards name, one each of: a neck with splits, concats and resizing, a
plain chain, gates of a recurrent cell, gates by squeeze and excitation."""

CONTROL_FLOW = zoo.networks("control_flow")
PLANNED: tuple[BuiltInNetwork, ...] = tuple(
    network
    for network in zoo.networks()
    if network in (*zoo.networks("classic"), *CONTROL_FLOW) or network.name in MEASURED_ONES
)


@cache
def built_in(url: str, dtype: str | None = None) -> Program:
    """The built-in network that ``url`` names behind ``zoo:``, built once."""
    return zoo.build(*zoo.parse_zoo_url(f"zoo:{url}"), dtype)
