"""The built-in networks with branches and loops; ``macs`` counts every arm and all iterations."""

from __future__ import annotations

from workloads.zoo.network import BuiltInNetwork, NetworkOption, PublishedFigure, of_family

COUNTED = "multiply-accumulates counted here, every arm and all iterations: not a published figure"
WEIGHTS = "weights and biases counted here: not a published figure"

_CLASSES = NetworkOption(10, "the number of classes", 1, 1_000_000)
_STEPS = NetworkOption(
    20, "the largest number of words in a sentence; the distribution of lengths is assumed", 1, 1000
)

CONTROL_FLOW: tuple[BuiltInNetwork, ...] = (
    BuiltInNetwork(
        name="branchynet",
        title="BranchyNet, B-AlexNet for CIFAR-10, early exits: ifs exit1 and exit2, arms exit and continue",
        source="Teerapittayanon et al. 2016, arXiv:1709.01686, probabilities from Table I; layers as in "
        "github.com/kunglab/branchynet",
        build=of_family("branchynet", "branchynet"),
        options={
            "variant": NetworkOption(
                "alexnet",
                "alexnet for B-AlexNet on CIFAR-10, lenet for B-LeNet on MNIST with one early exit",
                choices=("alexnet", "lenet"),
            ),
            "classes": _CLASSES,
        },
        macs=PublishedFigure("30.47 M", COUNTED),
        parameters=PublishedFigure("605886", WEIGHTS),
    ),
    BuiltInNetwork(
        name="denoise",
        title="RNNoise, noise suppression: loop frames, one iteration per 10 ms, with if voice_activity, "
        "arms speech and silence",
        source="Valin 2018, arXiv:1709.08243, layers as in github.com/xiph/rnnoise, training/rnn_train.py; "
        "that silence skips two GRUs is assumed; the share of speech, 38.53 %, is from ITU-T P.59",
        build=of_family("speech", "denoise"),
        options={"frames": NetworkOption(100, "the frames of one run, 10 ms each", 1, 100_000)},
        macs=PublishedFigure(
            "8.70 M", "counted here for one second; 17.5 Mflops with biases (Valin, W3C workshop 2020)"
        ),
        parameters=PublishedFigure("87503", "weights and biases of the layers in training/rnn_train.py"),
    ),
    BuiltInNetwork(
        name="fusiondetect",
        title="Detector of faces or bodies, shaped like FusionDetect: if branch, arms face and body",
        source="Shape of the network in Wang et al. 2025, which is not public; stem and faces are FaceBoxes "
        "(Zhang et al. 2017, arXiv:1708.05234), bodies MobileNet blocks at stride 4: assumed",
        build=of_family("fusiondetect", "fusiondetect"),
        options={
            "input": NetworkOption(320, "the height and width of the image in pixels", 32, 8192),
            "blocks": NetworkOption(54, "the blocks of the body branch at stride 4", 1, 1000),
        },
        macs=PublishedFigure("406.1 M", COUNTED),
        parameters=PublishedFigure("1885117", WEIGHTS),
    ),
    BuiltInNetwork(
        name="gru_decoder",
        title="RNN Encoder-Decoder, English to French: loops encode and decode, one word per iteration",
        source="Cho et al. 2014, arXiv:1406.1078, section 4.1 and appendix A; "
        "lengths of sentences are assumed",
        build=of_family("decoders", "gru_decoder"),
        options={
            "units": NetworkOption(1000, "the gated units of encoder and decoder", 1, 65_536),
            "words": NetworkOption(15_000, "the words of each language", 1, 10_000_000),
            "steps": _STEPS,
        },
        macs=PublishedFigure("267.00 M", COUNTED),
        parameters=PublishedFigure("18259000", WEIGHTS),
    ),
    BuiltInNetwork(
        name="lstm_decoder",
        title="Show and Tell, image captions: GoogLeNet, then loop decode, one word per iteration",
        source="Vinyals et al. 2015, arXiv:1411.4555, 12,000 words as in im2txt; "
        "lengths of captions are assumed",
        build=of_family("decoders", "lstm_decoder"),
        options={
            "input": NetworkOption(224, "the height and width of the image in pixels", 15, 8192),
            "units": NetworkOption(512, "the units of the LSTM, and the size of an embedding", 1, 65_536),
            "words": NetworkOption(12_000, "the words that captions are made of", 1, 10_000_000),
            "steps": _STEPS,
        },
        macs=PublishedFigure("1.749 G", COUNTED),
        parameters=PublishedFigure("20897552", WEIGHTS),
    ),
    BuiltInNetwork(
        name="skipnet",
        title="SkipNet-38 for CIFAR-10, skipped blocks: ifs layer1.1.gate and so on, arms run and skip",
        source="Wang et al. 2018, arXiv:1711.09485, layers as in github.com/ucbdrive/skipnet; each "
        "block runs with probability 1/2: assumed from the 50 % that SkipNet-110 saves (section 4.1)",
        build=of_family("skipnet", "skipnet"),
        options={
            "depth": NetworkOption(
                38, "the layers of the ResNet, as in the paper", choices=(38, 74, 110, 152)
            ),
            "classes": _CLASSES,
        },
        macs=PublishedFigure("83.30 M", COUNTED),
        parameters=PublishedFigure("569767", WEIGHTS),
    ),
    BuiltInNetwork(
        name="wakeword",
        title="Wake-word detector (DS-CNN S) before a recogniser (DS-CNN L): if wake, arms sleep and awake",
        source="Both networks of Zhang et al. 2017, arXiv:1711.07128, sized as in github.com/ARM-software/"
        "ML-KWS-for-MCU; that one wakes the other, and its probability of 1/100, are assumed",
        build=of_family("speech", "wakeword"),
        options={
            "input": NetworkOption(49, "the number of MFCC frames, one every 20 ms", 10, 100_000),
            "coefficients": NetworkOption(10, "the number of MFCC coefficients per frame", 4, 1024),
            "classes": NetworkOption(12, "the number of words to recognise", 1, 1_000_000),
        },
        macs=PublishedFigure(
            "30.98 M", "counted here; 5.4 M and 56.9 M operations of all kinds (Zhang et al.)"
        ),
        parameters=PublishedFigure("433304", WEIGHTS),
    ),
)
