"""The built-in networks that published measurements of boards name, besides those of the catalogue."""

from __future__ import annotations

from workloads.zoo.network import Network, NetworkOption, PublishedFigure, of_family
from workloads.zoo.options import WIDTH, class_count, head, image_size, imagenet, width

PYTORCHCV = "counted here by layer and equal to pytorchcv's network"
KERAS = "counted here by layer and equal to keras.applications' network"
TIMM = "counted here by layer and equal to timm's network"
TORCHVISION = "torchvision's weights meta data"
KERAS_TOTAL = "all numbers of the Keras network, four for each channel of BatchNorm"
SSD = "STMicroelectronics/stm32ai-modelzoo-services, after github.com/qfgaohao/pytorch-ssd"
ST = "counted here by layer and equal to the code in stm32ai-modelzoo-services"

MEASURED: tuple[Network, ...] = (
    Network(
        name="fdmobilenet",
        title="FD-MobileNet 1.0 at 224 x 224",
        source="Qin et al. 2018, arXiv:1802.03750, as in pytorchcv and stm32ai-modelzoo-services",
        build=of_family("mobilenet", "fdmobilenet"),
        options={**imagenet(1), "width": width(1.0), "head": head("logits")},
        macs=PublishedFigure("144 M", "multiply-adds (Qin et al., Table 2)"),
        parameters=PublishedFigure("2901288", "weights, and scale and shift of BatchNorm (pytorchcv)"),
    ),
    Network(
        name="efficientnetv2",
        title="EfficientNetV2 (B0; B1, B2, B3, S, M, L with variant) at 224 x 224",
        source="Tan and Le 2021, arXiv:2104.00298, as in keras.applications without preprocessing",
        build=of_family("efficientnet", "efficientnetv2"),
        options={
            **imagenet(1),
            "variant": NetworkOption(
                "b0",
                "the size; in Keras b1 has input=240, b2 260, b3 300, s 384, m and l 480",
                choices=("b0", "b1", "b2", "b3", "s", "m", "l"),
            ),
            "head": head("softmax"),
        },
        macs=PublishedFigure("718.1 M", f"multiply-accumulates {KERAS}"),
        parameters=PublishedFigure("7200312", KERAS_TOTAL),
    ),
    Network(
        name="st_efficientnet_lc_v1",
        title="ST EfficientNet LC v1, image classification at 224 x 224 (Food-101)",
        source="STMicroelectronics/stm32ai-modelzoo-services, after Tan and Le 2019, arXiv:1905.11946",
        build=of_family("efficientnet", "st_efficientnet_lc_v1"),
        options={"input": image_size(224, 1), "classes": class_count(101), "head": head("softmax")},
        macs=PublishedFigure("60.6 M", f"multiply-accumulates {ST}"),
        parameters=PublishedFigure("580777", KERAS_TOTAL),
    ),
    Network(
        name="mnasnet",
        title="MnasNet 1.0 (B1; A1 with squeeze and excitation) at 224 x 224",
        source="Tan et al. 2018, arXiv:1807.11626, as in torchvision (B1) and timm's semnasnet_100 (A1)",
        build=of_family("mnasnet", "mnasnet"),
        options={
            **imagenet(1),
            "width": width(1.0),
            "variant": NetworkOption("b1", "b1, or a1 with squeeze and excitation", choices=("b1", "a1")),
            "head": head("logits"),
        },
        macs=PublishedFigure(
            "0.314 G", f"multiply-accumulates of convolutions and dense layers ({TORCHVISION})"
        ),
        parameters=PublishedFigure(
            "4383312", f"weights, biases, and scale and shift of BatchNorm ({TORCHVISION})"
        ),
    ),
    Network(
        name="proxylessnas",
        title="ProxylessNAS for phones at 224 x 224",
        source="Cai et al. 2018, arXiv:1812.00332, as in pytorchcv (proxylessnas_mobile)",
        build=of_family("mnasnet", "proxylessnas"),
        options={**imagenet(1), "head": head("logits")},
        macs=PublishedFigure("320.4 M", f"multiply-accumulates {PYTORCHCV}"),
        parameters=PublishedFigure("4080512", "weights, and scale and shift of BatchNorm (pytorchcv)"),
    ),
    Network(
        name="hardnet",
        title="HarDNet-39DS (68DS with depth) at 224 x 224",
        source="Chao et al. 2019, arXiv:1909.00948, as in pytorchcv (hardnet39ds, hardnet68ds)",
        build=of_family("hardnet", "hardnet"),
        options={**imagenet(1), "depth": NetworkOption(39, "the depth of the network", choices=(39, 68))},
        macs=PublishedFigure("429.5 M", f"multiply-accumulates {PYTORCHCV}"),
        parameters=PublishedFigure("3488228", "weights, and scale and shift of BatchNorm (pytorchcv)"),
    ),
    Network(
        name="squeezenet",
        title="SqueezeNet 1.0 (1.1 with version) at 224 x 224",
        source="Iandola et al. 2016, arXiv:1602.07360, as in torchvision",
        build=of_family("squeezenet", "squeezenet"),
        options={
            **imagenet(21),
            "version": NetworkOption("1.0", "the version of the network", choices=("1.0", "1.1")),
        },
        macs=PublishedFigure("0.819 G", f"multiply-accumulates ({TORCHVISION}, GFLOPS)"),
        parameters=PublishedFigure("1248424", f"weights and biases ({TORCHVISION})"),
    ),
    Network(
        name="st_resnet",
        title="ST ResNet (micro; pico, nano, milli, tiny with variant) at 224 x 224",
        source="STMicroelectronics/stm32ai-modelzoo-services; arXiv:2601.05364 and arXiv:2511.11716",
        build=of_family("st_resnet", "st_resnet"),
        options={
            **imagenet(1),
            "variant": NetworkOption(
                "micro", "the size of the network", choices=("pico", "nano", "micro", "milli", "tiny")
            ),
        },
        macs=PublishedFigure("749.4 M", f"multiply-accumulates {ST}"),
        parameters=PublishedFigure("1576841", "weights, and scale and shift of BatchNorm (ST's code)"),
    ),
    Network(
        name="st_yoloxn",
        title="ST YOLOX nano, 0.33 of the depth and 0.25 of the width, one class, at 416 x 416",
        source="STMicroelectronics/stm32ai-modelzoo-services, after Ge et al. 2021, arXiv:2107.08430",
        build=of_family("yolox", "st_yoloxn"),
        options={
            "input": image_size(416, 32),
            "classes": class_count(1),
            "depth": NetworkOption(0.33, "the factor on bottlenecks in a row", 0.1, 4),
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
    Network(
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
    Network(
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
    Network(
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
)
