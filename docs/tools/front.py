"""Print README's table: what chipmodel does, one command each, and a figure that the command prints.

python -m docs.tools.front
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from docs.tools.markdown import code, table
from docs.tools.samples import printed

CAMERA = "workloads/workload.yaml"
RULED = r"\s+([\d,]+)"
"""The first column of numbers in a table of the terminal."""


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the table; ``figure`` is filled with the groups that ``pattern`` finds in the output."""

    does: str
    command: str
    pattern: str
    figure: str

    def cells(self) -> list[str]:
        """What it does, the command, and the figure as the command prints it now. Raises ValueError where
        the output has no such figure."""
        text = printed(self.command)
        match = re.search(self.pattern, text, re.DOTALL | re.MULTILINE)
        if match is None:
            raise ValueError(f"{self.command} does not print {self.pattern!r}:\n{text}")
        return [self.does, code(self.command), self.figure.format(*match.groups())]


ROWS = {
    "free-list": Row(
        "Free list (CN, 2022): its six ops",
        "chipmodel pack workloads/packing-six-ops.csv --packer free-list",
        r"^ peak +([\d,]+) ",
        "{0} B, as in its text",
    ),
    "tiers": Row(
        "Memory tiers (CN, 2022): initial rule, then search",
        "python -m bench.memory_tiers zoo:mobilenetv1_025",
        r"initial rule \| ([\d,]+)\..*^\| segment[^|]+ \| ([\d,]+)\.\d+ \| (-[\d.]+ %)",
        "{0} → {1} cycles, {2}",
    ),
    "context": Row(
        "Many cores (CN, 2023): placement in context, a memory per core",
        "chipmodel simulate workloads/two_cores.yaml --set cores=2 --packer context",
        r"^  peak +([\d,]+ B).*2 cores are ([\d.]+) times",
        "{0} a core; {1} times as fast",
    ),
    "pool": Row(
        "Edge frameworks (CN, 2021): pool, then greedy layout",
        f"chipmodel compare {CAMERA} --packers pool,greedy-best-fit",
        rf"greedy-best-fit{RULED}.* pool{RULED}",
        "{1} → {0} B",
    ),
    "weight-pipeline": Row(
        "The same: weights just in time",
        f"chipmodel compare {CAMERA} --streamers sync,weight-pipeline",
        r"weight-pipeline +[\d,]+ +[\d.]+% +[\d.]+ +([\d.]+%)",
        "{0} less time than `sync`",
    ),
    "reuse": Row(
        "Wang et al. 2025, Algorithm 1: offset packing",
        f"chipmodel compare {CAMERA} --packers naive,sequential,large-first,short-first",
        "".join(rf"(?=.*{name}{RULED})" for name in ("naive", "sequential", "large-first", "short-first")),
        "{0} → {1} / {2} / {3} B",
    ),
    "merge": Row(
        "Algorithm 2: branch merging",
        f"chipmodel compare {CAMERA} --packers large-first --merges none,unified-block --streamer ping-pong",
        r"none +large-first +([\d,]+).*unified-block +large-first +([\d,]+)",
        "{0} → {1} B",
    ),
    "ping-pong": Row(
        "Algorithm 3: ping-pong",
        f"chipmodel simulate {CAMERA} --streamer ping-pong --with-sync",
        r"ping-pong takes ([\d.]+%) less time.*hidden by compute +[\d,]+ cycles ([\d.]+%)",
        "{0} less time than `sync`; {1} of DMA hidden",
    ),
    "packing": Row(
        "Exact packing, proven by CP-SAT",
        "chipmodel compare workloads/packing-example.csv --packers large-first,cp-sat",
        r"proven (optimal).*cp-sat +([\d,]+).*large-first +([\d,]+)",
        "{2} → {1} B, {0}",
    ),
    "merging": Row(
        "Exact merging, with proof",
        f"chipmodel compare {CAMERA} --packers cp-sat --merges none,unified-block,exact --streamer ping-pong",
        r"none +cp-sat +([\d,]+).*block +cp-sat +([\d,]+).*exact +exact +([\d,]+) +[\d.]+% +(optimal)",
        "{0} → {1} → {2} B, {3}",
    ),
    "bound": Row(
        "Ping-pong against `sync`, the exact streamer, and the bound",
        f"chipmodel compare {CAMERA} --streamers sync,ping-pong,exact",
        r"sync +[\d,]+ +([\d.]+%).*ping-pong +[\d,]+ +([\d.]+%).*exact +[\d,]+ +([\d.]+%)",
        "{0}, {1}, {2} above it",
    ),
    "loop": Row(
        "Loops: one iteration of 12 a word",
        "chipmodel simulate workloads/spoken_words.yaml --streamer ping-pong --with-sync",
        r"with streamer sync +([\d,]+) cycles.*^  worst +([\d,]+) cycles",
        "{0} → {1} cycles",
    ),
    "study": Row(
        "A gap study of 60 points, and its page",
        "chipmodel study workloads/study_gaps.yaml --store gaps.sqlite --html gaps.html",
        r"(60) of 60 points.*^ ping-pong +([\d.]+%).*^ sync +([\d.]+%)",
        "{0} points; `sync` {2}, ping-pong {1} above the bound",
    ),
}
"""By names for tests."""


def main() -> None:
    """Print the table."""
    print(table(("what it does", "command", "it prints"), (row.cells() for row in ROWS.values())))


if __name__ == "__main__":
    main()
