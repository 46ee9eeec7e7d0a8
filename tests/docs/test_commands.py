"""Every command and example that a page shows does what the page says."""

import re
import subprocess
import sys
from doctest import DocTestParser, DocTestRunner
from pathlib import Path

import pytest

import chipmodel
from chipmodel.cli.main import COMMANDS
from docs.tools.samples import folder_of_commands, run_chipmodel
from tests.docs.pages import (
    DOCS,
    README,
    blocks,
    commands,
    first_shown,
    generated,
    name_of,
    pages,
    shell_lines,
)
from tests.support.folders import ROOT
from tests.support.wheels import install, wheel_of

PAGES = [page for page in pages() if commands(page)]
INSTALL = "python3 -m venv .venv && .venv/bin/pip install -q -c constraints.txt"
OTHER_LINES = (f"{INSTALL} .", f"{INSTALL} -e '.[test]' && .venv/bin/pytest -q -n auto")
"""Shell lines without a ``chipmodel`` command: installations, which ``.ci/run`` tries."""
FILES = {
    DOCS / "tutorial.md": {"tiny.yaml": ("yaml", 0)},
    DOCS / "howto" / "chip.md": {"my-chip.yaml": ("yaml", 0)},
    DOCS / "howto" / "architect.md": {"three.yaml": ("yaml", 0)},
    DOCS / "howto" / "budget.md": {"budget.yaml": ("yaml", 0)},
    DOCS / "howto" / "start.md": {"budget.yaml": ("yaml", 0)},
    DOCS / "howto" / "measured.md": {"cycles.csv": ("text", 0)},
}
"""Examples that the reader is asked to save: file name, language and number of the block."""


TEMPLATE = DOCS / "examples" / "plugin"
TEMPLATES = {
    DOCS / "howto" / "planner.md": ("area_first", "ahead"),
    DOCS / "howto" / "plugin.md": ("systolic", "layer_list"),
}
"""Pages that show modules of the template of plug-ins, which is installed for their commands."""


@pytest.fixture
def prepared(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the package that the page says to install."""
    if page in TEMPLATES:
        (tmp_path / "wheels").mkdir()
        install(wheel_of(TEMPLATE, tmp_path / "wheels"), tmp_path / "site")
        monkeypatch.setattr(sys, "path", [str(tmp_path / "site"), *sys.path])


@pytest.mark.parametrize("page", TEMPLATES, ids=name_of)
def test_templates_are_shown_as_they_are(page: Path) -> None:
    sources = [TEMPLATE / "src" / "chipmodel_example" / f"{name}.py" for name in TEMPLATES[page]]
    assert blocks(page, "python") == [path.read_text() for path in sources]


@pytest.mark.usefixtures("prepared")
@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=() if page == README else pytest.mark.slow) for page in PAGES],
    ids=map(name_of, PAGES),
)
def test_commands_run_as_shown_and_in_that_order(page: Path, tmp_path: Path) -> None:
    """In one folder for the page, so that a command finds what an earlier one wrote."""
    with folder_of_commands(tmp_path):
        for name, (language, number) in FILES.get(page, {}).items():
            Path(name).write_text(blocks(page, language)[number])
        for command in commands(page):
            if command.words in generated() or (first_shown()[command.words] != page and not command.writes):
                continue  # tried where it is shown with its output, or first
            code, _, errors = run_chipmodel(command.words[1:])
            assert code == command.code, (command, errors)


@pytest.mark.slow
@pytest.mark.usefixtures("prepared")
@pytest.mark.parametrize("page", [page for page in pages() if blocks(page, "pycon")], ids=name_of)
def test_python_sessions_answer_as_shown(page: Path, tmp_path: Path) -> None:
    """In one session for the page."""
    text = "\n".join(blocks(page, "pycon"))
    session = DocTestParser().get_doctest(text, {}, name_of(page), str(page), 0)
    said: list[str] = []
    with folder_of_commands(tmp_path):
        outcome = DocTestRunner(verbose=False).run(session, out=said.append)
    assert outcome.attempted
    assert not outcome.failed, "".join(said)


def test_shell_blocks_hold_commands_that_are_tried() -> None:
    for page in pages():
        for line in shell_lines(page):
            assert "chipmodel " in line or line in OTHER_LINES, (name_of(page), line)


def test_the_readmes_second_shell_block_is_the_test_command() -> None:
    """``.ci/run`` reads it there."""
    assert blocks(README, "sh")[1].strip() == OTHER_LINES[1]


def test_yaml_examples_are_valid(tmp_path: Path) -> None:
    from chipmodel.api.budget import read_budget
    from chipmodel.hardware.chip_file import load_chip
    from chipmodel.studies.study_file import read_study
    from workloads.load import load

    file = tmp_path / "example.yaml"
    for page in pages():
        for example in blocks(page, "yaml"):
            file.write_text(example)
            if "ops:" in example:
                assert load(str(file)).name == "tiny"
            elif "budgets:" in example:
                assert read_budget(file)[0].budgets
            elif "workloads:" in example:
                assert read_study(file).title
            else:
                assert load_chip(str(file)).figures


def test_the_python_example_prints_what_its_page_says() -> None:
    page = DOCS / "howto" / "agent.md"
    (example,) = blocks(page, "python")
    ran = subprocess.run(
        [sys.executable, "-c", example], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert f"It prints {ran.stdout.strip()}," in page.read_text()


def test_every_command_has_its_function_in_the_sessions() -> None:
    """The table of the page names a function for each command, and its sessions call it."""
    page = DOCS / "howto" / "python.md"
    named = dict(re.findall(r"^\| `(\w+)` \| `cm\.(\w+)`", page.read_text(), re.MULTILINE))
    sessions = "".join(blocks(page, "pycon"))
    assert list(named) == sorted(COMMANDS)
    for function in named.values():
        assert callable(getattr(chipmodel, function))
        assert f"cm.{function}(" in sessions
