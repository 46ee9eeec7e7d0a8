"""A cycle model of edge AI chips, and planners for their memory and DMA.

    import chipmodel as cm

    run = cm.simulate("zoo:resnet8", cm.chip("luna-arcs", shared_memory__bytes="64KiB"))
    run.cycles, run.peak_bytes, run.gap

Every function answers with a frozen value that has the facts as properties, ``to_dict``, ``to_dataframe``
and, where there is a page, ``to_html``. What is wrong with a question is raised as ``BadInput``, a workload
without a plan as ``DoesNotFit``, a time limit before an answer as ``TimeIsOver``; all are ``ChipmodelError``,
with ``what``, ``where`` and ``hint``.
"""

import re
from importlib import import_module
from pathlib import Path

__version__ = "1.0.0"

_IMPORT = re.compile(r"^from (\S+) import ([^(\n]+|\([^)]+\))", re.MULTILINE)
_HOME_OF = {
    name: home
    for home, names in _IMPORT.findall(Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    for name in re.findall(r"\w+(?= as )", names)
}
__all__ = sorted(_HOME_OF)  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> object:
    """Import what is asked for when it is asked for: ``import chipmodel`` alone reads no other module."""
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME_OF[name]), name)


def __dir__() -> list[str]:
    """List what the library offers, and nothing that this file needs itself."""
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
