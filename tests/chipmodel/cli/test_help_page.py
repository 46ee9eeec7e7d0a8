"""Every ``--help`` fits 80 columns, shows each option once, and ends with examples that run."""

import shlex
import shutil
from collections import Counter
from pathlib import Path

import pytest
from click.testing import CliRunner

from chipmodel.cli.help_page import HEADINGS, OWN, ListedOption, examples
from chipmodel.cli.main import COMMANDS, commands
from chipmodel.studies.schema import StudyFile
from docs.tools.samples import run_chipmodel
from tests.chipmodel.cli.test_file_options import command_named
from tests.docs.pages import generated
from tests.support.folders import HARDWARE, ROOT, WORKLOADS
from tests.workloads.from_onnx.support_models import model, node

PAGES = ["chipmodel", *sorted(COMMANDS)]
EXAMPLES = {"chipmodel": examples(commands), **{name: examples(command_named(name)) for name in COMMANDS}}
LINES = [line for each in EXAMPLES.values() for _, line in each]
COLUMNS = 80
NETWORKS = ROOT / "chipmodel/measured/tables/stm32n6.csv"
ROWS = 8
"""Lines of a table of measurements, which take seconds each."""
SMALLER = {"resnet18": "resnet8", "--context 8,64": "--context 1 --streamer sync"}
"""What takes long in an example, and what stands for it."""
BUDGET = "budgets:\n- {workload: zoo:ds_cnn, limits: {peak: 1MiB}}\n"
STUDY = "workloads: zoo:ds_cnn\nstreamers: sync\npackers: large-first\n"
MADE = (
    "plan zoo:resnet8 --streamer sync -o plan.json",
    "simulate zoo:resnet8 --streamer sync --json before.json",
    "simulate zoo:resnet8 --streamer ping-pong --json after.json",
    "simulate zoo:ds_cnn --set shared_memory.bytes=8KiB --bound bound.json",
    "study study.yaml",
    "ci budget.yaml --json base.json",
)


def page(name: str) -> str:
    words = [] if name == "chipmodel" else [name]
    found = CliRunner(env={"COLUMNS": str(COLUMNS)}).invoke(commands, [*words, "--help"])
    assert found.exit_code == 0
    return found.output


def words_of(line: str) -> list[str]:
    """What chipmodel gets of a line of the shell."""
    words = shlex.split(line)
    return words[1 : next((at for at, word in enumerate(words) if word in "|>"), None)]


@pytest.mark.parametrize("name", PAGES)
def test_a_page_fits_the_terminal_and_ends_with_its_examples(name: str) -> None:
    text = page(name)
    assert max(map(len, text.splitlines())) <= COLUMNS
    end = "".join(f"  # {wanted}\n  {line}\n" for wanted, line in EXAMPLES[name])
    assert text.endswith(f"\nExamples:\n{end}")


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_each_option_is_shown_once_under_its_heading(name: str) -> None:
    heading, found = "", dict[str, str]()
    for line in page(name).splitlines():
        if line and not line.startswith(" "):
            heading = line.rstrip(":")
        elif line.startswith("  -") and heading in HEADINGS:
            option = max(line.split("  ")[1].replace(",", "").split(), key=lambda word: word.startswith("--"))
            assert option not in found
            found[option] = heading
    for each in command_named(name).params:
        if isinstance(each, ListedOption):
            assert found.pop(max(each.opts, key=len)) == each.heading
    assert found == {"--help": "General"}


def test_the_page_of_study_names_every_key_of_its_file() -> None:
    text = page("study")
    assert [key for key in StudyFile.model_fields if key not in text] == []


def test_what_many_commands_share_has_a_heading() -> None:
    """Under ``Options`` is what only a command or two have."""
    options = [each for name in COMMANDS for each in command_named(name).params]
    own = Counter(
        max(each.opts, key=len) for each in options if isinstance(each, ListedOption) and each.heading == OWN
    )
    assert max(own.values()) <= 2


def test_every_command_has_examples() -> None:
    assert all(EXAMPLES.values())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With the files that examples read."""
    here = tmp_path_factory.mktemp("examples")
    copies = {"model.tflite": WORKLOADS / "residual.tflite", "buffers.csv": WORKLOADS / "packing-example.csv"}
    for name, source in copies.items():
        shutil.copy(source, here / name)
    for name, table in (("conv2d.csv", HARDWARE / "luna_conv2d.csv"), ("networks.csv", NETWORKS)):
        head, *rows = table.read_text().splitlines(keepends=True)
        (here / name).write_text("".join((head, *rows[:: len(rows) // ROWS])))
    (here / "budget.yaml").write_text(BUDGET)
    (here / "study.yaml").write_text(STUDY)
    made = model([node("Relu", "x", "y")], {"x": ["batch", 8]}, "y")
    (here / "model.onnx").write_bytes(made.SerializeToString())
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(here)
        for line in MADE:
            assert run_chipmodel(line.split())[0] == 0
    shutil.copy(here / "before.json", here / "result.json")
    return here


@pytest.mark.slow
@pytest.mark.parametrize("line", LINES)
def test_an_example_runs(line: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if ("chipmodel", *words_of(line)) in generated():
        return  # tried where it is shown with its output
    for long, short in SMALLER.items():
        line = line.replace(long, short)
    monkeypatch.chdir(folder)
    code, out, errors = run_chipmodel(words_of(line))
    assert code == 0, errors
    assert out or {"-o", "--html", "--output", "--folder"} & {*words_of(line)}
