"""The command line: the only place where everything meets.

Heavy packages are imported inside the commands that use them, so that ``--help`` is quick.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from chipmodel import __version__
from chipmodel.cli.compare import compare
from chipmodel.cli.diff import diff
from chipmodel.cli.export import export
from chipmodel.cli.options import (
    DEFAULT_CHIP,
    all_of,
    chip_options,
    effort,
    effort_options,
    inputs,
    order_option,
    plan_options,
    workload_options,
)
from chipmodel.cli.pack import check_packing, is_packing, pack
from chipmodel.cli.paths import path_word, sample_options, weighed_run
from chipmodel.cli.plan import plan
from chipmodel.cli.report import report
from chipmodel.cli.study import study
from chipmodel.errors import EXIT_BAD_INPUT, EXIT_DOES_NOT_FIT, ChipmodelError
from chipmodel.pipeline.order_plans import order_faults, run_in_order
from chipmodel.terminal.progress import stage

if TYPE_CHECKING:
    from chipmodel.model.program import Program
    from chipmodel.model.result import Result
    from chipmodel.passes.in_place import InPlace
    from chipmodel.pipeline.order_choice import OrderWish

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def main() -> None:
    """Entry point: every error is one message and an exit code, never a traceback."""
    _open_streams()
    try:
        code = commands.main(standalone_mode=False)
        sys.exit(code if isinstance(code, int) else 0)
    except click.exceptions.Abort:
        _fail("interrupted", 130)
    except click.ClickException as error:
        error.show()
        sys.exit(EXIT_BAD_INPUT)
    except ChipmodelError as error:
        _fail(f"error: {error}", error.exit_code)
    except _ReaderLeft:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except OSError as error:
        if os.environ.get("CHIPMODEL_TRACEBACK"):
            raise
        named = f": {error.filename}" if error.filename else ""
        hint = "a limit (ulimit -a), a folder or a device of this system; CHIPMODEL_TRACEBACK=1 shows where"
        _fail(f"error: the system says: {error.strerror or error}{named}\n  hint: {hint}", EXIT_BAD_INPUT)
    except Exception as error:
        if os.environ.get("CHIPMODEL_TRACEBACK"):
            raise
        _fail(
            f"internal error: {type(error).__name__}: {error}\n"
            "  hint: this is a fault of chipmodel; set CHIPMODEL_TRACEBACK=1 to see where, and report it",
            70,
        )


def _fail(message: str, code: int) -> None:
    click.echo(message, err=True)
    sys.exit(code)


def _open_streams() -> None:
    """Where stdin, stdout or stderr is closed, the null device: else the next file that is opened becomes it,
    and gets what is printed."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # The lowest number that is free.
    sys.stdout = sys.stdout or open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = sys.stderr or open(2, "w", closefd=False)  # noqa: SIM115


class _ReaderLeft(Exception):
    """Who read stdout reads no more, as ``head`` does."""


