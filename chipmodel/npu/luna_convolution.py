"""LUNA's convolution, depthwise convolution and pooling: passes of weights and pieces of input.

A *run* is one convolution with one group of channels on one image. The weights of as many output
channels as the weight buffer holds make a *pass*, which loads all of its input. An op with groups, with
a batch, or transposed, is several runs, one after another; the vendor's tables (tests/data/hardware,
luna_conv2d.csv and luna_depthwise2d.csv) have single runs only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from math import ceil, gcd

from chipmodel.geometry.rounding import ceil_div, round_up
from chipmodel.geometry.window import Window
from chipmodel.hardware.luna_npu import LunaNpu, NpuCost
from chipmodel.model.work import Conv, Pool
from chipmodel.npu.luna_array import pair_cycles, span
from chipmodel.records import dataclass


@dataclass(frozen=True, slots=True)
class ImageConv:
    """An image's convolution of ``in_c`` by ``out_c`` channels; depthwise ones read one input channel."""

    window: Window
    in_c: int
    out_c: int
    depthwise: bool = False
    weighted: bool = True


def conv_cost(parameters: LunaNpu, work: Conv, bits: int = 8) -> NpuCost:
    """A convolution of ``bits``-wide operands, by ``depthwise_cost`` where it is depthwise.

    Each group of channels, each image of a batch and each phase of a transposed convolution is a run.
    """
    if work.depthwise:
        return depthwise_cost(parameters, work, bits)
    in_c, out_c = work.in_c // work.groups, work.out_c // work.groups
    runs = [ImageConv(window, in_c, out_c) for window in plain_windows(work.window)]
    return _op_cost(parameters, runs, work.batch * work.groups, bits)


def depthwise_cost(parameters: LunaNpu, work: Conv, bits: int = 8) -> NpuCost:
    """A convolution whose output channels read one input channel each; also one with a single channel.

    Raises ValueError where ``work`` has fewer groups than input channels.
    """
    if work.groups != work.in_c:
        raise ValueError(f"not depthwise: {work.groups} groups of {work.in_c} input channels")
    runs = [ImageConv(window, work.in_c, work.out_c, depthwise=True) for window in plain_windows(work.window)]
    return _op_cost(parameters, runs, work.batch, bits)


def pooling_cost(parameters: LunaNpu, work: Pool, bits: int = 8) -> NpuCost:
    """Max or average pooling: depthwise work that loads no weights."""
    run = ImageConv(work.window, work.channels_, work.channels_, depthwise=True, weighted=False)
    return _op_cost(parameters, [run], work.batch, bits)


def _op_cost(parameters: LunaNpu, runs: list[ImageConv], times: int, bits: int) -> NpuCost:
    """All ``runs``, repeated ``times``. Only the first pass of the op pays its configuration in full."""
    first = parameters.later_pass_saving
    if runs[0].depthwise:
        first -= parameters.depthwise_saving
    once = sum((run_cost(parameters, run, bits) for run in runs), NpuCost())
    return once.times(times) + NpuCost(configuration=Fraction(first))


def run_cost(parameters: LunaNpu, run: ImageConv, bits: int) -> NpuCost:
    """One run, each pass charged as one after the op's first."""
    channels = channels_per_pass(parameters, run, bits)
    passes, rest = divmod(run.out_c, channels)
    cost = pass_cost(parameters, run, channels, bits).times(passes)
    return cost + pass_cost(parameters, run, rest, bits) if rest else cost


def pass_cost(parameters: LunaNpu, run: ImageConv, channels: int, bits: int) -> NpuCost:
    """A pass of ``channels`` output channels: configuration, input, weights, then compute or store."""
    width = parameters.width(bits)
    weight_bytes = round_up(channels, parameters.out_lanes) * weight_bytes_per_channel(parameters, run, bits)
    store_bytes = channels * run.window.out_h * run.window.out_w * width.bytes
    slowdown = ceil(parameters.width_8.macs_per_cycle / width.macs_per_cycle)
    in_groups = 1 if run.depthwise else ceil_div(run.in_c, parameters.in_lanes)
    image = visible_window(run.window)
    pair = pair_cycles(parameters, image, in_groups, slowdown, run.depthwise)
    compute = Fraction(ceil_div(channels, parameters.out_lanes) * pair)
    store = Fraction(store_bytes, parameters.store_bytes_per_cycle)
    return NpuCost(
        configuration=Fraction(pass_configuration(parameters, run, weight_bytes, bits)),
        input_load=Fraction(input_bytes(parameters, run, channels, bits), parameters.load_bytes_per_cycle),
        weight_load=Fraction(weight_bytes, parameters.load_bytes_per_cycle),
        compute=compute,
        store=max(Fraction(0), store - compute),
    )


