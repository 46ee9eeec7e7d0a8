"""Rows of the table of gaps."""

import pytest

from bench.gaps import parser_of, row
from chipmodel.hardware.chip_file import load_chip
from chipmodel.rewrites.in_place import reuse
from workloads.load import load


@pytest.mark.parametrize("file", ["early_exit", "decoder_loop"])
def test_a_network_with_branches_or_a_loop_has_a_bound_that_is_proven(file: str) -> None:
    """What is printed is the larger one."""
    program, chip = reuse(load(f"workloads/{file}.yaml"), "all"), load_chip("luna-arcs")
    found = row(file, "luna-arcs", 0, program, chip, parser_of(None).parse_args(["--streamer", "sync"]))
    assert 0 < found.proven <= found.bound.cycles <= found.cycles
