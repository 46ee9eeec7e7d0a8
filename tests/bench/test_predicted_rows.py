"""Predictions for tables without measurements, and published names of networks as workloads."""

import csv
import io

import pytest

from bench.predicted_rows import predict
from bench.published_names import settings_of, workload_of
from chipmodel.errors import BadInput
from chipmodel.hardware.chip_file import load_chip
from chipmodel.measured.network_prediction import planned_network
from tests.support.folders import ROOT


def predicted(table: str) -> list[dict[str, str]]:
    answer = io.StringIO()
    predict(table, "rows.csv", answer)
    return list(csv.DictReader(io.StringIO(answer.getvalue())))


def test_a_row_has_milliseconds_interval_and_class() -> None:
    (row,) = predicted("chip,network,shape\nSTM32N6,mobilenetv2_0.35_food101,128x128x3\n")
    chip = load_chip("stm32n6")
    network = planned_network("zoo:mobilenetv2?width=0.35&input=128&classes=101", chip)
    assert float(row["milliseconds"]) == pytest.approx(chip.milliseconds(network.cycles), rel=1e-3)
    assert float(row["low"]) < float(row["milliseconds"]) < float(row["high"])
    assert row["class"] == "tensors in SharedMemory"
    assert row["nearest"] == "zoo:mobilenetv2?width=0.35&input=128&classes=101"
    assert (row["chip"], row["shape"], row["notes"]) == ("STM32N6", "128x128x3", "")


def test_variants_and_settings_are_used() -> None:
    table = "chip,network,variant,set\ngap9,resnet8,classes=12&input=48,\ngap9,zoo:resnet8,,core_mhz=185\n"
    larger, slower = predicted(table)
    assert float(larger["milliseconds"]) > 1.5 * 0.616
    assert float(slower["milliseconds"]) > 1.5 * 0.616


def test_rows_that_lack_something_say_what_and_where() -> None:
    no_network, no_chip, no_size, short, long, whole = predicted(
        "chip,network,shape\nSTM32N6,,\n,resnet8,\ngap9, resnet8, abc\ngap9\ngap9,resnet8,,1\ngap9,resnet8,\n"
    )
    assert no_network["notes"].startswith("rows.csv:2:9: the row names no network; ")
    assert no_chip["notes"].startswith("rows.csv:3:1: the row names no chip; ")
    assert no_size["notes"] == "rows.csv:4:16: the shape 'abc' has no number; write it as 224x224x3"
    assert short["notes"].startswith("rows.csv:5:1: the row has 1 cells, the header 3")
    assert long["notes"].startswith("rows.csv:6:15: the row has 4 cells, the header 3")
    assert float(whole["milliseconds"]) > 0


def test_a_quote_that_is_not_closed_is_refused() -> None:
    with pytest.raises(BadInput, match=r"^rows.csv:2:6: a quote in '\"resnet8' is not closed"):
        predicted('chip,network\ngap9,"resnet8\n')


@pytest.mark.parametrize(("head", "column"), [("network,shape", "chip"), ("chip,shape", "network")])
def test_a_table_without_a_column_is_refused(head: str, column: str) -> None:
    with pytest.raises(BadInput, match=f"^rows.csv:1:1: the table has no column '{column}'"):
        predicted(f"{head}\nx,y\n")


def test_another_input_than_the_row_has_refuses_it() -> None:
    wide, square, bare, flat = predicted(
        "chip,network,shape\ngap9,resnet8,32x48x3\ngap9,resnet8,32x32x3\ngap9,resnet8,32x32\n"
        "gap9,autoencoder,640\n"
    )
    assert "rows.csv:2:14: the network has an input of 1 x 3 x 32 x 32, the row 32x48x3" in wide["notes"]
    assert square["milliseconds"]
    assert square["milliseconds"] == bare["milliseconds"]
    assert flat["milliseconds"]


def test_weights_that_internal_flash_does_not_hold_are_read_in_external_flash() -> None:
    """The board takes 2,558 to 2,742 ms (stm32ai-modelzoo); from internal flash it would be 1,840 ms."""
    (row,) = predicted("chip,network,shape\nSTM32H747,yolov2t,224x224x3\n")
    assert 2400 < float(row["milliseconds"]) < 2900
    assert (row["low"], row["high"]) == ("", "")


def test_an_older_tool_has_a_preset_and_other_tools_twice_the_interval() -> None:
    """NUCLEO_L4R5ZI takes 227, 165 and 173 ms (MLPerf Tiny v1.0 and v1.2)."""
    table = "chip,network,tool\n" + "".join(
        f"STM32L4R5,resnet8,{tool}\n" for tool in ("X-CUBE-AI", "X-CUBE-AI v9.0", "Plumerai Inference Engine")
    )
    older, newer, other = predicted(table)
    assert float(older["milliseconds"]) > 1.05 * float(newer["milliseconds"])
    assert other["milliseconds"] == newer["milliseconds"]
    assert (other["low"], other["high"]) == ("", "")
    assert "its time is not known on this board: of 35 rows of STM32 microcontrollers" in other["notes"]
    assert other["class"] == "another network or software"
    assert other["notes"].startswith(
        "no error can be promised: predicted by the board's usual tool, with twice the interval"
    )


