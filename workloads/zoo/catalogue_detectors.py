"""The built-in networks that find objects and that published measurements of boards name."""

from __future__ import annotations

from collections.abc import Mapping

from workloads.zoo.network import BuiltInNetwork, NetworkOption, PublishedFigure, of_family
from workloads.zoo.options import WIDTH, class_count, image_size

KERAS_TOTAL = "all numbers of the Keras network, four for each channel of BatchNorm"
SSD = "STMicroelectronics/stm32ai-modelzoo-services, after github.com/qfgaohao/pytorch-ssd"
ST = "counted here by layer and equal to the code in stm32ai-modelzoo-services"
ULTRALYTICS = "github.com/ultralytics/ultralytics, cfg/models"
DEPTH = "the factor on bottlenecks in a row"
ESP_DL = "github.com/espressif/esp-dl, models"
IN_FILE = "multiply-accumulates of the layers in the .espdl file"
LAYERS = "multiply-accumulates counted here by layer; convolutions equal those of ultralytics"


def _yolo(outputs: str) -> Mapping[str, NetworkOption]:
    """The options of Ultralytics' networks."""
    text = "how it ends: with tensors of each stride, or with boxes and scores of all"
    return {
        "input": image_size(640, 32),
        "classes": class_count(80),
        "scale": NetworkOption("n", "the size of the network", choices=("n", "s")),
        "outputs": NetworkOption(outputs, text, choices=("raw", "decoded")),
    }


_HEAD = NetworkOption(
    "same",
    "the type of the heads and of the convolution before each; ESP-DL's file has int16",
    choices=("same", "int16"),
)

