"""What ``--help`` shows: options in groups under headings, and examples at the end."""

from __future__ import annotations

from collections.abc import Iterator

import click

EXAMPLES: dict[str, tuple[tuple[str, str], ...]] = {
    "chipmodel": (
        ("What a network costs on a chip, and why", "simulate zoo:resnet18 --chip stm32n6"),
        ("The same for a model of your own, as a page", "simulate model.onnx --html run.html"),
    ),
    "arena": (
        ("The smallest arena, and a model that has its plan", "model.tflite --write-model planned.tflite"),
        ("Hot tensors in SRAM", "model.tflite --sram 256KiB --psram 8MiB --write-header net.h"),
    ),
    "calibrate": (
        ("Fit the default chip to a table of convolutions", "conv2d.csv -o my-chip.yaml"),
        ("Fit one number of a board", "networks.csv --chip stm32n6 --free npu.launch_cycles"),
    ),
    "check": (
        ("Verify a plan", "plan.json zoo:resnet8"),
        ("Run it on real bytes, too", "plan.json zoo:resnet8 --execute"),
    ),
    "chips": (
        ("Every number of a preset, with its origin", "stm32n6"),
        ("The same with a change", "stm32n6 --set shared_memory.bytes=1MiB"),
    ),
    "ci": (
        ("Fail if a limit is exceeded", "budget.yaml --junit budget.xml --markdown budget.md"),
        ("Fail if a value grew by more than 2 %", "budget.yaml --against base.json --growth 2"),
    ),
    "compare": (
        ("All packers on the buffers of a network", "zoo:resnet8 --html packers.html"),
        ("Two streamers in whole runs", "zoo:resnet8 --streamers sync,ping-pong"),
        ("Packers on a packing problem", "guillotine:n=40,seed=3 --packers exact,large-first"),
    ),
    "decode": (
        ("Tokens a second by context", '"zoo:stories?variant=260K" --context 8,64 --html decode.html'),
    ),
    "diff": (
        ("What changed between two runs, and why", "before.json after.json"),
        ("Both runs on one page", "before.json after.json --html diff.html"),
    ),
    "examples": (("Then: cd try && chipmodel simulate workloads/gated_vision.yaml", "try"),),
    "explain": (
        ("Why a board takes 50 ms", "zoo:resnet8 --chip stm32n6 --measured 50ms"),
        ("What lies between two boards", "zoo:resnet8 --chip stm32n6 --chip gap9"),
    ),
    "export": (
        ("A C99 header of a plan", "plan.json --as c-header -o plan.h"),
        ("A table of the ops of a result", "result.json --as csv"),
    ),
    "memory": (("How much SharedMemory a network needs", "model.tflite --chip stm32n6 --points 4"),),
    "pack": (
        ("The smallest memory for the buffers of a file", "buffers.csv -o packed.csv"),
        ("A plan within 1 MiB, the same every time", "buffers.csv --capacity 1MiB --node-limit 100000"),
    ),
    "plan": (
        ("A plan for chipmodel check", "zoo:resnet8 --chip stm32n6 -o plan.json"),
        ("A quick one, by named planners", "zoo:resnet8 --packer large-first --streamer ping-pong"),
    ),
    "planners": (("The list as JSON", "--json -"),),
    "report": (
        ("The tables on the terminal", "study.yaml"),
        ("The page, with a page for each point", "study.yaml -o study.html --points points"),
    ),
    "schema": (("Keep the schema for an editor", "> workload.schema.json"),),
    "sensitivity": (("What a faster or slower Psram changes", "zoo:resnet8 --vary psram.clock_mhz"),),
    "simulate": (
        ("Where the time goes, as a page", "zoo:resnet18 --chip stm32n6 --html run.html"),
        ("The same with less SharedMemory", "zoo:resnet18 --chip stm32n6 --set shared_memory.bytes=1MiB"),
        ("An ONNX model of unknown batch, in int8", "model.onnx --shape batch=1 --dtype int8"),
        ("The result for diff, and the plan for check", "zoo:resnet8 --json result.json --plan plan.json"),
    ),
    "study": (
        ("Answer all points without a row, on four cores", "study.yaml --workers 4"),
        ("How far it is", "study.yaml --status"),
    ),
    "validate": (("The error of each row, and a chart", "conv2d.csv --html errors.html"),),
    "zoo": (("The networks with mobile in their line", "| grep mobile"),),
}
"""For each command, what is wanted and the rest of the line. ``chipmodel`` has the whole one."""


