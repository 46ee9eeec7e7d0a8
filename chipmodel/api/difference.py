"""What changed between two simulations, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from chipmodel.api.answer import Telling, ToldAnswer
from chipmodel.api.arguments import checked
from chipmodel.api.simulation import Simulation
from chipmodel.files.document import document
from chipmodel.files.text_file import json_text, read_text
from chipmodel.records import dataclass
from reports.diff.difference import RunDifference, compare_results
from reports.diff.page import page
from reports.diff.words import headline
from reports.result_file import SavedResult, read_result

ResultSource: TypeAlias = str | Path | Simulation | Mapping[str, Any]
"""A simulation, what its ``to_dict`` said, or a file that has that."""


@dataclass(frozen=True, slots=True, repr=False)
class Difference(ToldAnswer):
    """The parts of a difference in cycles, which add up to it exactly. ``result`` has all of them."""

    result: RunDifference
    telling = Telling(headline, page)

    def rows(self) -> Sequence[Mapping[str, Any]]:
        """A part of the difference a row: op, cause, cycles in both runs, and its share."""
        return list(map(document, self.result.parts))

    def to_dict(self) -> dict[str, Any]:
        """Both sides and all parts, which add up to the change, and the answer in words."""
        content = ToldAnswer.to_dict(self)
        return {"a": content["a"], "b": content["b"], "answer": self.headline(), **content}


@checked
def diff(a: ResultSource, b: ResultSource) -> Difference:
    """Return what changed from one result to another, and why.

    Parameters
    ----------
    a, b
        Simulations, or files that ``simulate --json`` wrote. Ops are matched by their names.

    Raises
    ------
    BadInput
        If a file cannot be read, or the results have no clock in common.

    Examples
    --------
    >>> diff(simulate("zoo:resnet8", streamer="sync"), simulate("zoo:resnet8")).result.change < 0
    True
    """
    return Difference(compare_results(_saved(a, "a"), _saved(b, "b")))


def _saved(source: ResultSource, called: str) -> SavedResult:
    if isinstance(source, str | Path):
        return read_result(read_text(Path(source)), str(source))
    document = source.to_dict() if isinstance(source, Simulation) else dict(source)
    return read_result(json_text(document), called)
