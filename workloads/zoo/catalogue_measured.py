"""The built-in networks that published measurements of boards name, besides those of the catalogue."""

from __future__ import annotations

from workloads.zoo.network import BuiltInNetwork, NetworkOption, PublishedFigure, of_family
from workloads.zoo.options import class_count, head, image_size, imagenet, width

ESP_DL = "github.com/espressif/esp-dl, models"
IN_FILE = "multiply-accumulates of the layers in the .espdl file"
PYTORCHCV = "counted here by layer and equal to pytorchcv's network"
KERAS = "counted here by layer and equal to keras.applications' network"
TIMM = "counted here by layer and equal to timm's network"
TORCHVISION = "torchvision's weights meta data"
KERAS_TOTAL = "all numbers of the Keras network, four for each channel of BatchNorm"
ARM = "counted here by layer of the code in ARM-software/ML-zoo"
ST = "counted here by layer and equal to the code in stm32ai-modelzoo-services"


def _micronet_size() -> NetworkOption:
    return NetworkOption("medium", "the size of the network", choices=("small", "medium", "large"))


MEASURED: tuple[BuiltInNetwork, ...] = (
    BuiltInNetwork(
        name="fdmobilenet",
        title="FD-MobileNet 1.0 at 224 x 224",
        source="Qin et al. 2018, arXiv:1802.03750, as in pytorchcv and stm32ai-modelzoo-services",
        build=of_family("mobilenet", "fdmobilenet"),
        options={**imagenet(1), "width": width(1.0), "head": head("logits")},
        macs=PublishedFigure("144 M", "multiply-adds (Qin et al., Table 2)"),
        parameters=PublishedFigure("2901288", "weights, and scale and shift of BatchNorm (pytorchcv)"),
    ),
    BuiltInNetwork(
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
    BuiltInNetwork(
        name="st_efficientnet_lc_v1",
        title="ST EfficientNet LC v1, image classification at 224 x 224 (Food-101)",
        source="STMicroelectronics/stm32ai-modelzoo-services, after Tan and Le 2019, arXiv:1905.11946",
        build=of_family("efficientnet", "st_efficientnet_lc_v1"),
        options={"input": image_size(224, 1), "classes": class_count(101), "head": head("softmax")},
        macs=PublishedFigure("60.6 M", f"multiply-accumulates {ST}"),
        parameters=PublishedFigure("580777", KERAS_TOTAL),
    ),
    BuiltInNetwork(
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
    BuiltInNetwork(
        name="proxylessnas",
        title="ProxylessNAS for phones at 224 x 224",
        source="Cai et al. 2018, arXiv:1812.00332, as in pytorchcv (proxylessnas_mobile)",
        build=of_family("mnasnet", "proxylessnas"),
        options={**imagenet(1), "head": head("logits")},
        macs=PublishedFigure("320.4 M", f"multiply-accumulates {PYTORCHCV}"),
        parameters=PublishedFigure("4080512", "weights, and scale and shift of BatchNorm (pytorchcv)"),
    ),
    BuiltInNetwork(
        name="hardnet",
        title="HarDNet-39DS (68DS with depth) at 224 x 224",
        source="Chao et al. 2019, arXiv:1909.00948, as in pytorchcv (hardnet39ds, hardnet68ds)",
        build=of_family("hardnet", "hardnet"),
        options={**imagenet(1), "depth": NetworkOption(39, "the depth of the network", choices=(39, 68))},
        macs=PublishedFigure("429.5 M", f"multiply-accumulates {PYTORCHCV}"),
        parameters=PublishedFigure("3488228", "weights, and scale and shift of BatchNorm (pytorchcv)"),
    ),
    BuiltInNetwork(
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
    BuiltInNetwork(
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
    BuiltInNetwork(
        name="wav2letter",
        title="Wav2letter (tiny with variant), speech recognition in 296 frames of 39 MFCC",
        source="ARM-software/ML-zoo, after Collobert et al. 2016, arXiv:1609.03193",
        build=of_family("wav2letter", "wav2letter"),
        options={
            "input": NetworkOption(296, "the number of frames, one every 10 ms", 2, 100_000),
            "classes": class_count(29),
            "variant": NetworkOption("full", "the size of the network", choices=("full", "tiny")),
        },
        macs=PublishedFigure("3491.1 M", f"multiply-accumulates {ARM}"),
        parameters=PublishedFigure("23766192", "bytes of the int8 TFLite file (ARM-software/ML-zoo)"),
    ),
    BuiltInNetwork(
        name="rnnoise",
        title="RNNoise, noise suppression, one frame of 42 features",
        source="ARM-software/ML-zoo, after Valin 2018, arXiv:1709.08243",
        build=of_family("rnnoise", "rnnoise"),
        options={"input": NetworkOption(42, "the number of features", 1, 100_000)},
        macs=PublishedFigure("0.087 M", f"multiply-accumulates {ARM}"),
        parameters=PublishedFigure("88007", "weights and biases, two for each gate, counted here by layer"),
    ),
    BuiltInNetwork(
        name="dnn_kws",
        title="DNN, keyword spotting in 25 x 10 MFCC (Speech Commands), size S",
        source="ARM-software/ML-zoo (dnn_small), after Zhang et al. 2017, arXiv:1711.07128; sizes in "
        "github.com/ARM-software/ML-KWS-for-MCU, train_commands.txt",
        build=of_family("plain", "dnn_kws"),
        options={
            "input": NetworkOption(250, "the number of features: 10 MFCC of 25 frames", 1, 100_000),
            "classes": class_count(12),
            "width": NetworkOption(
                144, "the size of the hidden layers: 144 for S, 256 for M, 436 for L", 1, 65_536
            ),
        },
        macs=PublishedFigure("0.079 M", "multiply-accumulates counted here by layer"),
        parameters=PublishedFigure("79644", "weights and biases counted here by layer"),
    ),
    BuiltInNetwork(
        name="mobilefacenet",
        title="MobileFaceNet of ESP-DL (mfn_s8_v1; mbf_s8_v1 with variant) at 112 x 112",
        source=f"{ESP_DL}/human_face_recognition, after Chen et al. 2018, arXiv:1804.07573",
        build=of_family("espdl_faces", "mobilefacenet"),
        options={
            "input": image_size(112, 1),
            "variant": NetworkOption("mfn", "the size of the network", choices=("mfn", "mbf")),
        },
        macs=PublishedFigure("221.2 M", IN_FILE),
        parameters=PublishedFigure("1190336", "weights, biases and slopes in the .espdl file"),
    ),
    BuiltInNetwork(
        name="osnet",
        title="OSNet of ESP-DL (osn_s8_v1), recognition of persons at 192 x 96",
        source=f"{ESP_DL}/person_reid, after Zhou et al. 2019, arXiv:1905.00953",
        build=of_family("espdl_faces", "osnet"),
        options={"input": NetworkOption(192, "the rows of the image, half as many columns", 32, 8192)},
        macs=PublishedFigure("42.7 M", IN_FILE),
        parameters=PublishedFigure("194384", "weights and biases in the .espdl file"),
    ),
    BuiltInNetwork(
        name="micronet_ad",
        title="MicroNet-AD-M (S, L with variant), anomaly detection in a 32 x 32 spectrogram (MIMII)",
        source="Banbury et al. 2021, arXiv:2010.11267, Table 5; 8 classes as in ARM-software/ML-zoo",
        build=of_family("micronets", "micronet_ad"),
        options={"input": image_size(32, 1), "classes": class_count(8), "variant": _micronet_size()},
        macs=PublishedFigure("62.35 M", "half of the operations, 124.7 M (Banbury et al., Table 4)"),
        parameters=PublishedFigure("464 kB", "bytes of the int8 TFLite file (Banbury et al.)"),
    ),
    BuiltInNetwork(
        name="micronet_kws",
        title="MicroNet-KWS-M (S, L with variant), keyword spotting in 49 x 10 MFCC (Speech Commands)",
        source="Banbury et al. 2021, arXiv:2010.11267, Table 5; without the softmax, as in Arm's ML-zoo",
        build=of_family("micronets", "micronet_kws"),
        options={
            "input": NetworkOption(49, "the number of MFCC frames, one every 20 ms", 1, 100_000),
            "classes": class_count(12),
            "variant": _micronet_size(),
        },
        macs=PublishedFigure(
            "15.56 M", "counted here; half of 30.6 M operations with 24.5 frames after halving"
        ),
        parameters=PublishedFigure("163 kB", "bytes of the int8 TFLite file (Banbury et al.)"),
    ),
)