DETECTORS: tuple[BuiltInNetwork, ...] = (
    BuiltInNetwork(
        name="st_yoloxn",
        title="ST YOLOX nano, 0.33 of the depth and 0.25 of the width, one class, at 416 x 416",
        source="STMicroelectronics/stm32ai-modelzoo-services, after Ge et al. 2021, arXiv:2107.08430",
        build=of_family("yolox", "st_yoloxn"),
        options={
            "input": image_size(416, 32),
            "classes": class_count(1),
            "depth": NetworkOption(0.33, DEPTH, 0.1, 4),
            "width": NetworkOption(0.25, WIDTH, 0.1, 4),
            "resize": NetworkOption(
                "nearest",
                "how the neck enlarges images: later versions of the source have linear",
                choices=("nearest", "linear"),
            ),
        },
        macs=PublishedFigure("518.6 M", f"multiply-accumulates {ST}"),
        parameters=PublishedFigure("912500", KERAS_TOTAL),
    ),
    BuiltInNetwork(
        name="st_yolod",
        title="ST YOLO v2 (milli; tiny with variant), 80 classes, at 192 x 192",
        source="STMicroelectronics/stm32ai-modelzoo-services; arXiv:2601.05364",
        build=of_family("yolox", "st_yolod"),
        options={
            "input": image_size(192, 32),
            "classes": class_count(80),
            "variant": NetworkOption("milli", "the size of the network", choices=("milli", "tiny")),
        },
        macs=PublishedFigure("853.4 M", f"multiply-accumulates {ST}"),
        parameters=PublishedFigure(
            "3250968", "weights, biases, and scale and shift of BatchNorm (ST's code)"
        ),
    ),
    BuiltInNetwork(
        name="ssd_mobilenetv2",
        title="SSD on MobileNet v2, 80 classes and background, at 300 x 300",
        source=f"{SSD}; Liu et al. 2015, arXiv:1512.02325",
        build=of_family("ssd", "ssd_mobilenetv2"),
        options={"input": image_size(300, 32), "classes": class_count(80)},
        macs=PublishedFigure("2.315 G", f"multiply-accumulates {ST}"),
        parameters=PublishedFigure(
            "19925108", "weights, biases, and scale and shift of BatchNorm (ST's code)"
        ),
    ),
    BuiltInNetwork(
        name="ssdlite_mobilenetv2",
        title="SSDLite on MobileNet v2, 80 classes and background, at 300 x 300",
        source=f"{SSD}; Sandler et al. 2018, arXiv:1801.04381",
        build=of_family("ssd", "ssdlite_mobilenetv2"),
        options={"input": image_size(300, 32), "classes": class_count(80)},
        macs=PublishedFigure("787.6 M", f"multiply-accumulates {ST}"),
        parameters=PublishedFigure(
            "4450228", "weights, biases, and scale and shift of BatchNorm (ST's code)"
        ),
    ),
    BuiltInNetwork(
        name="yolo11",
        title="YOLO11 n (s with scale), 80 classes, at 640 x 640",
        source=f"{ULTRALYTICS}/11/yolo11.yaml",
        build=of_family("yolo", "yolo11"),
        options=_yolo("decoded"),
        macs=PublishedFigure("3.271 G", f"{LAYERS}; 6.6 GFLOPs there, two for each"),
        parameters=PublishedFigure("2616248", f"weights and biases, BatchNorm folded ({ULTRALYTICS})"),
    ),
    BuiltInNetwork(
        name="yolo26",
        title="YOLO26 n (s with scale), 80 classes, at 640 x 640",
        source=f"{ULTRALYTICS}/26/yolo26.yaml",
        build=of_family("yolo", "yolo26"),
        options={**_yolo("decoded"), "head": _HEAD},
        macs=PublishedFigure("2.740 G", LAYERS),
        parameters=PublishedFigure("2408932", f"weights and biases, BatchNorm folded ({ULTRALYTICS})"),
    ),
    BuiltInNetwork(
        name="yolov8",
        title="YOLOv8 n (s with scale), 80 classes, at 640 x 640",
        source=f"{ULTRALYTICS}/v8/yolov8.yaml",
        build=of_family("yolo", "yolov8"),
        options=_yolo("decoded"),
        macs=PublishedFigure("4.372 G", LAYERS),
        parameters=PublishedFigure("3151904", f"weights and biases, BatchNorm folded ({ULTRALYTICS})"),
    ),
    BuiltInNetwork(
        name="espdet_pico",
        title="ESPDet-Pico, one class, at 224 x 224",
        source="github.com/espressif/esp-detection, cfg/models/espdet_pico.yaml",
        build=of_family("espdet", "espdet_pico"),
        options={"input": image_size(224, 32), "classes": class_count(1)},
        macs=PublishedFigure(
            "78.2 M", "multiply-accumulates counted here by layer and equal to the source's code"
        ),
        parameters=PublishedFigure(
            "361167", "weights, biases, and scale and shift of BatchNorm (the source's code)"
        ),
    ),
    BuiltInNetwork(
        name="swift_yolo",
        title="Swift-YOLO (YOLOv5 with ReLU, 0.15 of the width), one class, at 192 x 192",
        source="github.com/Seeed-Studio/ModelAssistant 2.0.0, configs/swift_yolo",
        build=of_family("yolox", "swift_yolo"),
        options={
            "input": image_size(192, 32),
            "classes": class_count(1),
            "depth": NetworkOption(0.33, DEPTH, 0.1, 4),
            "width": NetworkOption(0.15, WIDTH, 0.1, 4),
        },
        macs=PublishedFigure(
            "89.0 M", "counted here by layer; 90.564 Mflops with BatchNorm and resizing (Seeed)"
        ),
        parameters=PublishedFigure(
            "0.699 M", "weights, biases, and scale and shift of BatchNorm (Seeed-Studio/sscma-model-zoo)"
        ),
    ),
    BuiltInNetwork(
        name="face_msr",
        title="ESP-DL's first stage of face detection (msr_s8_v1) at 120 x 160",
        source=f"{ESP_DL}/human_face_detect",
        build=of_family("espdl_faces", "face_msr"),
        options={"input": NetworkOption(120, "the rows of the image, a third more columns", 40, 8192)},
        macs=PublishedFigure("8.11 M", IN_FILE),
        parameters=PublishedFigure("22556", "weights and biases in the .espdl file"),
    ),
    BuiltInNetwork(
        name="face_mnp",
        title="ESP-DL's second stage of face detection (mnp_s8_v1) at 48 x 48",
        source=f"{ESP_DL}/human_face_detect",
        build=of_family("espdl_faces", "face_mnp"),
        options={"input": image_size(48, 47)},
        macs=PublishedFigure("2.36 M", IN_FILE),
        parameters=PublishedFigure("110752", "weights, biases and slopes in the .espdl file"),
    ),
    BuiltInNetwork(
        name="picodet",
        title="PicoDet of ESP-DL (pedestrian_detect_pico_s8_v1), one class, at 224 x 224",
        source=f"{ESP_DL}/pedestrian_detect, after Yu et al. 2021, arXiv:2111.00902",
        build=of_family("picodet", "picodet"),
        options={"input": image_size(224, 32), "classes": class_count(1)},
        macs=PublishedFigure("67.7 M", IN_FILE),
        parameters=PublishedFigure("319091", "weights in the .espdl file"),
    ),
)