def test_what_cannot_be_predicted_says_why() -> None:
    unknown, no_chip, unmeasured = predicted(
        "chip,network\nstm32n6,no_such_net\nno-such-chip,resnet8\nluna-arcs,ds_cnn\n"
    )
    assert unknown["milliseconds"] == ""
    assert (
        "rows.csv:2:9: 'no_such_net' is not predicted: 'no', 'such', 'net' are not known" in unknown["notes"]
    )
    assert no_chip["notes"].startswith("rows.csv:3:1: no chip is named 'no-such-chip'; presets are alif-e7, ")
    assert float(unmeasured["milliseconds"]) > 0
    assert unmeasured["low"] == unmeasured["high"] == ""
    assert "no whole network on a board" in unmeasured["notes"]


def test_a_setting_that_the_preset_has_is_no_change() -> None:
    same, other = predicted("chip,network,clock_mhz\ngap9,resnet8,370\ngap9,resnet8,300\n")
    assert "no network was measured" not in same["notes"]
    assert "; no network was measured with core_mhz=300" in other["notes"]


with (ROOT / "tests" / "data" / "published_names.csv").open(newline="") as table:
    PUBLISHED = list(csv.DictReader(table))


@pytest.mark.parametrize("row", PUBLISHED, ids=lambda row: str(row["network"]))
def test_published_names_are_workloads(row: dict[str, str]) -> None:
    assert workload_of(row["network"], row["shape"]) == row["workload"]


@pytest.mark.parametrize("cell", ["MULTI_CORE", "RUNTIME_MODE_MULTI_CORE", "two cores"])
def test_cores_that_share_the_work_are_those_of_the_row(cell: str) -> None:
    assert "npu.vector.cores=2" in settings_of("esp32s3", {"network": "mobilenetv2", "mode": cell})
    assert "npu.vector.cores=2" not in settings_of("esp32s3", {"network": "x", "mode": "SINGLE_CORE"})


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("mobilenetv2_b_w035_pt", "b"),
        ("mobilenetv2_0.35_dilated", "dilated"),
        ("mobilenetv2_0.35_fft_int4", "int4"),
        ("resnet8_n", "n"),
        ("resnet18_1", "1"),
        ("resnet50_v1.5", "v1.5"),
        ("yolov8n_v8", "v8"),
        ("yolov8n_p2", "p2"),
        ("yolo11n_obb", "obb"),
        ("st_resnet_pico_relu6", "relu6"),
        ("hardnet39ds_v2", "v2"),
        ("mobilenetv3_small_050_turbo", "turbo"),
        ("fdmobilenet_0.25_tfs_pruned", "pruned"),
        ("mobilenetv2_1.0_s8_v2", "v2"),
        ("peleenet_x1.5", "x1.5"),
        ("sqnxt_23_w3d2", "w3d2"),
        ("preresnet18_x2", "x2"),
        ("ds_cnn_large", "large"),
        ("movenet_lightning_f16", "f16"),
        ("squeezenet_v1.1_x2", "x2"),
        ("sqnxt_x150", "x150"),
        ("osnet_a100", "a100"),
        ("mobilenet_v2_75_224", "75"),
        ("mobilenet_v1_25_quantized", "25"),
        ("resnet8_imagenet", "imagenet"),
        ("mobilenetv2_1.0_net", "net"),
        ("mcunet_320", "320"),
        ("regnetx_800mf", "800mf"),
        ("hand_gesture_cls_mobilenetv2_0_5_s8_v1", "cls"),
        ("hailo_yolov8n_640x640", "hailo"),
        ("yolov8m", "yolov8m"),
        ("fcn8_int8", "fcn8"),
    ],
)
def test_a_word_that_is_not_known_refuses_the_row_and_is_named(name: str, word: str) -> None:
    (row,) = predicted(f"chip,network\nSTM32N6,{name}\n")
    assert row["milliseconds"] == ""
    assert f"'{name}' is not predicted: '{word}' is not known of " in row["notes"]


@pytest.mark.parametrize("name", ["yolo26n_512", "mobilenet_v2_224", "mobilenetv2_035_food101_128"])
def test_a_name_with_another_size_than_the_row_refuses_it(name: str) -> None:
    (row,) = predicted(f"chip,network,shape\nSTM32N6,{name},640x640x3\n")
    assert f"its name says an input of {name.rpartition('_')[2]}, the row 640x640x3" in row["notes"]


def test_a_name_with_two_sides_refuses_a_square_network() -> None:
    (row,) = predicted("chip,network\nSTM32N6,yolov8n_640x480\n")
    assert "the network has an input of 1 x 3 x 640 x 640, the row 640x480" in row["notes"]


def test_other_numbers_of_cores_than_one_or_two_refuse_the_row() -> None:
    one, four = predicted("chip,network,mode\nesp32s3,face_mnp,SINGLE_CORE\nesp32s3,face_mnp,QUAD_CORE\n")
    assert one["milliseconds"]
    assert four["notes"].startswith("rows.csv:3:18: the mode 'QUAD_CORE' is not known; ")
