"""The table of streamers, and the schedule that one of them makes of a program on a chip."""

from __future__ import annotations

from collections.abc import Callable, Mapping

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


_ENTRIES = (
    StreamerEntry(
        "auto",
        "dma.streamers.auto:PORTFOLIO",
        "the fastest path over the listed ways to run neighbours",
        "chipmodel",
    ),
    StreamerEntry(
        "sync",
        "dma.streamers.sync:STREAMER",
        "every load at the step that needs it, waited for at once",
        "Wang et al. 2025, Table 3",
    ),
    StreamerEntry(
        "ping-pong",
        "dma.streamers.ping_pong:STREAMER",
        "two weight buffers in turn, the next block loaded during the current op; ping-pong:wait=early waits "
        "for it right after that op",
        "Wang et al. 2025, Algorithm 3",
        "dma.streamers.ping_pong:with_wait",
    ),
    StreamerEntry(
        "ping-pong-across",
        "dma.streamers.ping_pong_across:STREAMER",
        "ping-pong, and the best of a loop's weights kept for all iterations",
        "chipmodel; extends Wang et al. 2025, Algorithm 3",
    ),
    StreamerEntry(
        "weight-pipeline",
        "dma.streamers.weight_pipeline:STREAMER",
        "weights just in time, by a profile; weight-pipeline:500 has them 500 cycles early",
        "the edge-framework patent (CN, 2021)",
        "dma.streamers.weight_pipeline:with_jitter",
    ),
    StreamerEntry(
        "prefetch-k",
        "dma.streamers.prefetch_k:PORTFOLIO",
        "k weight buffers in turn, prefetch-k:3 three; else the fastest forecast",
        "chipmodel; extends Wang et al. 2025, Algorithm 3",
        "dma.streamers.prefetch_k:with_buffers",
    ),
    StreamerEntry(
        "prefetch-greedy",
        "dma.streamers.prefetch_greedy:PORTFOLIO",
        "weights as early as memory allows, in the slices with the fastest forecast",
        "chipmodel",
    ),
    StreamerEntry(
        "resident-knapsack",
        "dma.streamers.resident_knapsack:PORTFOLIO",
        "prefetch-greedy, and the best of a loop's weights kept for all iterations",
        "chipmodel",
    ),
    StreamerEntry(
        "vendor",
        "dma.streamers.vendor:PORTFOLIO",
        "as the chip's own tool overlaps, by the chip file: what the board takes today",
        "the chip file",
    ),
    StreamerEntry(
        "exact",
        "dma.streamers.exact:PORTFOLIO",
        "CP-SAT over the listed ways, its fastest chains built; exact:1000 builds more",
        "chipmodel",
        "dma.streamers.exact:with_chains",
    ),
)
_BUILT_IN = {entry.name: entry for entry in _ENTRIES}


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