def pass_configuration(parameters: LunaNpu, run: ImageConv, weight_bytes: int, bits: int) -> int:
    """Configuration of a pass, with each piece of a convolution's input that exceeds the input buffer.

    Where even the weights of one group of output channels exceed the weight buffer (the vendor's tables have
    no such row), they are loaded in lots of input channels. Each lot is configured as a pass with that input;
    together they load and compute what one pass would.
    """
    lots = max(1, ceil_div(weight_bytes, parameters.weight_buffer))
    if run.depthwise:
        return lots * (parameters.depthwise_configuration - parameters.later_pass_saving)
    in_c = ceil_div(run.in_c, lots)
    pieces = input_pieces(parameters, run.window, in_c, bits)
    extra = parameters.piece_configuration * pieces + parameters.piece_channel * in_c if pieces > 1 else 0
    return lots * (parameters.conv_configuration - parameters.later_pass_saving + extra)


def least_further_cost(
    parameters: LunaNpu, work: Conv | Pool, bits: int, groups: int, depthwise: bool, columns: bool
) -> Fraction:
    """A lower bound on what ``work`` in any parts, with ``columns`` of columns too, adds to its cost with an
    unlimited input buffer. Each of its ``groups`` has a pass of its own.

    An input of several pieces adds the cheaper of two: a stripe for each piece, which is configured for all
    passes and loads all weights, or one stripe that pays for all pieces. 0 for a transposed convolution,
    which is several runs.
    """
    if work.window.transposed:
        return Fraction(0)
    run = _run_of(work, depthwise)
    per_channel = weight_bytes_per_channel(parameters, run, bits)
    channels = channels_per_pass(parameters, run, bits)
    runs = 1 if run.depthwise else work.batch * (work.groups if isinstance(work, Conv) else 1)
    passes = runs * ceil_div(run.out_c, channels)
    more = max(0, groups - passes)
    first = parameters.later_pass_saving - (parameters.depthwise_saving if run.depthwise else 0)
    # Where a part's first pass costs less than its later ones, each pass may be a slice of its own.
    of_slices = min(0, first) * (passes + more - 1)
    lots = max(1, ceil_div(round_up(channels, parameters.out_lanes) * per_channel, parameters.weight_buffer))
    whole = parameters.depthwise_configuration if run.depthwise else parameters.conv_configuration
    later = Fraction(whole - parameters.later_pass_saving)
    load = Fraction(input_bytes(parameters, run, channels, bits), parameters.load_bytes_per_cycle)
    weights = Fraction(run.out_c * per_channel, parameters.load_bytes_per_cycle)
    stripe = (passes + more) * lots * later + first + weights
    count_pieces = least_pieces if columns else input_pieces
    pieces = 1 if run.depthwise else count_pieces(parameters, run.window, ceil_div(run.in_c, lots), bits)
    together = parameters.piece_configuration * pieces + parameters.piece_channel * ceil_div(run.in_c, lots)
    apart = min((pieces - 1) * stripe, Fraction((passes + more) * lots * together)) if pieces > 1 else 0
    return more * (later if run.depthwise else later + load) + max(apart, 0) + of_slices


