"""Importer of ``.layers``: a line for each layer, as a quick note of a network on paper.

input 1 3 32 32
conv 16 3
pool
dense 10
"""

from __future__ import annotations

from pathlib import Path

import chipmodel as cm

title = "one layer a line: input, conv CHANNELS KERNEL, pool, dense FEATURES"
source = "chipmodel-example"


def read(path: Path) -> cm.Network:
    """The network in a file. Raises BadInput."""
    network = cm.Network(path.stem)
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        match line.split():
            case []:
                continue
            case ["input", *sizes]:
                network.input("input", [int(size) for size in sizes])
            case ["conv", channels, kernel]:
                network.conv(channels=int(channels), kernel=int(kernel), pad="same", activation="relu")
            case ["pool"]:
                network.max_pool(kernel=2, stride=2)
            case ["dense", features]:
                network.flatten()
                network.dense(features=int(features))
            case _:
                what = f"{path}:{number}: {line!r} is not a layer"
                raise cm.BadInput(what, hint="input, conv CHANNELS KERNEL, pool or dense FEATURES")
    return network
