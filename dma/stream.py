"""The table of streamers, and the schedule that one of them makes of a program on a chip."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping
from pathlib import Path

from chipmodel.entry_points import Plugin, described, plugin_rows
from chipmodel.hardware.chip import Chip
from chipmodel.model.planner_table import imported, no_setting, row_or_plugin
from chipmodel.model.program import Program
from chipmodel.model.schedule import Schedule
from chipmodel.records import dataclass
from dma.schedule.buffer_names import with_readable_names
from dma.schedule.build import StreamRequest
from dma.schedule.streamer import Streamer, StreamerPortfolio
from dma.streamers.plugin import portfolio_of
from dma.streamers.race import StreamerRace


@dataclass(frozen=True, slots=True)
class StreamerEntry:
    """A row of the table of streamers. Attributes are written ``module:attribute``, imported on first use."""

    name: str
    target: str
    """The ``Streamer`` or ``StreamerPortfolio``."""
    title: str
    """What it does, in a line."""
    source: str
    """Who published it, as in docs/references.md."""
    setting: str = ""
    """Makes the same from the text that a user writes after the name and a colon; raises BadInput. Empty: the
    streamer has no setting."""
    plugin: Plugin | None = None
    """Where it comes from, if it is not built in; then ``target`` is what ``dma.streamers.plugin`` says."""


def _built_in() -> dict[str, StreamerEntry]:
    """The rows of ``streamers.csv`` by name."""
    with Path(__file__).with_name("streamers.csv").open(encoding="utf-8", newline="") as table:
        rows = [*csv.DictReader(table)]
    return {
        row["name"]: StreamerEntry(row["name"], row["target"], row["title"], row["source"], row["setting"])
        for row in rows
    }


_BUILT_IN = _built_in()


def streamers() -> Mapping[str, StreamerEntry]:
    """Return the table of streamers by name, in the order in which they are listed; plug-ins come last."""
    return {**_BUILT_IN, **plugin_rows("streamer", _BUILT_IN, _entry_of)}


def _entry_of(plugin: Plugin) -> StreamerEntry:
    title, source = described(plugin, "issue")
    return StreamerEntry(plugin.written, plugin.target, title, source, plugin=plugin)


def streamer_named(text: str) -> StreamerPortfolio:
    """Return the streamer that a user means by ``NAME`` or ``NAME:SETTING``, a single one as a portfolio of
    one.

    Raises BadInput for an unknown name, and for a setting that the streamer does not have; PluginFault for a
    plug-in that is none.
    """
    entry, setting = row_or_plugin("streamer", text, _BUILT_IN, _entry_of)
    if setting is None:
        return portfolio_of(entry.plugin) if entry.plugin else _portfolio(imported(entry.target))
    if not entry.setting:
        raise no_setting("streamer", entry.name, setting)
    configured: Callable[[str], Streamer | StreamerPortfolio] = imported(entry.setting)
    return _portfolio(configured(setting))


def streamer_plugin(text: str) -> Plugin | None:
    """Return the plug-in that a user means by ``NAME`` or ``NAME:SETTING``; None for a built-in streamer.
    Raises as ``streamer_named``."""
    return row_or_plugin("streamer", text, _BUILT_IN, _entry_of)[0].plugin


def _portfolio(found: Streamer | StreamerPortfolio) -> StreamerPortfolio:
    return found if isinstance(found, StreamerPortfolio) else StreamerPortfolio(found.name, (found,))


def stream(program: Program, chip: Chip, streamer: str, budget: int, spill: bool = True) -> Schedule:
    """Return the schedule with the fastest forecast that ``streamer`` makes with at most ``budget`` bytes
    alive at once.

    ``spill`` is that of ``dma.schedule.build.StreamRequest``. Raises DoesNotFit where not
    even the smallest stripes fit, or where ``spill`` is off and something would have to leave SharedMemory;
    BadInput for an unknown streamer.
    """
    race = StreamerRace(StreamRequest(program, chip, budget, spill), streamer_named(streamer))
    ranked = race.next()
    assert ranked is not None, "a race without a schedule raises DoesNotFit"
    return with_readable_names(program, ranked.schedule)