def _run_of(work: Conv | Pool, depthwise: bool) -> ImageConv:
    if isinstance(work, Pool):
        return ImageConv(work.window, work.channels_, work.channels_, depthwise=True, weighted=False)
    if depthwise:
        return ImageConv(work.window, work.in_c, work.out_c, depthwise=True)
    return ImageConv(work.window, work.in_c // work.groups, work.out_c // work.groups)


def weight_bytes_per_channel(parameters: LunaNpu, run: ImageConv, bits: int) -> int:
    """Bytes of one output channel's weights, input channels padded to the array's."""
    if not run.weighted:
        return 0
    in_c = 1 if run.depthwise else round_up(run.in_c, parameters.in_lanes)
    return in_c * run.window.kernel_h * run.window.kernel_w * parameters.width(bits).bytes


def channels_per_pass(parameters: LunaNpu, run: ImageConv, bits: int) -> int:
    """Output channels whose weights the weight buffer holds: whole groups, at least one."""
    per_channel = weight_bytes_per_channel(parameters, run, bits)
    lanes = parameters.out_lanes
    if per_channel * round_up(run.out_c, lanes) <= parameters.weight_buffer:
        return run.out_c
    return max(lanes, parameters.weight_buffer // per_channel // lanes * lanes)


def input_bytes(parameters: LunaNpu, run: ImageConv, channels: int, bits: int) -> int:
    """Bytes loaded for ``channels`` output channels: all input channels, or only their own if depthwise."""
    row = row_bytes(parameters, run.window, bits)
    if run.depthwise:
        in_c = round_up(ceil_div(channels * run.in_c, run.out_c), parameters.out_lanes)
    else:
        in_c = round_up(run.in_c, parameters.in_lanes)
        row = round_up(row, parameters.conv_row_alignment)
    return in_c * input_rows(run.window) * row


def input_pieces(parameters: LunaNpu, window: Window, in_c: int, bits: int) -> int:
    """Pieces of whole rows that the input buffer holds; a row that is larger is cut itself."""
    row = round_up(in_c, parameters.in_lanes) * row_bytes(parameters, window, bits)
    rows_at_once = parameters.input_buffer // row
    if rows_at_once == 0:
        return input_rows(window) * ceil_div(row, parameters.input_buffer)
    return ceil_div(input_rows(window), rows_at_once)


def least_pieces(parameters: LunaNpu, window: Window, in_c: int, bits: int) -> int:
    """The least that ``input_pieces`` is, for pieces of any rows and columns."""
    row = round_up(in_c, parameters.in_lanes) * row_bytes(parameters, window, bits)
    return ceil_div(input_rows(window) * row, parameters.input_buffer)


def row_bytes(parameters: LunaNpu, window: Window, bits: int) -> int:
    """One channel's row, columns padded to whole column groups."""
    return round_up(window.in_w, parameters.columns * window.stride_w) * parameters.width(bits).bytes


def input_rows(window: Window) -> int:
    """Rows to load: the whole image, or those that a part of its output rows can read."""
    reach = span(window.kernel_h, window.dilation_h)
    return min(window.in_h, window.out_h * window.stride_h + reach - 1)


def visible_window(window: Window) -> Window:
    """``window`` without top and bottom padding where only a part of the output rows is made.

    Which part is not known, and only the outermost parts read padding.
    """
    reach = span(window.kernel_h, window.dilation_h)
    needed = window.in_h + window.pad_top + window.pad_bottom - reach
    return window if needed < window.out_h * window.stride_h else replace(window, pad_top=0, pad_bottom=0)


def plain_windows(window: Window) -> list[Window]:
    """The window itself, or the stride-1 windows that a transposed convolution is made of.

    Output rows of one phase (their number modulo the stride) use the same kernel rows, so each pair of a row
    phase and a column phase is a plain convolution with those taps only. A phase without taps runs with one
    tap of zeros, to write its outputs.
    """
    if not window.transposed:
        return [window]
    rows = _phases(window.out_h, window.kernel_h, window.stride_h, window.pad_top, window.dilation_h)
    columns = _phases(window.out_w, window.kernel_w, window.stride_w, window.pad_left, window.dilation_w)
    across = list(columns)
    return [_plain(window, row, column) for row in rows for column in across]


@dataclass(frozen=True, slots=True)
class _AxisPhase:
    """One axis of a phase: outputs, taps, their dilation in inputs, and the padding before them."""

    out: int
    taps: int
    dilation: int
    before: int

    def after(self, inputs: int) -> int:
        """Padding after ``inputs`` inputs."""
        return max(0, self.out - 1 + span(self.taps, self.dilation) - self.before - inputs)


def _phases(out: int, kernel: int, stride: int, padding: int, dilation: int) -> Iterator[_AxisPhase]:
    """Phases of an axis: output y reads input i by tap t where y + padding == i * stride + t * dilation."""
    for phase in range(min(stride, out)):
        first, remainder = divmod(phase + padding, stride)
        shifts = [t * dilation // stride for t in range(kernel) if t * dilation % stride == remainder]
        before = max(0, max(shifts, default=0) - first)
        step = dilation // gcd(dilation, stride)
        yield _AxisPhase(ceil_div(out - phase, stride), max(1, len(shifts)), step, before)


def _plain(window: Window, row: _AxisPhase, column: _AxisPhase) -> Window:
    return Window(
        window.in_h,
        window.in_w,
        row.out,
        column.out,
        row.taps,
        column.taps,
        pad_top=row.before,
        pad_left=column.before,
        pad_bottom=row.after(window.in_h),
        pad_right=column.after(window.in_w),
        dilation_h=row.dilation,
        dilation_w=column.dilation,
    )