def examples(command: str) -> list[tuple[str, str]]:
    """What is wanted and the whole line, for each example of a command."""
    before = "chipmodel" if command == "chipmodel" else f"chipmodel {command}"
    return [(wanted, f"{before} {rest}") for wanted, rest in EXAMPLES.get(command, ())]


OWN = "Options"
GENERAL = "General"
HEADINGS: dict[str, tuple[str, ...]] = {
    OWN: ("check --seed",),
    "Workload": (
        *("--dtype", "--shape", "--strict", "--iterations", "--value", "--probability", "--profile"),
        *("--state", "--steady-state", "--path"),
    ),
    "Chip": ("--chip", "--set"),
    "Planners": ("--packer", "--streamer", "--packers", "--merges", "--streamers", "--order", "--with-sync"),
    "Memory": ("--capacity", "--memory", "--no-spill", "--in-place", "--merge", "--cascade", "--recompute"),
    "Search": ("--time-limit", "--gap", "--node-limit", "--samples", "--seed"),
    "Output": (
        *("--output", "--json", "--html", "--plan", "--trace", "--write-model", "--junit", "--markdown"),
        *("--export", "--no-times", "report --points", "--statistics", "--figures", "--lock"),
    ),
    GENERAL: ("--help",),
}
"""The headings in their order, and whose options they are; ``COMMAND --option`` is that of one command. An
option that is not listed is the command's own."""
_HEADING_OF = {option: heading for heading, options in HEADINGS.items() for option in options}
WIDEST_OPTION = 26
"""Columns; the meaning of a longer option begins on the next line."""
Record = tuple[str, str]
"""An option as it is written, and what it means."""


class HelpPage(click.Command):
    """A command with its options in groups and its examples."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, each under its heading, all with one column of meanings."""
        groups = list(option_groups(self, ctx))
        widest = max(len(declared) for _, records in groups for declared, _ in records)
        column = min(widest, WIDEST_OPTION)
        for heading, ((declared, meaning), *others) in groups:
            with formatter.section(heading):
                formatter.write_dl([(declared.ljust(column), meaning), *others], col_max=column)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples."""
        write_examples(self.name or "", formatter)


def option_groups(command: click.Command, context: click.Context) -> Iterator[tuple[str, list[Record]]]:
    """The headings that a command has options for, in their order, with these options."""
    found: dict[str, list[Record]] = {heading: [] for heading in HEADINGS}
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if isinstance(parameter, click.Option) and record:
            found[_heading(command.name, max(parameter.opts, key=len))].append(_plain(record))
    return ((heading, records) for heading, records in found.items() if records)


def write_examples(command: str, formatter: click.HelpFormatter) -> None:
    """Write the examples of a command, none of their lines broken."""
    with formatter.section("Examples"):
        for wanted, line in examples(command):
            for text in (f"# {wanted}", line):
                formatter.write(f"{'':>{formatter.current_indent}}{text}\n")


def _heading(command: str | None, option: str) -> str:
    return _HEADING_OF.get(f"{command} {option}") or _HEADING_OF.get(option, OWN)


def _plain(record: Record) -> Record:
    """Defaults as all of them are written: ``[auto]``."""
    declared, meaning = record
    return declared, meaning.replace("[default: ", "[").replace("  [", " [")
