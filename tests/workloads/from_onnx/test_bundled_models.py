"""The onnx package's own models by name: found, loaded, suggested, and expanded by a study."""

from pathlib import Path

import pytest

from chipmodel.errors import BadInput
from chipmodel.studies.workload import load_workload, matching, source_of
from tests.support.folders import LIGHT_MODELS
from workloads.from_onnx import onnx_package as onnx_models
from workloads.from_onnx.onnx_package import model_file, models
from workloads.load import load

LIGHT = LIGHT_MODELS


def test_all_nine_are_there_by_their_file_names() -> None:
    assert list(models()) == sorted(path.stem for path in LIGHT.glob("*.onnx"))
    assert len(models()) == 9
    assert model_file("onnx:light_squeezenet").samefile(LIGHT / "light_squeezenet.onnx")


@pytest.mark.parametrize("name", ["onnx:", "onnx:../light/light_squeezenet", "onnx:light_squeezenet.onnx"])
def test_unknown_names_are_refused_with_the_known_ones(name: str) -> None:
    with pytest.raises(BadInput, match=r"the onnx package has no model .*\n.*light_squeezenet"):
        load(name)


def test_a_package_without_models_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onnx_models, "FOLDER", "nowhere")
    assert models() == {}
    with pytest.raises(BadInput, match="install onnx with its test data"):
        model_file("onnx:light_squeezenet")
    monkeypatch.setitem(vars(onnx_models), "find_spec", {"onnx": None}.__getitem__)
    assert models() == {}


def test_a_study_accepts_the_names_of_models(tmp_path: Path) -> None:
    assert matching("onnx:*", tmp_path) == [f"onnx:{name}" for name in models()]
    assert matching("onnx:*resnet*", tmp_path) == ["onnx:light_resnet50"]
    source = source_of("onnx:light_squeezenet?dtype=int16", tmp_path)
    assert Path(source.file).name == "light_squeezenet.onnx"
    assert not source.packs
    program = load_workload(source)
    assert program != load_workload(source_of("onnx:light_squeezenet", tmp_path))
