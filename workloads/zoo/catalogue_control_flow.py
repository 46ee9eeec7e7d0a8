"""The built-in networks with branches and loops; ``macs`` counts every arm and all iterations."""

from __future__ import annotations

from workloads.zoo.network import Figure, Network, Option, of_family

COUNTED = "multiply-accumulates counted here, every arm and all iterations: not a published figure"
WEIGHTS = "weights and biases counted here: not a published figure"

_CLASSES = Option(10, "how many classes there are to tell apart", 1, 1_000_000)
_STEPS = Option(20, "the most words of a sentence; how many there are is assumed", 1, 1000)

CONTROL_FLOW: tuple[Network, ...] = (
    Network(
        name="branchynet",
        title="BranchyNet, B-AlexNet for CIFAR-10: ifs exit1 and exit2, arms exit and continue",
        source="Teerapittayanon et al. 2016, arXiv:1709.01686, chances from Table I; layers as in "
        "github.com/kunglab/branchynet",
        build=of_family("branchynet", "branchynet"),
        options={
            "variant": Option(
                "alexnet",
                "alexnet for B-AlexNet on CIFAR-10, lenet for B-LeNet on MNIST with one early exit",
                choices=("alexnet", "lenet"),
            ),
            "classes": _CLASSES,
        },
        macs=Figure("30.47 M", COUNTED),
        parameters=Figure("605886", WEIGHTS),
    ),
    Network(
        name="denoise",
        title="RNNoise, an iteration of the loop frames for each 10 ms: "
        "if voice_activity, arms speech and silence",
        source="Valin 2018, arXiv:1709.08243, layers as in github.com/xiph/rnnoise, training/rnn_train.py; "
        "that silence leaves out two GRUs is assumed, and speech of 38.53 % is ITU-T P.59's",
        build=of_family("speech", "denoise"),
        options={"frames": Option(100, "the frames of one run, 10 ms each", 1, 100_000)},
        macs=Figure(
            "8.70 M", "counted here for one second; 17.5 Mflops with biases (Valin, W3C workshop 2020)"
        ),
        parameters=Figure("87503", "weights and biases of the layers in training/rnn_train.py"),
    ),
    Network(
        name="fusiondetect",
        title="FusionDetect's shape, a detector of faces or bodies: if branch, arms face and body",
        source="shape of S2 (Wang et al. 2025), whose network is not public; stem and faces are FaceBoxes "
        "(Zhang et al. 2017, arXiv:1708.05234), bodies MobileNet blocks at stride 4: assumed",
        build=of_family("fusiondetect", "fusiondetect"),
        options={
            "input": Option(320, "the height and width of the image in pixels", 32, 8192),
            "blocks": Option(54, "the blocks of the body branch at stride 4", 1, 1000),
        },
        macs=Figure("406.1 M", COUNTED),
        parameters=Figure("1885117", WEIGHTS),
    ),
    Network(
        name="gru_decoder",
        title="RNN Encoder-Decoder, English to French phrases: loops encode and decode, a word an iteration",
        source="Cho et al. 2014, arXiv:1406.1078, section 4.1 and appendix A; "
        "lengths of sentences are assumed",
        build=of_family("decoders", "gru_decoder"),
        options={
            "units": Option(1000, "the gated units of encoder and decoder", 1, 65_536),
            "words": Option(15_000, "the words of each language", 1, 10_000_000),
            "steps": _STEPS,
        },
        macs=Figure("267.00 M", COUNTED),
        parameters=Figure("18259000", WEIGHTS),
    ),
    Network(
        name="lstm_decoder",
        title="Show and Tell, an image's caption: GoogLeNet, then the loop decode, a word an iteration",
        source="Vinyals et al. 2015, arXiv:1411.4555, 12,000 words as in im2txt; "
        "lengths of captions are assumed",
        build=of_family("decoders", "lstm_decoder"),
        options={
            "input": Option(224, "the height and width of the image in pixels", 15, 8192),
            "units": Option(512, "the units of the LSTM, and the size of an embedding", 1, 65_536),
            "words": Option(12_000, "the words that captions are made of", 1, 10_000_000),
            "steps": _STEPS,
        },
        macs=Figure("1.749 G", COUNTED),
        parameters=Figure("20897552", WEIGHTS),
    ),
    Network(
        name="skipnet",
        title="SkipNet-38 for CIFAR-10, recurrent gates: ifs layer1.1.gate and so on, arms run and skip",
        source="Wang et al. 2018, arXiv:1711.09485, layers as in github.com/ucbdrive/skipnet; every second "
        "block runs: of SkipNet-110 as a whole in section 4.1, for each block assumed",
        build=of_family("skipnet", "skipnet"),
        options={
            "depth": Option(38, "the layers of the ResNet, as in the paper", choices=(38, 74, 110, 152)),
            "classes": _CLASSES,
        },
        macs=Figure("83.30 M", COUNTED),
        parameters=Figure("569767", WEIGHTS),
    ),
    Network(
        name="wakeword",
        title="a wake word (DS-CNN S) before a recogniser (DS-CNN L): if wake, arms sleep and awake",
        source="both of Zhang et al. 2017, arXiv:1711.07128, sized as in github.com/ARM-software/"
        "ML-KWS-for-MCU; that one wakes the other, once in a hundred times, is assumed",
        build=of_family("speech", "wakeword"),
        options={
            "input": Option(49, "the number of MFCC frames, one every 20 ms", 10, 100_000),
            "coefficients": Option(10, "the number of MFCC coefficients a frame", 4, 1024),
            "classes": Option(12, "how many words there are to tell apart", 1, 1_000_000),
        },
        macs=Figure("30.98 M", "counted here; 5.4 M and 56.9 M operations of all kinds (Zhang et al.)"),
        parameters=Figure("433304", WEIGHTS),
    ),
)
