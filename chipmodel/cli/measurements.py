"""``chipmodel validate`` and ``calibrate``: the model against a table of measurements, and fitted to it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from chipmodel.cli.command import command
from chipmodel.cli.file_options import STDOUT
from chipmodel.cli.options import ChipOptions
from chipmodel.cli.output import AnswerFiles, note


@command
def validate(*, target: ChipOptions, files: AnswerFiles, **asked: Any) -> None:
    """Compare the model with the measurements in TABLE.csv, row by row.

    The columns, in any order, decide the kind of table; other columns are ignored. Times are in cycles, for
    networks in milliseconds. The last column before "and" is compared; the columns after it may be missing.
    The exit code is 0 however large the errors are.

    Of a chip (luna-arcs, unless --chip names another), bytes and shapes per row:

    \b
      luna_conv2d      in_c,in_h,in_w,out_c,kernel_h,kernel_w,stride,pad_h,pad_w,
                       cycles (int8; padding on both sides)
      luna_depthwise2d the same; of a table with in_c = out_c in all rows, the
                       reading with the smaller error is taken, or --kind
      luna_matmul      rows,inner,cols,bits,cycles (bits: 4, 8, 16 or 32)
      luna_vector      op,elements,cycles (int8; add, mul, relu, softmax ...)
      luna_transfer    route,bytes,core_cycles (dma psram->shared,
                       dma shared->psram ...)

    Of a board, whole networks with the schedule of its own tool, streamer vendor
    (stm32n6, unless --chip names another):

    \b
      networks         workload,milliseconds and set (fields of the chip, as
                       "weights.setup_cycles=9 cores=2"), family

    Of a controller, by its preset, --chip and --set; where the table has a column
    for a clock, a latency, a width, a burst length or a wait, that counts instead:

    \b
      pulp-hyperbus
        rtl_hyperbus_read          sys_mhz,ck_mhz,latency_clocks,
          latency_multiple,max_burst_words,bytes,address,last_beat_sys_cycle
          and first_beat_sys_cycle,cs_low_count,ck_clocks
        rtl_hyperbus_back_to_back  sys_mhz,ck_mhz,reads,bytes_each,
          latency_clocks,latency_multiple,max_burst_words,total_sys_cycles
          and cs_low_count,ck_clocks
      axi-cdma
        rtl_axi_cdma               data_bits,max_burst_beats,src,dst,bytes,
          cycles and read_bursts,write_bursts
      ef-psram
        rtl_ef_psram               controller,command,is_read,bytes,
          wait_clocks,controller_cycles and sck_clocks

    \f
    # The error of each row, and a chart
    chipmodel validate conv2d.csv --html errors.html
    """
    from chipmodel.api.measured import validate as compare_table

    answer = compare_table(chip=target.chip_name, overrides=target.overrides, **asked)
    if files.json_file == STDOUT:
        note(answer.result.notes)
    files.give(answer)


@command
def calibrate(*, target: ChipOptions, output: str | None, files: AnswerFiles, **asked: Any) -> None:
    """Fit the few free constants of a chip to the measurements in TABLE.csv, and say what changed.

    The tables are those of chipmodel validate. Only constants that no document states are fitted: set-ups,
    overheads and configurations. For networks on boards these are the launch, the ports, the rate and the
    CPU's share, or the fields of --free, at most one for five rows. Each family also gets the error of a fit
    to all others. A number that runs away is refused: the base chip lacks the mechanism that takes that time.

    \f
    # Fit the default chip to a table of convolutions
    chipmodel calibrate conv2d.csv -o my-chip.yaml
    # Fit one number of a board
    chipmodel calibrate networks.csv --chip stm32n6 --free npu.launch_cycles
    """
    from chipmodel.api.measured import calibrate as fit_chip

    answer = fit_chip(chip=target.chip_name, overrides=target.overrides, **asked)
    base = _base_of(target.chip_name or answer.result.before.kind.chip, Path(output or "."))
    files.give(answer, (output, lambda: answer.chip_file(base)))


def _base_of(chip: str, output: Path) -> str:
    """A chip file's base is relative to the file itself."""
    if not Path(chip).is_file():
        return chip
    return os.path.relpath(chip, output.parent)
