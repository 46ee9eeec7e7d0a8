"""README's table: every cell is what its command prints now; known answers are among them."""

import pytest

from bench.readme_walk import walk
from docs.tools.front import ROWS
from docs.tools.markdown import cell
from tests.docs.pages import README, commands

KNOWN = {"free-list": "5,120 B", "packing": "30,720 B, optimal", "merging": ", optimal", "study": "60 points"}
"""The free-list patent's arena; proofs; the points that the table speaks of."""


@pytest.mark.slow
@pytest.mark.parametrize("name", ROWS)
def test_a_cell_is_what_its_command_prints(name: str) -> None:
    line = "| " + " | ".join(map(cell, ROWS[name].cells())) + " |"
    assert line in README.read_text().splitlines()
    assert KNOWN.get(name, "") in line


def test_merging_and_overlap_save_something() -> None:
    """A front whose branch merges nothing, or whose loads hide behind nothing, shows nothing."""
    before, after = (int(size.replace(",", "")) for size in ROWS["merge"].cells()[2].split(" ")[::2])
    assert after < before
    assert float(ROWS["ping-pong"].cells()[2].split("%")[0]) > 10


def test_the_walk_runs_what_the_page_shows() -> None:
    walked = [command for _, command in walk(README.read_text())]
    assert walked[-len(ROWS) :] == [row.command for row in ROWS.values()]
    assert ["chipmodel", *walked[-len(ROWS) - 2].split()[1:]] == list(commands(README)[0].words)


def test_the_first_commands_run_the_workload_of_the_table() -> None:
    assert all("workloads/workload.yaml" in command.words for command in commands(README))
