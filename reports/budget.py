"""Budgets in words, as JSON values, as JUnit XML and as a Markdown table."""

from __future__ import annotations

from xml.etree import ElementTree

from chipmodel.answers.budget import BudgetAnswer, BudgetEntry, BudgetLine
from chipmodel.terminal.escapes import visible
from reports.markdown import escaped, markdown_table
from reports.page_parts import PageTable, TablePage
from reports.words import percent, plural

HEADS = ("budget", "quantity", ">limit", ">value", ">of limit", "verdict")


def headline(answer: BudgetAnswer) -> str:
    """How many budgets are kept, and what the first is exceeded by."""
    return f"{answer.title}: {_finding(answer)}"


def _finding(answer: BudgetAnswer) -> str:
    kept = sum(entry.kept for entry in answer.entries)
    text = f"{kept} of {plural(len(answer.entries), 'budget')} kept"
    broken = [fault for entry in answer.entries for fault in faults(entry)]
    return f"{text}; {broken[0]}" if broken else text


def faults(entry: BudgetEntry) -> list[str]:
    """Every reason why a budget is not kept."""
    refused = [f"{entry.name}: {entry.refused}"] if entry.refused else []
    return refused + [f"{entry.name}: {_excess(line)}" for line in entry.lines if not line.kept]


def _excess(line: BudgetLine) -> str:
    if line.value is None:
        return f"{line.quantity} is not known: there is no plan"
    is_ = f"{line.quantity} of {_amount(line, line.value)} is"
    if line.value > line.limit:
        return f"{is_} above the limit of {_amount(line, line.limit)}"
    more = f"more than {percent(line.growth)} above" if line.growth else "more than"
    return f"{is_} {more} the {_amount(line, line.before)} before"


def _amount(line: BudgetLine, value: float | None) -> str:
    return _number(value) if line.unit == line.quantity else f"{_number(value)} {line.unit}"


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,}" if value == int(value) else f"{value:,.3f}"


def _cells(line: BudgetLine) -> tuple[str, ...]:
    limit, value = (_amount(line, each) for each in (line.limit, line.value))
    share = "-" if line.value is None or not line.limit else percent(line.value / line.limit)
    within = line.value is not None and line.value <= line.limit
    verdict = "kept" if line.kept else "GROWN" if within else "EXCEEDED"
    return line.entry, line.quantity, limit, value if line.value is not None else "-", share, verdict


def markdown(answer: BudgetAnswer) -> str:
    """A heading, a row for every limit, and why budgets are not kept."""
    rows = [_cells(line) for entry in answer.entries for line in entry.lines]
    broken = [f"* {escaped(fault)}" for entry in answer.entries for fault in faults(entry)]
    parts = (f"### {escaped(headline(answer))}", markdown_table(HEADS, rows), "\n".join(broken))
    return "\n\n".join(filter(None, parts)) + "\n"


def page(answer: BudgetAnswer) -> TablePage:
    """Every limit, and why budgets are not kept."""
    lines = [line for entry in answer.entries for line in entry.lines]
    rows, good = [_cells(line) for line in lines], [line.kept for line in lines]
    broken = [(fault,) for entry in answer.entries for fault in faults(entry)]
    tables = (
        PageTable("limits", "Limits", HEADS, rows, good=good),
        PageTable("broken", "Why it fails", ("what",), broken, most=0),
    )
    return TablePage("ci", answer.title, "", (_finding(answer),), tables)


def junit(answer: BudgetAnswer) -> str:
    """A suite with a test case for every limit, as JUnit's readers in GitHub, GitLab and Jenkins take it."""
    lines = [(entry, line) for entry in answer.entries for line in entry.lines]
    failed = sum(not line.kept or bool(entry.refused) for entry, line in lines)
    suite = ElementTree.Element(
        "testsuite", name=visible(answer.title), tests=str(len(lines)), failures=str(failed), errors="0"
    )
    for entry, line in lines:
        case = ElementTree.SubElement(suite, "testcase", classname=visible(entry.name), name=line.quantity)
        if entry.refused or not line.kept:
            message = visible(entry.refused or _excess(line))
            ElementTree.SubElement(case, "failure", message=message).text = message
    ElementTree.indent(suite)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(suite, encoding="unicode") + "\n"
