"""The built-in networks that tests plan, simulate and verify. Tests of structure build all of them."""

from __future__ import annotations

from workloads import zoo
from workloads.zoo.catalogue import CATALOGUE
from workloads.zoo.catalogue_control_flow import CONTROL_FLOW

MEASURED_ONES = ("fdmobilenet", "st_efficientnet_lc_v1", "st_yoloxn")
"""Of the networks that measurements of boards name, one each of: a plain chain, gates by squeeze and
excitation, a neck with concats and resizing."""

PLANNED: tuple[zoo.Network, ...] = tuple(
    network
    for network in zoo.networks()
    if network in (*CATALOGUE, *CONTROL_FLOW) or network.name in MEASURED_ONES
)