class _Commands(click.Group):
    """Commands whose broken pipes and ended streams reach ``main``. For the first click and rich exit with 1,
    which here says that something does not fit; the other click takes for Ctrl-C."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise _ReaderLeft from None
        except SystemExit as exit_:
            if isinstance(exit_.__context__, BrokenPipeError):
                raise _ReaderLeft from None
            raise
        except EOFError as error:
            raise RuntimeError(f"a stream ended: {error}") from error


_CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


@click.group(cls=_Commands, context_settings=_CONTEXT)
@click.version_option(__version__, prog_name="chipmodel")
def commands() -> None:
    """A cycle model of edge AI chips, and planners for their memory and DMA.

    A WORKLOAD is a .yaml file, an .onnx file, or a built-in network such as zoo:resnet18
    (see: chipmodel zoo). Exit codes: 0 done, 1 does not fit, 2 bad input, 3 unknown within the limits.
    """


_table_options = all_of(
    click.argument("table_file", metavar="TABLE.csv"),
    chip_options,
    click.option("--kind", metavar="KIND", help="Read the table as this kind, whatever its columns say."),
)


@commands.command()
@workload_options
@chip_options
@click.option("--packer", default="large-first", show_default=True, help="Planner of offsets.")
@click.option("--streamer", default="ping-pong", show_default=True, help="Planner of transfers.")
@plan_options
@order_option
@effort_options
@sample_options
@click.option("--json", "json_file", metavar="FILE|-", help="The answer as one JSON document.")
@click.option("--plan", "plan_file", metavar="FILE", help="Offsets and commands, for chipmodel check.")
@click.option("--trace", "trace_file", metavar="FILE", help="Chrome trace events, for Perfetto.")
@click.option("--html", "html_file", metavar="FILE", help="One self-contained page.")
def simulate(
    workload: str,
    dtype: str | None,
    shapes: tuple[str, ...],
    strict: bool,
    profile: str | None,
    chip_name: str | None,
    overrides: tuple[str, ...],
    packer: str,
    streamer: str,
    no_spill: bool,
    in_place: InPlace,
    merge: str,
    choices: tuple[str, ...],
    order: OrderWish,
    time_limit: float | None,
    gap: float | None,
    samples: int | None,
    seed: int,
    json_file: str | None,
    plan_file: str | None,
    trace_file: str | None,
    html_file: str | None,
) -> int:
    """Plan WORKLOAD's memory and transfers, simulate them, and say what they cost and why."""
    program, chip = inputs(workload, dtype, shapes, strict, profile, chip_name, overrides)
    word, path = path_word(choices)
    from chipmodel.pipeline import single_core as pipeline

    def run(program: Program, choices: Mapping[str, str]) -> Result:
        with stage(f"planning and simulating {program.name}") as say:
            limits, stop = effort(time_limit, gap, say)
            return pipeline.run(
                *(program, chip, packer, streamer),
                spill=not no_spill,
                choices=choices,
                merge=merge,
                limits=limits,
                stop=stop,
            )

    result = weighed_run(run_in_order(program, in_place, order, run, path), word, path, samples, seed)
    from chipmodel.files.json_text import json_text
    from chipmodel.pipeline.plan_export import plan_text
    from chipmodel.pipeline.unmerged import with_unmerged
    from reports.run.chrome_trace import trace_text
    from reports.run.document import document
    from reports.run.page import render_page

    outputs: list[tuple[str, Callable[[], str]]] = []
    if plan_file:
        named = (workload, chip_name or DEFAULT_CHIP, overrides)
        outputs.append((plan_file, lambda: plan_text(result, *named)))
    if trace_file:
        outputs.append((trace_file, lambda: trace_text(result)))
    if html_file:
        outputs.append((html_file, lambda: render_page(with_unmerged(result, packer))))
    if json_file and json_file != "-":
        outputs.append((json_file, lambda: json_text(document(result))))
    _write_all(outputs)
    if json_file == "-":
        click.echo(json_text(document(result)), nl=False)
    else:
        from rich.console import Console

        from reports.run.summary import print_summary

        print_summary(result, Console())
    return _verdict(result)


def _verdict(result: Result) -> int:
    if result.fits:
        return 0
    click.echo(
        f"does not fit: packer {result.solved.planner} needs {result.solved.peak:,} B of "
        f"{result.capacity:,} B\n  hint: another --packer, or more memory: "
        f"--set shared_memory.bytes={result.solved.peak}",
        err=True,
    )
    return EXIT_DOES_NOT_FIT


def _write_all(outputs: list[tuple[str, Callable[[], str]]]) -> None:
    """All texts are made before the first file is written."""
    from chipmodel.files.atomic_write import write_whole

    with stage("writing reports"):
        texts = [(Path(name), text()) for name, text in outputs]
        for path, text in texts:
            write_whole(path, text)


@commands.command()
@click.argument("plan_file", metavar="PLAN")
@workload_options
@chip_options
def check(
    plan_file: str,
    workload: str,
    dtype: str | None,
    shapes: tuple[str, ...],
    strict: bool,
    profile: str | None,
    chip_name: str | None,
    overrides: tuple[str, ...],
) -> int:
    """Verify PLAN for WORKLOAD with code that shares nothing with the planners.

    The chip is the one that the plan names, unless --chip or --set say otherwise. Where WORKLOAD is a
    packing problem (FILE.csv), PLAN is what chipmodel pack --json wrote.
    """
    if is_packing(workload):
        return check_packing(plan_file, workload)
    from chipmodel.files.yaml_file import read_text
    from chipmodel.passes.in_place import reuse
    from chipmodel.plan_file.document import read_plan
    from chipmodel.verify.cores import verify_file

    plan = read_plan(read_text(Path(plan_file)), plan_file)
    named = chip_name or plan.chip
    changed = overrides if chip_name or overrides else plan.overrides
    program, chip = inputs(workload, dtype, shapes, strict, profile, named, changed)
    with stage(f"checking {plan_file}"):
        program, violations = order_faults(program, plan)
        violations = violations or verify_file(reuse(program, "all"), plan, chip)
    for violation in violations:
        click.echo(f"wrong: {violation}")
    if violations:
        return EXIT_DOES_NOT_FIT
    number = len(plan.buffers) + sum(len(core.buffers) for core in plan.cores)
    many = f" on {len(plan.cores)} cores" if plan.cores else ""
    capacity = f"{chip.shared_memory.bytes:,} B"
    click.echo(f"correct: {number} buffers{many}, peak {plan.peak_bytes:,} B of {capacity}")
    return 0


