"""Importers that are plug-ins: what such an importer is, and its programs, which are checked."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from chipmodel.entry_points import DescribedPlugin, Plugin, described
from chipmodel.errors import BadInput
from chipmodel.model.program import Program
from chipmodel.passes.validate import validate_program

if TYPE_CHECKING:
    from workloads.from_python.network import Network


class ImporterPlugin(DescribedPlugin, Protocol):
    """Reads files of a format, whose suffix is the name of its entry point."""

    def read(self, path: Path) -> Program | Network:
        """The workload in a file. Raises ``BadInput`` for what is wrong with the file."""
        ...


def imported_program(plugin: Plugin, source: str) -> Program:
    """The program in a file. Raises BadInput for a fault of the file, PluginFault for one of the importer."""
    from workloads.from_python.network import Network  # imports pydantic and yaml

    path = Path(source)
    if not path.is_file():
        raise BadInput(f"there is no file {source!r}", hint="check the path")
    described(plugin, "read")
    answer: object = plugin.call(plugin.load().read, path)
    if isinstance(answer, Network):
        answer = plugin.call(answer.build)
    if not isinstance(answer, Program):
        raise plugin.fault(f"answers {type(answer).__name__}, not a Program or Network")
    try:
        validate_program(answer)
    except BadInput as wrong:
        raise plugin.fault(f"makes a wrong program of {source!r}: {wrong.what}") from wrong
    return answer
