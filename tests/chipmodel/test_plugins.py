"""Plug-ins of other packages: found, used everywhere, checked, and never in the way of anything else."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING
from zipfile import ZipFile

import pytest

import chipmodel as cm
import chipmodel.studies.points
from chipmodel.api.listings import planners
from chipmodel.entry_points import plugin_named
from chipmodel.errors import PluginFault, PluginIgnored
from chipmodel.studies.points import tasks_of
from chipmodel.studies.study_file import parse_study
from chipmodel.studies.task import PointTask
from tests.support.folders import ROOT
from tests.support.mistakes import mistakes
from tests.support.narrowed import some
from tests.support.wheels import install, wheel_of, write_wheel

if TYPE_CHECKING:  # Each template is what its kind of plug-in has to be.
    from chipmodel.plugins import ImporterPlugin, NpuModelPlugin, PackerPlugin, StreamerPlugin
    from docs.examples.plugin.src.chipmodel_example import ahead, area_first, layer_list, systolic

    PACKER: PackerPlugin = area_first
    STREAMER: StreamerPlugin = ahead
    NPU_MODEL: NpuModelPlugin = systolic
    IMPORTER: ImporterPlugin = layer_list

EXAMPLE = ROOT / "docs" / "examples" / "plugin"
CHIP = "base: stm32n6\nnpu: {model: systolic, systolic: {rows: 16, columns: 16}}\n"
LAYERS = "input 1 3 32 32\nconv 16 3\npool\nconv 32 3\npool\ndense 10\n"
BUFFERS = [("a", 0, 3, 64), ("b", 1, 5, 32), ("c", 4, 6, 64)]

Install = Callable[[str, dict[str, dict[str, str]], dict[str, str]], None]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which pip has installed the wheel of the template package."""
    folder = tmp_path_factory.mktemp("plugins")
    install(wheel_of(EXAMPLE, folder), folder / "site")
    return folder / "site"


