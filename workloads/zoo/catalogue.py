"""The built-in networks: their publications, options, and published MACs and parameters."""

from __future__ import annotations

from workloads.zoo.network import BuiltInNetwork, NetworkOption, PublishedFigure, of_family
from workloads.zoo.options import WIDTH, class_count, head, image_size, imagenet, width

MLPERF_TINY = "MLPerf Tiny v1 reference model (Banbury et al. 2021, arXiv:2106.07597)"
TORCHVISION = "torchvision's weights meta data"
CONV_AND_DENSE = f"multiply-accumulates of convolutions and dense layers ({TORCHVISION}, GFLOPS)"
WITH_BATCH_NORM = f"weights, biases, and scale and shift of BatchNorm ({TORCHVISION})"
WITHOUT_BATCH_NORM = f"weights and biases ({TORCHVISION})"
TFLITE_FILE = "bytes of the int8 TFLite file, its graph and quantisation tables included (Banbury et al.)"
KERAS_COUNT = "multiply-accumulates counted here by layer: not a published figure"


CATALOGUE: tuple[BuiltInNetwork, ...] = (
    BuiltInNetwork(
        name="ds_cnn",
        title="DS-CNN, keyword spotting in 49 x 10 MFCC (Speech Commands)",
        source=f"{MLPERF_TINY}, after Zhang et al. 2017, arXiv:1711.07128",
        build=of_family("mlperf_tiny", "ds_cnn"),
        options={
            "input": NetworkOption(49, "the number of MFCC frames, one every 20 ms", 10, 100_000),
            "coefficients": NetworkOption(10, "the number of MFCC coefficients per frame", 4, 1024),
            "classes": class_count(12),
        },
        macs=PublishedFigure("2.66 M", KERAS_COUNT),
        parameters=PublishedFigure("52.5 kB", TFLITE_FILE),
    ),
    BuiltInNetwork(
        name="mobilenetv1_025",
        title="MobileNet v1 0.25, visual wake words at 96 x 96",
        source=f"{MLPERF_TINY}, after Howard et al. 2017, arXiv:1704.04861",
        build=of_family("mobilenet", "mobilenetv1"),
        options={
            "input": image_size(96, 1),
            "channels": NetworkOption(3, "the channels of the image: 1 where it is grey", 1, 4),
            "classes": class_count(2),
            "width": width(0.25),
            "head": head("softmax"),
        },
        macs=PublishedFigure("7.49 M", KERAS_COUNT),
        parameters=PublishedFigure("325 kB", TFLITE_FILE),
    ),
    BuiltInNetwork(
        name="resnet8",
        title="ResNet-8, image classification at 32 x 32 (CIFAR-10)",
        source=f"{MLPERF_TINY}, after He et al. 2015, arXiv:1512.03385",
        build=of_family("mlperf_tiny", "resnet8"),
        options={"input": image_size(32, 1), "classes": class_count(10)},
        macs=PublishedFigure("12.5 M", KERAS_COUNT),
        parameters=PublishedFigure("96 kB", TFLITE_FILE),
    ),
    BuiltInNetwork(
        name="autoencoder",
        title="FC-AutoEncoder, anomaly detection in machine sounds (ToyADMOS)",
        source=f"{MLPERF_TINY}, after the baseline of DCASE 2020 task 2",
        build=of_family("mlperf_tiny", "autoencoder"),
        options={
            "input": NetworkOption(640, "the number of features: 128 mel bands of 5 frames", 1, 1_000_000),
            "width": NetworkOption(128, "the size of the hidden layers", 1, 65_536),
            "bottleneck": NetworkOption(8, "the size of the layer in the middle", 1, 65_536),
        },
        macs=PublishedFigure("0.264 M", KERAS_COUNT),
        parameters=PublishedFigure("270 kB", TFLITE_FILE),
    ),
    BuiltInNetwork(
        name="mobilenetv2",
        title="MobileNet v2 1.0 at 224 x 224",
        source="Sandler et al. 2018, arXiv:1801.04381, as in torchvision",
        build=of_family("mobilenet", "mobilenetv2"),
        options={
            **imagenet(1),
            "width": width(1.0),
            "variant": NetworkOption(
                "torchvision",
                "how channels are rounded, as in torchvision and Keras or in two networks of pytorchcv",
                choices=("torchvision", "pytorchcv", "pytorchcv-b"),
            ),
            "head": head("logits"),
        },
        macs=PublishedFigure("300 M", "multiply-adds (Sandler et al., Table 4)"),
        parameters=PublishedFigure("3504872", WITH_BATCH_NORM),
    ),
    BuiltInNetwork(
        name="resnet18",
        title="ResNet-18 at 224 x 224",
        source="He et al. 2015, arXiv:1512.03385, as in torchvision",
        build=of_family("resnet", "resnet18"),
        options={**imagenet(1), "width": width(1.0)},
        macs=PublishedFigure("1.814 G", CONV_AND_DENSE),
        parameters=PublishedFigure("11689512", WITH_BATCH_NORM),
    ),
    BuiltInNetwork(
        name="resnet50",
        title="ResNet-50 v1.5 (stride in the 3x3 convolution) at 224 x 224",
        source="He et al. 2015, arXiv:1512.03385, as in torchvision",
        build=of_family("resnet", "resnet50"),
        options=imagenet(1),
        macs=PublishedFigure("4.089 G", CONV_AND_DENSE),
        parameters=PublishedFigure("25557032", WITH_BATCH_NORM),
    ),
    BuiltInNetwork(
        name="vgg16",
        title="VGG-16 (configuration D, no BatchNorm) at 224 x 224",
        source="Simonyan and Zisserman 2014, arXiv:1409.1556, as in torchvision",
        build=of_family("plain", "vgg16"),
        options=imagenet(32),
        macs=PublishedFigure("15.47 G", CONV_AND_DENSE),
        parameters=PublishedFigure("138357544", WITHOUT_BATCH_NORM),
    ),
    BuiltInNetwork(
        name="alexnet",
        title="AlexNet, the one-tower network of 'One weird trick', at 224 x 224",
        source="Krizhevsky 2014, arXiv:1404.5997, as in torchvision; not the network of 2012",
        build=of_family("plain", "alexnet"),
        options=imagenet(63),
        macs=PublishedFigure("0.714 G", CONV_AND_DENSE),
        parameters=PublishedFigure("61100840", WITHOUT_BATCH_NORM),
    ),
    BuiltInNetwork(
        name="googlenet",
        title="GoogLeNet (Inception v1) at 224 x 224, without auxiliary heads",
        source="Szegedy et al. 2014, arXiv:1409.4842, as in torchvision",
        build=of_family("googlenet", "googlenet"),
        options={
            **imagenet(15),
            "kernel": NetworkOption(
                3, "the kernel of the 5x5 branches: 3 as in torchvision, 5 as in the paper", choices=(3, 5)
            ),
        },
        macs=PublishedFigure("1.498 G", CONV_AND_DENSE),
        parameters=PublishedFigure("6624904", WITH_BATCH_NORM),
    ),
    BuiltInNetwork(
        name="shufflenetv1",
        title="ShuffleNet v1 1.0x, 3 groups, at 224 x 224",
        source="Zhang et al. 2017, arXiv:1707.01083, as in github.com/megvii-model/ShuffleNet-Series",
        build=of_family("shufflenet", "shufflenetv1"),
        options={
            **imagenet(1),
            "width": NetworkOption(1.0, WIDTH, choices=(0.5, 1.0, 1.5, 2.0)),
            "groups": NetworkOption(3, "the groups of the pointwise convolutions", choices=(3, 8)),
        },
        macs=PublishedFigure("138 M", "multiply-adds (README of the reference code, FLOPs)"),
        parameters=PublishedFigure(
            "1.9 M", "weights, and scale and shift of BatchNorm (README of the reference code)"
        ),
    ),
    BuiltInNetwork(
        name="blazeface",
        title="BlazeFace, front camera, 128 x 128, 896 anchors",
        source="Bazarevsky et al. 2019, arXiv:1907.05047; heads and variant=mediapipe as in "
        "face_detection_front.tflite (github.com/hollance/BlazeFace-PyTorch)",
        build=of_family("blazeface", "blazeface"),
        options={
            "input": image_size(128, 16),
            "variant": NetworkOption(
                "paper",
                "paper for 5x5 single and double blocks, mediapipe for the released 3x3 network",
                choices=("paper", "mediapipe"),
            ),
        },
        macs=PublishedFigure("34.1 M", "multiply-accumulates counted here by layer: not a published figure"),
        parameters=PublishedFigure(
            "71176", "weights and biases counted here by layer: not a published figure"
        ),
    ),
)
