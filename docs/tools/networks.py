"""Print the table of built-in networks, with the MACs and weights that their builders count.

python -m docs.tools.networks
"""

from __future__ import annotations

from docs.tools.markdown import code, table
from workloads.zoo import build, networks


def networks_table() -> str:
    """One row a network: name, MACs, weights, what it is, who published it."""
    rows: list[list[str]] = []
    for network in networks():
        program = build(network.name)
        size = [f"{program.macs / 1e6:,.1f}", f"{program.parameters / 1e3:,.1f}"]
        rows.append([code(f"zoo:{network.name}"), *size, network.title, network.source])
    return table(["name", ">million MACs", ">thousand weights", "what it is", "source"], rows)


if __name__ == "__main__":
    print(networks_table())
