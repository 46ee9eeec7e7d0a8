"""``export``: the bytes of the command, from a simulation, a plan or their files."""

from pathlib import Path

import pytest

import chipmodel as cm
from chipmodel.api.export import FORMATS
from chipmodel.pipeline.choices import ExportFormat
from tests.support.command_line import call

NETWORK = "zoo:ds_cnn"


@pytest.fixture(scope="module")
def run() -> cm.Simulation:
    return cm.simulate(NETWORK)


@pytest.mark.parametrize("format_", FORMATS)
def test_it_writes_what_the_command_does(
    format_: ExportFormat, run: cm.Simulation, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan, result, out, mine = (tmp_path / name for name in ("plan.json", "result.json", "out", "mine"))
    run.write_plan(plan)
    result.write_text(run.to_json())
    source = result if format_ in ("csv", "parquet") else plan
    code, said, _ = call(capsys, "export", str(source), "--as", format_, "-o", str(out))
    made = cm.export(run, format_)
    made.write(mine)
    assert code == 0
    assert mine.read_bytes() == out.read_bytes()
    assert said == ""
    assert cm.export(source, format_).content == made.content


def test_what_a_format_does_not_take_is_refused(run: cm.Simulation) -> None:
    with pytest.raises(cm.BadInput, match="--prefix says nothing about csv") as refused:
        cm.export(run, "csv", prefix="a")
    assert refused.value.hint == "leave it out, or --as c-header (to='c-header')"
    with pytest.raises(cm.BadInput, match="is not known"):
        cm.export(run, "elf")  # type: ignore[arg-type]
    with pytest.raises(cm.BadInput, match="this is a plan"):
        cm.export(cm.plan(NETWORK, streamer="sync"), "csv")
    with pytest.raises(cm.BadInput, match="this is a result"):
        cm.export(run.to_dict(), "minimalloc")