@commands.command()
@_table_options
@click.option("--json", "json_file", metavar="FILE|-", help="All rows and the summary as one JSON document.")
def validate(
    table_file: str,
    chip_name: str | None,
    overrides: tuple[str, ...],
    kind: str | None,
    json_file: str | None,
) -> int:
    """Compare the model with the measurements in TABLE.csv, row by row.

    The columns tell the kind of table, in any order; columns that a kind does not have are not used.
    Times are cycles. The last column before "and" is the one that counts; those after it may be
    missing. The exit code is 0 however large the errors are.

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
    """
    from chipmodel.files.yaml_file import read_text
    from dma.validation.compare import chip_for, compare, document, read_table

    with stage(f"comparing {table_file}"):
        table = read_table(read_text(Path(table_file)), table_file, kind)
        answer = document(compare(table, chip_for(table, chip_name, overrides)))
    text = json.dumps(answer, indent=2) + "\n"
    if json_file == "-":
        for note in answer["notes"]:
            click.echo(f"note: {note}", err=True)
        click.echo(text, nl=False)
        return 0
    if json_file:
        _write_all([(json_file, lambda: text)])
    from rich.console import Console

    from reports.validation import print_validation

    print_validation(answer, Console())
    return 0


@commands.command()
@_table_options
@click.option("--output", "-o", metavar="FILE", help="Write the fitted chip as a chip file.")
def calibrate(
    table_file: str,
    chip_name: str | None,
    overrides: tuple[str, ...],
    kind: str | None,
    output: str | None,
) -> None:
    """Fit the few free constants of a chip to the measurements in TABLE.csv, and say what changed.

    The tables are those of chipmodel validate. Free are set-ups, overheads and configurations: what only a
    measurement can tell.
    """
    from chipmodel.files.atomic_write import write_whole
    from chipmodel.files.yaml_file import read_text
    from dma.validation.calibration import calibrate as fit
    from dma.validation.calibration import chip_text
    from dma.validation.compare import read_table
    from reports.lists import print_calibration

    with stage(f"fitting to {table_file}"):
        table = read_table(read_text(Path(table_file)), table_file, kind)
        calibration = fit(table, chip_name, overrides)
    if output:
        base = _base_of(chip_name or calibration.before.kind.chip, Path(output))
        write_whole(Path(output), chip_text(calibration, base, Path(table_file).name))
    errors = [[abs(float(r.relative)) for r in c.rows] for c in (calibration.before, calibration.after)]
    changes = [(c.path, float(c.before), float(c.after)) for c in calibration.changes]
    print_calibration(calibration.before.chip, changes, errors[0], errors[1])


def _base_of(chip: str, output: Path) -> str:
    """A chip file's base is relative to the file itself."""
    if not Path(chip).is_file():
        return chip
    return os.path.relpath(chip, output.parent)


commands.add_command(pack)
commands.add_command(plan)
commands.add_command(compare)
commands.add_command(study)
commands.add_command(report)
commands.add_command(diff)
commands.add_command(export)


@commands.command()
def schema() -> None:
    """Print the JSON Schema of YAML workloads, for editors and generators."""
    from workloads.from_yaml.program import schema as workload_schema

    click.echo(json.dumps(workload_schema(), indent=2))


@commands.command()
def zoo() -> None:
    """List the built-in networks with their source, MACs and weights."""
    from reports.lists import print_networks
    from workloads.zoo import build, networks

    print_networks([(network, build(network.name)) for network in networks()])


@commands.command()
def planners() -> None:
    """List the packers, mergers and streamers with what they do and who published them."""
    from dma.stream import policies
    from reports.lists import print_planners
    from solvers.branches.mergers import mergers
    from solvers.registry import packers

    print_planners(list(packers().values()), list(mergers().values()), list(policies().values()))


@commands.command()
@click.argument("name", required=False)
@click.option("--set", "overrides", multiple=True, metavar="FIELD=VALUE", help="Change a number. Repeatable.")
def chips(name: str | None, overrides: tuple[str, ...]) -> None:
    """List the chip presets, or every number of one with its origin."""
    from chipmodel.chip.chip_file import load_chip, preset_names
    from reports.lists import print_chip, print_chips

    if name:
        print_chip(load_chip(name, overrides))
    else:
        print_chips([load_chip(preset, overrides) for preset in preset_names()])
