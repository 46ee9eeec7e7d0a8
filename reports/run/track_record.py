"""How far a simulated time may be from the board's: the errors of measured networks of its class."""

from __future__ import annotations

from collections.abc import Mapping

from chipmodel.answers.result import Result, TrackRecord
from chipmodel.files.document import document
from chipmodel.hardware.measured_networks import SHARE, NetworkClass, mean_error
from reports.terminal_table import FigureRow
from reports.words import count, duration, percent, plural

VENDOR = "vendor"
"""The streamer whose plans were measured."""


def accuracy(result: Result) -> str:
    """What the chip was compared with, how far off it was, and whether that is about this plan."""
    chip, record = result.chip, result.record
    text = chip.accuracy
    if record:
        text = f"{chip.before}{chip.compared_with}: {_errors(record, result)}{chip.decided_words}"
    if not (result.vendor and chip.measured):
        return text
    takes = duration(chip, result.vendor.trace.cycles)
    return (
        f"{text}. These are errors of that schedule (streamer vendor), which takes {takes}, not of this plan"
    )


def _errors(record: TrackRecord, result: Result) -> str:
    rows = result.chip.measured
    everything = f"mean error {percent(mean_error(rows))} over {plural(len(rows), 'published row')}"
    if record.like is None:
        return f"{everything}, of which none is of a network with {record.traits.kind}"
    like = record.like
    return f"{everything}; {percent(like.mean_error)} over {_networks(like)}, {like.held_out_words}"


def _networks(like: NetworkClass) -> str:
    return f"{plural(like.count, 'network')} with {like.kind}"


def board_milliseconds(result: Result) -> tuple[float, float] | None:
    """The interval of what the board takes today by its own tool; None where nothing like it was
    measured, and for a network that takes no time."""
    own = result.asked is not None and result.asked.streamer == VENDOR
    tool = result if own else result.vendor
    if tool is None or result.record is None or not tool.trace.cycles:
        return None
    return result.record.interval(result.chip.milliseconds(tool.trace.cycles))


def board_rows(result: Result) -> list[FigureRow]:
    """What the board takes by its own tool, and the nearest network of which that is known; none without
    measurements."""
    record, interval = result.record, board_milliseconds(result)
    if record is None:
        return []
    near, off = record.nearest.workload.partition(" ")[0], record.nearest.error
    nearest = f"{near}, predicted {abs(off):.0%} {'slower' if off > 0 else 'faster'} than measured"
    if interval is None or record.like is None:
        expected = ("on the board", "", "", _unknown(result, record))
    else:
        numbers = " to ".join(map(_short, interval))
        expected = ("on the board", numbers, "ms", f"expected; {_basis(record.like)}")
    return [expected, ("nearest measured", "", "", nearest)]


def _unknown(result: Result, record: TrackRecord) -> str:
    """That nothing is known of the time on the board, why, and what the model knows of its parts."""
    tool, like = result.vendor or result, record.like
    why = like.unknown if like else f"no network with {record.traits.kind} was measured"
    if not why:
        return "not known"
    busy = (duration(tool.chip, tool.trace.busy(unit)) for unit in ("npu", "dma"))
    return "not known: {}. Computing alone takes {}, transfers alone {}".format(why, *busy)


def _basis(like: NetworkClass) -> str:
    """What the interval of a class rests on."""
    if not like.promises:
        return f"no error promised; {_networks(like)}, spread as on other boards"
    if not like.is_known:
        return f"no error promised; it has all of the {_networks(like)}"
    unseen = f"; {plural(like.unseen, 'network')} predicted unseen" if like.unseen else ""
    return f"made for {SHARE:.0%} of further families, from {len(like.families)} with {like.kind}{unseen}"


def _short(milliseconds: float) -> str:
    return count(round(milliseconds)) if milliseconds >= 100 else f"{milliseconds:.3g}"


NO_NETWORKS: Mapping[str, object] = {"networks": 0, "mean_error": None, "held_out_error": None}
"""What is said of a class that no measured network is of."""


def record_document(result: Result) -> Mapping[str, object] | None:
    """The same for JSON."""
    record = result.record
    if record is None:
        return None
    near = record.nearest
    return {
        "class": record.traits.kind,
        **(document(record.like) if record.like else NO_NETWORKS),
        "rows": len(result.chip.measured),
        "mean_error_of_all_rows": mean_error(result.chip.measured),
        "board_milliseconds": board_milliseconds(result),
        "nearest": {"workload": near.workload, "milliseconds": near.measured, "error": near.error},
        "warnings": record.warnings,
    }