@pytest.fixture
def example(installed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The template package, found by this process."""
    monkeypatch.setattr(sys, "path", [str(installed), *sys.path])


@pytest.fixture
def other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Installs a package of given modules, which this process finds."""

    def install_package(name: str, groups: dict[str, dict[str, str]], files: dict[str, str]) -> None:
        with ZipFile(write_wheel(tmp_path, name, "2.5", groups, files)) as wheel:
            wheel.extractall(tmp_path / name)
        monkeypatch.setattr(sys, "path", [str(tmp_path / name), *sys.path])

    return install_package


def packer(module: str, body: str) -> tuple[dict[str, dict[str, str]], dict[str, str]]:
    """The entry point and the file of a packer that is called as its module, whose function is ``body``."""
    text = f"title = 'a packer'\nsource = 'nobody'\ndef pack(problem):\n    {body}\n"
    return {"chipmodel.packers": {module: module}}, {f"{module}.py": text}


def test_a_command_finds_what_a_wheel_installed(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "chip.yaml").write_text(CHIP)
    (tmp_path / "net.layers").write_text(LAYERS)
    planned = "--chip chip.yaml --streamer ahead --packer area-first"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join((str(ROOT), str(installed)))}
    ran = subprocess.run(
        [sys.executable, "-m", "chipmodel", "simulate", "net.layers", *planned.split(), "--json", "-"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert '"area-first"' in ran.stdout
    assert '"ahead"' in ran.stdout


@pytest.mark.usefixtures("example")
def test_plugins_are_listed_and_compared_like_any_planner() -> None:
    listed = {each["name"]: each for each in planners()}
    assert listed["area-first"]["source"].endswith("chipmodel-example 0.1.0")
    kinds = {name: listed[name]["kind"] for name in ("ahead", "systolic", "layers")}
    assert kinds == {"ahead": "streamer", "systolic": "npu_model", "layers": "importer"}
    rows = {row["name"]: row for row in cm.compare(BUFFERS, packers=["area-first", "exact"]).rows()}
    assert rows["area-first"]["peak_bytes"] == rows["exact"]["peak_bytes"] == 96
    assert "area-first" in {row["name"] for row in cm.compare(BUFFERS, time_limit=0.1).rows()}
    with pytest.raises(cm.BadInput, match="did you mean 'area-first'"):
        cm.pack(BUFFERS, packer="area-frist")


def test_a_packer_has_a_setting(other: Install) -> None:
    """``plug_tall:40`` puts buffers 40 bytes apart."""
    body = """title, source = 'a packer', 'nobody'
from types import SimpleNamespace
def with_setting(text):
    def pack(problem):
        return {b.name: n * int(text) for n, b in enumerate(problem.buffers)}
    return SimpleNamespace(pack=pack)
pack = with_setting('64').pack
"""
    other("plug-tall", {"chipmodel.packers": {"plug_tall": "plug_tall"}}, {"plug_tall.py": body})
    peaks = {packer: cm.pack(BUFFERS, packer=packer).peak_bytes for packer in ("plug_tall", "plug_tall:80")}
    assert peaks == {"plug_tall": 192, "plug_tall:80": 224}
    names = [row["name"] for row in cm.compare(BUFFERS, packers=["plug_tall:80", "plug_tall"]).rows()]
    assert sorted(names) == ["plug_tall", "plug_tall:80"]
    with pytest.raises(PluginFault, match=r"packer 'plug_tall:1' of package plug-tall 2.5 made a wrong plan"):
        cm.pack(BUFFERS, packer="plug_tall:1")
    with pytest.raises(PluginFault, match=r"packer 'plug_tall:x' of package plug-tall 2.5 fails: ValueError"):
        cm.pack(BUFFERS, packer="plug_tall:x")


@pytest.mark.usefixtures("example")
def test_the_numbers_of_an_npu_model_are_fields_of_a_chip(tmp_path: Path) -> None:
    (tmp_path / "chip.yaml").write_text(CHIP)
    small = cm.chip(tmp_path / "chip.yaml")
    smaller = cm.chip(small, npu__systolic__rows=4)
    assert small.figures["npu.systolic.rows"].value == "16"
    assert small.figures["npu.systolic.launch_cycles"].mark == "assumed"
    run = cm.simulate("zoo:resnet8", small)
    assert cm.simulate("zoo:resnet8", smaller).cycles > run.cycles
    assert run.bound.cycles <= run.cycles
    with pytest.raises(cm.BadInput, match=r"unknown field 'npu.systolic.row'"):
        cm.chip(small, npu__systolic__row=1)
    with pytest.raises(cm.BadInput, match=r"has no npu.systolic.rows, npu.systolic.columns"):
        cm.chip("stm32n6", npu__model="systolic")
    with pytest.raises(cm.BadInput, match=r"npu.systolic.rows is 0"):
        cm.chip(small, npu__systolic__rows=0)


@pytest.mark.usefixtures("example")
def test_an_importer_reads_the_files_of_its_suffix(tmp_path: Path) -> None:
    file = tmp_path / "net.layers"
    file.write_text(LAYERS)
    assert cm.load(file).name == "net"
    with pytest.raises(cm.BadInput, match=r"dtype says nothing about .layers files"):
        cm.load(file, dtype="int16")
    file.write_text("convolution\n")
    with pytest.raises(cm.BadInput, match=r"net.layers:1: 'convolution' is not a layer"):
        cm.load(file)
    with pytest.raises(cm.BadInput, match="there is no file"):
        cm.load(tmp_path / "other.layers")
    with pytest.raises(cm.BadInput) as raised:
        cm.load("net.xyz")
    assert "FILE.layers" in raised.value.hint


@pytest.mark.parametrize(("module", "body", "said"), mistakes("plugin_packer"))
def test_a_wrong_packer_is_named_with_its_package(other: Install, module: str, body: str, said: str) -> None:
    other(module, *packer(module, body))
    with pytest.raises(PluginFault) as raised:
        cm.pack(BUFFERS, packer=module)
    assert raised.value.what.startswith(f"packer {module!r} of package {module} 2.5 ")
    assert said in raised.value.what
    assert raised.value.hint
    (row,) = cm.compare(BUFFERS, packers=[module]).to_dict()["packers"]
    assert said in row["refused"]


def test_a_plugin_that_cannot_be_imported_breaks_nothing_else(other: Install) -> None:
    other(
        "plug-broken", {"chipmodel.packers": {"broken": "plug_broken"}}, {"plug_broken.py": "import nothing_"}
    )
    with warnings.catch_warnings(action="error"):
        assert cm.pack(BUFFERS, packer="exact").fits
        assert cm.compare(BUFFERS, packers=["exact"]).rows()
    with pytest.warns(PluginIgnored, match="'broken' of package plug-broken 2.5 cannot be imported"):
        assert "broken" not in {each["name"] for each in planners()}
    with pytest.raises(PluginFault, match="No module named 'nothing_'") as raised:
        cm.pack(BUFFERS, packer="broken")
    assert "install what it needs" in raised.value.hint


def test_a_name_that_is_built_in_is_refused(other: Install) -> None:
    _, files = packer("plug_exact", "return {}")
    other("plug-exact", {"chipmodel.packers": {"exact": "plug_exact"}}, files)
    assert cm.pack(BUFFERS, packer="exact").status == "optimal"
    with pytest.warns(PluginIgnored, match="of package plug-exact 2.5 is ignored: 'exact' is built in"):
        assert planners()


def test_a_command_says_once_that_a_name_is_taken(tmp_path: Path, other: Install) -> None:
    other("plug-said", {"chipmodel.npu_models": {"luna": "plug_said"}}, {})
    ran = subprocess.run(
        [sys.executable, "-m", "chipmodel", "planners", "--json", "-"],
        env=os.environ | {"PYTHONPATH": os.pathsep.join((str(ROOT), str(tmp_path / "plug-said")))},
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stderr.count("note: NPU model 'luna' of package plug-said 2.5 is ignored") == 1
    assert '"luna"' in ran.stdout


def test_a_name_in_two_packages_is_refused(other: Install) -> None:
    for package in ("plug-one", "plug-two"):
        other(package, *packer("plug_twice", "return {}"))
    with pytest.raises(PluginFault, match=r"'plug_twice' is in two packages: plug-two 2.5 and plug-one 2.5"):
        cm.pack(BUFFERS, packer="plug_twice")


@pytest.mark.parametrize(
    ("module", "answer", "said"),
    [
        ("plug_early", "[run.first - 1 for s in run.slices]", "it may be step"),
        ("plug_few", "[]", "answers 0 positions for"),
        ("plug_half", "[0.5 for s in run.slices]", "which is not a step"),
    ],
)
def test_a_wrong_streamer_is_named_with_its_package(
    other: Install, module: str, answer: str, said: str
) -> None:
    text = f"title = 't'\nsource = 's'\ndef issue(run):\n    return {answer}\n"
    other(module, {"chipmodel.streamers": {module: module}}, {f"{module}.py": text})
    with pytest.raises(PluginFault, match=f"streamer {module!r} of package {module} 2.5 .*{said}"):
        cm.simulate("zoo:resnet8", "gap9", streamer=module)
    (row, _) = cm.compare("zoo:resnet8", "gap9", streamers=[module, "sync"]).to_dict()["streamers"]
    assert said in row["refused"]


@pytest.mark.parametrize(
    ("workload", "chip", "fields"),
    [
        ("zoo:ds_cnn", "alif-e7", {}),
        # Does not fit, which is no excuse.
        pytest.param("zoo:autoencoder", "gap9", {}, marks=pytest.mark.slow),
        ("workloads/gated_vision.yaml", "luna-arcs", {"cores": 2}),
    ],
)
def test_a_streamer_whose_loads_come_too_late_is_found_by_the_verifier(
    other: Install, workload: str, chip: str, fields: dict[str, int]
) -> None:
    """It writes over the slices that it was given, so each position is right for another slice."""
    answer = (
        "slices = tuple(sorted(run.slices, key=lambda s: -s.first))\n"
        "    object.__setattr__(run, 'slices', slices)\n"
        "    return [s.first for s in slices]"
    )
    text = f"title = 't'\nsource = 's'\ndef issue(run):\n    {answer}\n"
    other("plug-sorts", {"chipmodel.streamers": {"plug_sorts": "plug_sorts"}}, {"plug_sorts.py": text})
    target = cm.chip(chip, **fields)
    said = "'plug_sorts' of package plug-sorts 2.5 made a wrong plan: .* its commands need"
    with pytest.raises(PluginFault, match=said):
        cm.simulate(workload, target, streamer="plug_sorts")
    if not fields:
        with pytest.raises(PluginFault, match=said):
            cm.plan(workload, target, streamer="plug_sorts")


@pytest.mark.parametrize(
    ("module", "cycles", "least", "said"),
    [
        ("plug_float", "1.5", "0", "answers 1.5 cycles for op 'conv1'"),
        ("plug_none", "0", "0", "answers 0 cycles for op 'conv1'"),
        ("plug_bound", "5", "6", "answers 5 cycles for op 'conv1', and that 6 are the least"),
    ],
)
def test_a_wrong_npu_model_is_named_with_its_package(
    other: Install, module: str, cycles: str, least: str, said: str
) -> None:
    text = (
        "title = 't'\nsource = 's'\nparameters = {}\n"
        f"def cycles(npu, numbers, op, work):\n    return {cycles}\n"
        f"def least_cycles(npu, numbers, op, work):\n    return {least}\n"
    )
    other(module, {"chipmodel.npu_models": {module: module}}, {f"{module}.py": text})
    with pytest.raises(PluginFault) as raised:
        cm.simulate("zoo:resnet8", cm.chip("gap9", npu__model=module))
    assert raised.value.what.startswith(f"NPU model {module!r} of package {module} 2.5 ")
    assert said in raised.value.what


SQUARE = """title = 't'
source = 's'
parameters = {}
def cycles(npu, numbers, op, work):
    return 1000 * work.rows ** 2
def least_cycles(npu, numbers, op, work):
    return 1000 * work.rows ** 2
"""
"""An NPU model whose stripes take fewer cycles together than it says is the least."""
BEATEN = "plug_square.* states least cycles by which no run takes under"


@pytest.mark.parametrize("cores", [1, 2])
def test_a_least_that_parts_go_below_is_refused(other: Install, cores: int) -> None:
    other("plug-square", {"chipmodel.npu_models": {"plug_square": "plug_square"}}, {"plug_square.py": SQUARE})
    chip = cm.chip("gap9", npu__model="plug_square", shared_memory__bytes="8KiB", cores=cores)
    with pytest.raises(PluginFault, match=BEATEN):
        cm.simulate("zoo:resnet8", chip, streamer="ping-pong", packer="large-first", cascade="off")


def test_a_study_stores_rows_by_the_plugins_sources(
    tmp_path: Path, other: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    def task() -> PointTask:
        (only,) = tasks_of(parse_study("workloads: zoo:resnet8\npackers: plug_study\n", tmp_path / "s.yaml"))
        return only

    other("plug-study", *packer("plug_study", "return {}"))
    plugin = some(plugin_named("packer", "plug_study"))
    before, known = plugin.identity, task()
    assert known.plugins == (before,)
    assert "plug-study 2.5" in before
    (tmp_path / "plug-study" / "plug_study.py").write_text("# edited")
    assert plugin.identity != before

    def edited(*_: object) -> tuple[str, ...]:
        return ("other",)

    monkeypatch.setattr(chipmodel.studies.points, "plugin_identities", edited)
    assert task().key != known.key


@pytest.mark.usefixtures("example")
def test_workers_of_a_study_see_the_plugins(tmp_path: Path) -> None:
    (tmp_path / "chip.yaml").write_text(CHIP)
    (tmp_path / "net.layers").write_text(LAYERS)
    text = "workloads: net.layers\nchips: chip.yaml\npackers: area-first\nstreamers: ahead\n"
    (tmp_path / "s.yaml").write_text(text)
    (row,) = cm.study(tmp_path / "s.yaml", workers=1).rows()
    assert row["status"] in ("optimal", "feasible"), row
