"""Networks as SoMa describes them: what it says of their layers and transfers agrees with ours."""

import csv

import pytest

from bench.soma import DATA, Row, layer_cycles, platform, program_of, rows_of

ROWS = list(rows_of(DATA))


def test_every_row_has_a_network_and_its_layers() -> None:
    with (DATA / "results.csv").open() as file:
        ideal = {(r["network"], int(r["buffer_mib"])): r for r in csv.DictReader(file)}
    assert len(ROWS) == len(ideal) == 11
    for row in ROWS:
        program = program_of(row, DATA)
        given = [op.cycles for op in program.ops() if op.kind != "concat"]
        assert given == layer_cycles(DATA, row)
        if row.cycles is not None:
            assert sum(op.cycles or 0 for op in program.ops()) == int(
                ideal[row.network, row.mib]["ideal_compute"]
            )


@pytest.mark.parametrize("name", ["resnet50", "resnext50", "googlenet"])
def test_soma_moves_the_last_feature_map_out_and_back(name: str) -> None:
    """Its DRAM cycles: all weights, the input, the output, and twice what the last pooling reads."""
    row = Row(name, 8, None)
    program = program_of(row, DATA)
    [pool] = [op for op in program.ops() if op.name == "pool5"]
    names = (*program.inputs, *program.outputs, *pool.inputs * 2)
    moved = program.weight_bytes + sum(program.tensors[each].bytes for each in names)
    with (DATA / "results.csv").open() as file:
        [said] = [
            r["ideal_dram"] for r in csv.DictReader(file) if (r["network"], r["buffer_mib"]) == (name, "8")
        ]
    assert -(-moved // 16) == int(said)


def test_the_platform_moves_16_bytes_a_cycle_without_a_set_up() -> None:
    chip = platform(4)
    assert chip.shared_memory.bytes == 4 << 20
    assert program_of(ROWS[2], DATA).name == "googlenet"
