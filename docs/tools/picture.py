"""Draw one run as a static SVG: what the NPU and the DMA engine do, and what lies in SharedMemory meanwhile.

python -m docs.tools.picture zoo:googlenet --chip stm32n6 > picture.svg
"""

from __future__ import annotations

import click

import chipmodel as cm
from reports.run.picture import picture


@click.command()
@click.argument("workload")
@click.option("--chip", required=True)
@click.option("--streamer", default="auto")
def main(workload: str, chip: str, streamer: str) -> None:
    """Print the picture of WORKLOAD."""
    click.echo(picture(cm.simulate(workload, chip, streamer=streamer).result), nl=False)


if __name__ == "__main__":
    main(standalone_mode=False)
