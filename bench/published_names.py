"""Names of networks in published tables as workloads: ``mobilenetv2_0.35_food101`` at ``128x128x3`` is
``zoo:mobilenetv2?width=0.35&input=128&classes=101``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations

from bench.boards import board_names, load_board
from chipmodel.errors import BadInput
from chipmodel.files.suggestions import shown, suggest
from chipmodel.hardware.chip_file import preset_names
from workloads.zoo import SCHEME, networks, parse_zoo_url
from workloads.zoo.catalogue import NetworkOption

BOARDS = {
    "ethos-u55-64": "corstone-300-64",
    "ethos-u55-128": "corstone-300",
    "ethos-u55-256": "alif-e7 weights.memory=mram weights.bytes=5632KiB weights.clock_mhz=400 "
    "weights.bytes_per_clock=0.968 weights.setup_cycles=60 weights.burst_bytes=128 "
    "weights.burst_overhead_clocks=0",
    "ethos-u65-256": "imx93",
    "ensemble-e7": "alif-e7",
    "stm32n657": "stm32n6",
    "stm32h747": "stm32h7",
    "stm32h743": "stm32h7",
    "stm32h7a3": "stm32h7 core_mhz=280",
    "stm32h7b3": "stm32h7 core_mhz=280",
    "stm32f769": "stm32h7 core_mhz=216 shared_memory.bytes=512KiB",
    "stm32f746": "stm32h7 core_mhz=216 shared_memory.bytes=320KiB",
    "stm32u575": "stm32u5",
    "stm32u585": "stm32u5",
    "b-u585": "stm32u5",
    "stm32u5a5": "stm32u5",
    "stm32u5a9": "stm32u5",
    "stm32u599": "stm32u5",
    "stm32l4r5": "stm32l4r5",
    "stm32l4r9": "stm32l4r5",
    "stm32l496": "stm32l4r5 core_mhz=80",
    "stm32l475": "stm32l4r5 core_mhz=80",
    "stm32l4a6": "stm32l4r5 core_mhz=80",
    "stm32l562": "stm32u5 core_mhz=110",
    "stm32h563": "stm32u5 core_mhz=250",
    "stm32h573": "stm32u5 core_mhz=250",
    "stm32wba": "stm32u5 core_mhz=100",
    "stm32f401": "stm32l4r5 core_mhz=84",
    "stm32f411": "stm32l4r5 core_mhz=100",
    "stm32f446": "stm32l4r5 core_mhz=180",
    "stm32f469": "stm32l4r5 core_mhz=180",
    "stm32g4": "stm32l4r5 core_mhz=170",
    "stm32wb": "stm32l4r5 core_mhz=64",
}
"""Presets, and settings, of chips that tables call otherwise, by a part of the letters and digits of their
names: ``NUCLEO-H743ZI2`` is like ``STM32H743``. Other cores' clocks are those of their datasheets."""
_FLASH = (
    "weights.memory=flash weights.bytes=8MiB weights.clock_mhz=80 weights.bytes_per_clock=0.5 "
    "weights.setup_cycles=0 weights.burst_overhead_clocks=20"
)
_XIAO = (
    f"npu.vector.kernels=esp-nn {_FLASH} weights.burst_bytes=32 npu.vector.cache.bytes=32KiB "
    "npu.vector.cache.line_bytes=32 npu.vector.weight_line_cycles=252 npu.read_bytes_per_cycle=0.254 "
    "npu.write_bytes_per_cycle=0.207"
)
_WIDE_LINES = f"{_FLASH} weights.burst_bytes=64 npu.vector.weight_line_cycles=444"
_ARMS_MODEL = (
    "core_mhz=500 shared_memory.bytes=2MiB weights.memory=mram weights.bytes=32MiB weights.clock_mhz=500 "
    "weights.bytes_per_clock=1 weights.setup_cycles=64 weights.burst_overhead_clocks=0 "
    "npu.ethos.sram.read_latency_cycles=32 npu.ethos.sram.write_latency_cycles=32"
)
"""The memories of Corstone-300, for an NPU of 256 MACs."""
EXTERNAL = {
    "stm32h7": ["weights.bytes=64MiB", "weights.clock_mhz=100", "weights.bytes_per_clock=0.125"],
    "stm32h7-cubeai8": ["weights.bytes=64MiB", "weights.clock_mhz=100", "weights.bytes_per_clock=0.125"],
}
"""Settings of boards that have external flash, for networks whose weights the internal one does not hold."""
SOFTWARE = (
    ("esp32s3", r"(?<![a-z0-9])yolo_?11n", _WIDE_LINES),
    ("esp32s3", r"swift.yolo|\brep\b|xiao|grove", _XIAO),
    ("esp32s3", r"^(?!.*xiao)(?=.*(?:tflm|esp-nn))", f"npu.vector.kernels=esp-nn {_WIDE_LINES}"),
    ("esp32p4", r"tflm|esp-nn", "npu.vector.kernels=esp-nn"),
    ("esp32s3", r"internal ram", "npu.read_bytes_per_cycle=16 npu.write_bytes_per_cycle=16"),
    ("alif-e7", r"corstone|fvp", _ARMS_MODEL),
)
"""Settings of the rows of a preset whose words have a pattern, as chipmodel/measured/tables has them."""
TRAINED = ("fft", "tfs", "tl")
"""Words for fine-tuned, from scratch, and transferred: of ST's tables of images, with flowers."""
CLASSES = {
    "food101": 101,
    "food": 101,
    **dict.fromkeys(("imagenet", "in"), 1000),
    **dict.fromkeys(("person", "stperson", "face", "hand", "pedestrian", "apple", "cat", "dog"), 1),
    "strawberry": 1,
    **dict.fromkeys(("gender", "pet", "vww", "vww01", "visual", "wakeword"), 2),
    "gesture": 3,
    **dict.fromkeys(("coco", "coco80"), 80),
    "voc": 20,
    **dict.fromkeys((*TRAINED, "flowers"), 5),
    **dict.fromkeys(("cifar", "cifar10", "cifar_10", "mnist", "esc10"), 10),
    "cifar100": 100,
    "plant": 39,
}
"""Classes of the data set that a network is named after."""
SMALL = (10, 36, 100)
"""Classes of data sets of small images, on which networks for others are not trained."""
GREY = ("mobilenetv1_025",)
"""Networks that tables have with images of one channel too."""
_VALUES: Mapping[str, Callable[[str], str]] = {
    "w": lambda text: _width(text),
    "depth": lambda text: _width(text),
    "share": lambda text: f"{1 / int(text):g}",
    "b": lambda text: f"-{text}" if text else "",
    "v2": lambda text: "v2-" if text == "v2" else text,
    "size": lambda text: _SIZES.get(text, text),
    "t": lambda text: "tiny" if text else "",
    "task": lambda text: {"pose": "pose", "seg": "segment"}.get(text, "detect"),
}
"""How parts of a name become values; others are values as they are."""
_WIDTH = r"\d\.\d+|0\d\d|1(?:00|25|30|40|50|75)"
"""A width: 0.35, 035, 150. Other numbers are sizes of images, such as 160 and 224."""
_W = rf"(?:a(?={_WIDTH}))?(?P<w>{_WIDTH}|[0-3]_\d{{1,2}}(?=_|$)|[0-3](?=_|$))"
"""The same with another writing, and what networks begin it with: a035, 0_5."""
_V1 = "(?:_v1)?"
_NAMES = (
    # Espressif: v1 is quantized with all defaults, other versions have layers of 16 bits
    (rf"mobilenetv2_{_W}_s8{_V1}", "mobilenetv2?width={w}"),
    (rf"(?:imagenet_cls_)?mobilenetv2_s8{_V1}", "mobilenetv2"),
    (rf"(?:coco_\w+_)?yolo(?P<v>11)n_(?P<task>pose|seg)(?:_s8{_V1})?", "yolo{v}?outputs=raw&task={task}"),
    (r"(?:coco_detect_)?yolo11n(?:_(?P<size>\d{3}))?_s8_v3", "yolo11?outputs=raw&input={size}"),
    (
        rf"(?:coco_detect_)?yolo(?P<v>11|26)n(?:_(?P<size>\d{{3}}))?_s8{_V1}",
        "yolo{v}?outputs=raw&input={size}",
    ),
    (r"espdet_pico", "espdet_pico"),
    (rf"(?:human_face_(?:feat|recognition)_)?(?P<v>mfn|mbf)_s8{_V1}", "mobilefacenet?variant={v}"),
    (r"mobilefacenet(?:_mfn)?", "mobilefacenet"),
    (rf"(?:human_face_detect_)?(?P<v>msr|mnp)_s8{_V1}", "face_{v}"),
    (rf"(?:pedestrian_detect_)?pico(?:_s8{_V1}|_pedestrian)", "picodet"),
    (rf"(?:person_reid_feat_)?osn(?:et)?(?:_s8{_V1}|_person|_[ax]?0_?25)?", "osnet"),
    # Seeed
    (rf"mobilenetv2_{_W}_rep(?:_gender)?", "mobilenetv2_rep?width={w}"),
    (r"swift_yolo_nano", "swift_yolo?width=0.25"),
    (r"swift_yolo_(?:meter|electricity|digital_meter(?:_electricity)?)", "swift_yolo?classes=10"),
    (r"swift_yolo_(?:water_meter|digital_meter_water)", "swift_yolo?classes=11"),
    (r"swift_yolo_(?:power|shuffle)", "nanodet~"),
    (r"swift_yolo(?:_tiny)?", "swift_yolo?classes=1"),
    # ST, image classification
    (rf"mobilenetv?2(?P<b>b?)_{_W}_pt", "mobilenetv2?width={w}&variant=pytorchcv{b}"),
    (rf"mobilenet_?v2_{_W}", "mobilenetv2?width={w}"),
    (r"mobilenet_?v2", "mobilenetv2"),
    (rf"mobilenet_?v3_?(?P<v>small|large)(?:_?(?P<w>{_WIDTH}))?", "mobilenetv3?variant={v}&width={w}"),
    (rf"mobilenet_?v?1?b?_{_W}", "mobilenetv1_025?width={w}&classes=1000"),
    (r"mobilenet_?v1", "mobilenetv1_025?input=128&classes=1000"),
    (rf"fdmobilenet_{_W}", "fdmobilenet?width={w}"),
    (r"st_fdmobilenet_?v1", "st_fdmobilenet_v1"),
    (r"st_efficientnet_?lc_?v1", "st_efficientnet_lc_v1"),
    (r"efficientnet_?v2_?(?P<v>b\d|s|m|l)", "efficientnetv2?variant={v}"),
    (r"efficientnet_?lite_?(?P<v>\d)", "efficientnet_lite?variant=lite{v}"),
    (r"efficientnet_?lite", "efficientnet_lite"),
    (r"efficientnet_?b0", "efficientnet_b0"),
    (r"whenet", "efficientnet_b0?classes=252"),
    (r"resnet_?18_?(?:wd(?P<share>\d))?", "resnet18?width={share}"),
    (r"preresnet_?18_?(?:wd(?P<share>\d))?", "preresnet18?width={share}"),
    (r"st_resnet_?(?P<v>pico|nano|micro|milli|tiny)", "st_resnet?variant={v}"),
    (r"resnet_?50_?v2", "resnet50v2"),
    (r"resnet_?50", "resnet50"),
    (r"(?:st_)?resnet_?(?:v1_?)?8_hybrid(?:_v[123])?", "resnet8~"),
    (r"(?:resnet_?(?:v1_)?8|tiny_?resnet)", "resnet8"),
    (r"resnet_?v1_(?P<v>20|32|56)|resnet_?(?P<v2>20|32|56)", "cifar_resnet?variant={v}{v2}"),
    (r"st_mnist(?:_byclass)?(?:_v1)?", "st_mnist"),
    (r"squeezenet_?v?1[._]?(?P<v>[01])", "squeezenet?version=1.{v}"),
    (rf"semnasnet_?d?_?{_W}", "mnasnet?variant=a1&width={w}"),
    (rf"mnasnet_?d?_?{_W}", "mnasnet?width={w}"),
    (r"mnasnet_?a1", "mnasnet?variant=a1"),
    (r"mnasnet(?:_?b1)?", "mnasnet"),
    (r"proxylessnas(?:_mobile)?", "proxylessnas"),
    (r"hardnet_?(?P<v>39|68)ds", "hardnet?depth={v}"),
    (rf"shufflenet_?v2b?_?[xw]?_?(?P<w>{_WIDTH}|[0-3]_\d(?=_|$))", "shufflenetv2?width={w}"),
    (r"dla_?(?P<v>46c|46xc|60xc)", "dla46c?variant={v}"),
    (r"dla_?(?P<v>46|60)x_c", "dla46c?variant={v}xc"),
    (r"peleenet", "peleenet"),
    (r"regnetx_?(?:002|200mf)", "regnetx"),
    (r"sqnxt_?23_?(?P<v>v5)?(?:_w1)?", "sqnxt?variant=23{v}"),
    (r"darknet_?tiny", "darknet_tiny"),
    # ST, others
    (r"fast_?depth", "fastdepth"),
    (r"tiny_yolo_?v2|yolo_?v2_?t(?:iny)?", "tiny_yolov2?classes=1"),
    (r"yolo_?(?P<v>v8|v?11)(?P<s>n|s)_pose", "yolo{v}?scale={s}&task=pose&classes=1"),
    (r"yolo_?(?P<v>v8|v?11)(?P<s>n|s)_seg", "yolo{v}?scale={s}&task=segment"),
    (r"yolo_?v?8(?P<s>n|s)", "yolov8?scale={s}"),
    (r"yolo_?v?(?P<v>11|26)(?P<s>n|s)", "yolo{v}?scale={s}"),
    (
        rf"st_yolo_?xn?_(?:nano_)?(?:\d{{3}}_)?d?(?P<depth>{_WIDTH})_w?(?P<w>{_WIDTH})",
        "st_yoloxn?depth={depth}&width={w}&classes=1",
    ),
    (r"st_yolo_?xn?(?:_nano)?", "st_yoloxn?classes=1"),
    (r"yolox_?nano", "st_yoloxn?depth=0.33&width=0.25&classes=80~"),
    (r"st_yolod_?v?2?_?(?P<v>milli|tiny)", "st_yolod?variant={v}"),
    (r"st_yolo_?lc_?v1", "st_yololc"),
    (rf"ssd_mobilenet_?v2_(?:fpn_?lite_)?{_W}(?:_fpn_?lite)?", "ssd_mobilenetv2_fpnlite?width={w}"),
    (r"ssd_mobilenet_?v2_fpn_?lite", "ssd_mobilenetv2_fpnlite"),
    (rf"(?:st_)?ssd_mobilenet_?v1_{_W}", "st_ssd_mobilenetv1?width={w}"),
    (r"ssd_?lite_mobilenet_?v3_?(?P<v>large|small)", "ssdlite_mobilenetv3?variant={v}"),
    (r"(?P<k>ssd|ssdlite)_?mobilenet_?v(?P<v>[12])", "{k}_mobilenetv{v}"),
    (r"(?:blazeface|facedetect)(?:_front)?", "blazeface?variant=mediapipe"),
    (r"yunet_?n?", "yunet"),
    (r"hand_?landmarks(?:_full)?", "hand_landmarks~"),
    (r"(?:blazepalm|palm_?detector)", "palm_detector~"),
    (r"(?:st_)?movenet_thunder", "movenet?width=1.75~"),
    (r"st_movenet(?:_lightning)?(?:_heatmaps)?", "movenet"),
    (r"movenet(?:_lightning)?", "movenet?classes=17"),
    (rf"deeplab_?v3_(?:mobilenet_?v2|mnv2)_{_W}_aspp(?P<v>v1|v2)", "deeplabv3?width={w}&variant={v}"),
    (
        r"deeplab_?v3_(?:mobilenet_?v2|mnv2)_05_16(?:_(?P<size>\d{3}))?_aspp(?P<v>v2)?",
        "deeplabv3?variant={v}&input={size}",
    ),
    (rf"deeplab_?v3(?:_mobilenet_?v2)?_{_W}", "deeplabv3?width={w}"),
    (r"deeplab_?v3", "deeplabv3"),
    (r"(?:st_)?yamnet_?e?(?P<v>256|512|1024)?", "yamnet?variant={v}"),
    (r"miniresnet_?(?:v1)?(?P<v2>v2)?_?s?(?P<v>[123])(?:_?stacks?)?", "miniresnet?variant={v2}{v}"),
    (r"(?:st_)?(?P<k>gmp|ign)_wl_?(?P<n>\d+)", "{k}?input={n}~"),
    (r"(?:cnn2d_)?(?:st_)?hand_?posture|cnn2d_st_handposture", "hand_posture"),
    # MLPerf Tiny
    (
        r"visual_wake_words?|vww(?:01)?|(?:tflm_)?person_detection",
        "mobilenetv1_025?input=96&classes=2",
    ),
    (r"(?:deep_)?auto_?encoder|ad01|ad|anomaly_detection", "autoencoder"),
    (r"ic01|ic|image_classification", "resnet8"),
    (r"kws01|kws|keyword_spotting(?:_dscnn)?|ds_?cnn", "ds_cnn"),
    # Arm and NXP
    (r"(?P<t>tiny_)?wav2letter(?:_pruned)?", "wav2letter?variant={t}"),
    (r"ad_micronet_(?P<size>small|medium|large)", "micronet_ad?variant={size}"),
    (r"kws_micronet_(?P<size>small|medium|large|s|m|l)", "micronet_kws?variant={size}"),
    (r"dnn_(?:small|s)", "dnn_kws"),
    (r"rnnoise", "rnnoise"),
    (r"deepface_emotion", "deepface_emotion"),
    (r"yolo_?v4_?tiny", "yolov4_tiny"),
    (r"ultraface_(?P<v>slim|ultraslim)", "ultraface?variant={v}"),
    (r"selfie_segmenter", "selfie_segmenter~"),
    (r"fast_srgan", "fast_srgan~"),
    (r"sci", "sci?input=1080"),
    (r"yolact_edge", "yolact_edge"),
    (r"nanodet(?:_m)?", "nanodet"),
    (r"fastest_?det", "fastestdet"),
    (r"efficientdet_lite_?0", "efficientdet_lite"),
)
"""Names as workloads; one that ends in ~ is of a network that is like the one named, which is not built."""
APPROXIMATE = "~"
OLDER = re.compile(r"(?:CUBE\W?AI)\D*[78](?:\.|$)|CUBE\W?AI-[78]|X-CUBE-AI(?!\s+v?\d|-\d)", re.IGNORECASE)
"""Versions of STM32Cube.AI with slower kernels; MLPerf Tiny's first results name none."""
OTHERS = re.compile(r"plumerai|bosch|hale|tvm|onnc|ansi c", re.IGNORECASE)
"""Tools that no preset is about."""
UNKNOWN_BOARDS = (
    (
        r"grove.?vision|himax|\bwe2\b",
        "Grove Vision AI V2",
        "a model of its NPU and flash had 0.18 to 0.77 of its times",
    ),
    (
        r"mcx\W?n\d|efr32|xg24",
        "MCX N947 or EFR32xG24",
        "the rates in docs/examples/chips were assumed with two and three networks in view",
    ),
    (r"dk\W?e8|ensemble\W?e8.*u85", "Alif DK-E8 (Ethos-U85)", "where its weights lie is not published"),
)
"""Boards that nothing here is about, by words of a row, and why."""
UNKNOWN = (
    (r"kernel_", "it is a kernel and no network", "write it as a network of one op, as YAML"),
    (r"svc_wl", "its support vectors depend on its data", "write a dense layer of as many rows as YAML"),
    (
        r"micro_speech_lstm|eegtcnet|facedet|midas|facenet|inception|centernet",
        "its layers are not known here",
        "",
    ),
    (r"st_(?:conv|dense)|use_case|model_input", "its layers are not published", ""),
)
"""Published names that nothing here stands for: why, and what would resolve them."""
CORES = re.compile(r"(?:multi|dual)\W?_?core|(?:two|both|2)[\W_]cores", re.IGNORECASE)
"""Words of a row that say that the cores of a CPU share the work, which one does alone by default."""
CORE_MODES = ("mode", "runtime_mode")
"""Columns that say nothing else."""
ONE_OR_TWO = re.compile(
    r"(?:runtime\W?_?mode\W?_?)?(?:single|one|1|multi|dual|both|two|2)[\W_]*cores?", re.IGNORECASE
)
LEAST_LETTERS = 3
"""Letters that a part of a network's name needs to be one of its words."""
MODES = ("network", "workload", "mode", "runtime_mode", "tool", "tool_version", "precision", "note")
"""Columns that may say so; those of boards name the cores that there are."""
SILENT = (
    r"pt|pytorch|torchvision|timm|tf|tflite|onnx|keras|executorch|tflm|esp_dl|st|ml_zoo|p4|s3|actrelu|reid|p50|pc|uf|ff|"
    r"(?:s8|u?int8)(?:_v1)?|quant(?:ized)?|qdq|ptq|full_integer|per_(?:tensor|channel)|ad01|ic01|kws01|kws_asr|"
    r"(?:runtime_mode_)?(?:single|two|multi|dual)_cores?|ansi_c|inference_runner|[\d.]+_[mg]?(?:flop|mac)s?"
)
"""Words behind a network's name that change no layer: origin, file format, integers of 8 bits."""
WORDS = (
    rf"(?P<silent>{SILENT})|(?P<classes>{'|'.join(sorted(CLASSES, key=len, reverse=True))})|"
    r"(?P<width>[awx]?(?:[01]\.\d+|0\d\d|100)|[awx]\d{3})|"
    r"(?P<size>(?!(?:25|35|50|75)(?:_|$))\d{2,4}(?:x\d{2,4}){0,2})|"
    r"(?P<count>\d+)(?:kpts?|classes)|(?P<grey>grayscale)"
)
"""Words behind a network's name that are known, each to be followed by ``_`` or nothing. Sizes such as 50 are
left out, since they may be widths in per cent."""
_SIZES: Mapping[str, str] = {
    "small": "small",
    "medium": "medium",
    "large": "large",
    "s": "small",
    "m": "medium",
    "l": "large",
}


def _width(text: str) -> str:
    number = text.replace("_", ".")
    return number if "." in number else f"{int(number) / (100 if len(number) == 3 else 1):g}"


def preset_of(chip: str, tool: str = "") -> tuple[str, ...]:
    """The preset of a chip that a table names, and settings: ``ESP32-S3`` is ``esp32s3``, and one that has a
    preset for an older ``tool`` is that. Other names stay as they are. Raises BadInput for a board that
    no preset is about."""
    for pattern, board, why in UNKNOWN_BOARDS:
        if re.search(pattern, f"{chip} {tool}", re.IGNORECASE):
            raise BadInput(f"no preset is about {board}: {why}", hint="give the path of a chip file of yours")
    name, *settings = _preset_of(chip)
    older = f"{name}-cubeai8"
    if OLDER.search(tool) and older in board_names():
        name = older
    return name, *settings


def _preset_of(chip: str) -> tuple[str, ...]:
    """The longest key of ``BOARDS`` that begins in the name, else the longest preset that it has as words."""
    if chip.endswith((".yaml", ".yml")):
        return (chip,)
    name = re.sub(r"nucleo\W?_?", "stm32", chip.lower())
    boards = [key for key in BOARDS if re.search(_words(key), name)]
    presets = [
        key for key in {*preset_names(), *board_names()} if re.search(_words(key) + r"(?![a-z0-9])", name)
    ]
    found = max(boards or presets, key=len, default=None)
    return tuple(BOARDS.get(found, found).split()) if found else (chip,)


def _words(name: str) -> str:
    """The pattern of a name's letters and digits from a word's start on, with anything else between them."""
    return r"(?<![a-z0-9])" + "[^a-z0-9]*".join(re.sub("[^a-z0-9]", "", name))


def workload_of(network: str, shape: str = "") -> str:
    """The workload of a table's ``network``: one already, a built-in network's name, or a published name.
    ``shape`` is that of its input, or options such as ``width=0.5&classes=10``. Raises BadInput for a
    published name that stands for nothing here."""
    if bracketed := re.search(r"\[(zoo:\S+)\]", network):
        return bracketed[1]
    if ":" in network or network.endswith((".yaml", ".yml", ".onnx", ".tflite")):
        found = network
    else:
        found = SCHEME + _published(network, shape).rstrip(APPROXIMATE)
    if not found.startswith(SCHEME) or not shape:
        return found
    name, options = parse_zoo_url(found)
    if "=" in shape:
        given = parse_zoo_url(f"{SCHEME}{name}?{shape}")[1]
    else:
        sizes = sizes_of(shape)
        given = {"input": str(_input(name, sizes))}
        if sizes[2:] == [1] and name in GREY:
            given["channels"] = "1"
    query = "&".join(f"{key}={value}" for key, value in {**options, **given}.items())
    return f"{SCHEME}{name}?{query}"


def _input(name: str, sizes: Sequence[int]) -> int:
    """The option ``input`` of a network for an input of these sizes: a network's rows, YAMNet's frames."""
    return max(sizes[:2]) if name in ("osnet", "yamnet") else sizes[0]


def settings_of(preset: str, row: Mapping[str, str]) -> Iterator[str]:
    """Settings of the chip that a row says besides its chip: its clock, bits of weights, and software."""
    clock = row.get("clock_mhz") or ""
    if clock and re.fullmatch(r"[\d.]+", clock):
        yield f"core_mhz={clock}"
    bits = re.search(r"\bw(\d)\b", row.get("precision") or "")
    if bits and preset == "gap9":
        yield f"weights.bits_per_weight={bits[1]}"
    text = " ".join(filter(None, (row.get(name) for name in ("chip", "network", "board", "tool", "note"))))
    if any(CORES.search(row.get(name) or "") for name in MODES):
        if "npu.vector.cores" not in load_board(preset).figures:
            raise BadInput(f"{preset} has no cores that share the work", hint="set another chip file")
        yield "npu.vector.cores=2"
    for chip, pattern, settings in SOFTWARE:
        if chip == preset and re.search(pattern, text, re.IGNORECASE):
            yield from settings.split()


def refuse_other_cores(mode: str) -> None:
    """Raise BadInput for a cell of ``CORE_MODES`` that says neither one core nor two."""
    if mode and not ONE_OR_TWO.fullmatch(mode.strip()):
        what = f"the mode {shown(mode)} is not known"
        raise BadInput(what, hint="write SINGLE_CORE or MULTI_CORE")


def is_other_tool(software: str) -> bool:
    """Whether the words of a row about its software name one that no preset is about."""
    return bool(OTHERS.search(software))


def is_like(network: str, software: str = "") -> bool:
    """Whether a published name is that of a network which is not built here, but like one that is, or the
    ``software`` one that no preset is about."""
    return is_other_tool(software) or (":" not in network and _published(network).endswith(APPROXIMATE))


def sizes_of(shape: str) -> list[int]:
    """The numbers of a shape such as ``224x224x3``. Raises BadInput where it has none."""
    if not (found := re.findall(r"\d+", shape)):
        raise BadInput(f"the shape {shown(shape)} has no number", hint="write it as 224x224x3")
    numbers = [int(each) for each in found]
    # 1x3x224x224 and 1x224x224x3 are shapes with a batch, 3x224x224 is one with the channels first.
    if len(numbers) == 4 and numbers[0] == 1:
        numbers = numbers[1:]
    channels_first = len(numbers) == 3 and numbers[0] < 5 <= min(numbers[1:])
    return [*numbers[1:], numbers[0]] if channels_first else numbers


def _published(network: str, shape: str = "") -> str:
    if any(each.name == network for each in networks()):
        return network
    plain = re.sub(r"[^a-z0-9.]+", "_", network.lower()).strip("_")
    plain = re.sub(r"^(yolo_?v?\d+[ns])_(.+)_(pose|seg)(?=_|$)", r"\1_\3_\2", plain)
    for pattern, why, hint in UNKNOWN:
        if re.match(pattern, plain):
            raise BadInput(
                f"{shown(network)} is not predicted: {why}", hint=hint or "write its layers as YAML"
            )
    found = [
        (template, match.groupdict(""))
        for pattern, template in _NAMES
        if (match := re.match(f"(?:{pattern})" + r"(?:_(?P<rest>.*))?$", plain))
    ]
    if not found:
        raise _unknown_name(network, plain)
    # ad_micronet_medium is a MicroNet more than it is MLPerf's ad.
    return _filled(network, *min(found, key=lambda each: len(each[1]["rest"])), shape)


def _unknown_name(network: str, plain: str) -> BadInput:
    """Why a name is refused that no pattern covers: its words around the longest that is a network's."""
    words = plain.split("_")
    spans = sorted(combinations(range(len(words) + 1), 2), key=lambda span: span[0] - span[1])
    known = [each.name for each in networks()]
    patterns = [pattern for pattern, _ in _NAMES] + known
    ends = (
        span for span in spans if any(re.fullmatch(each, "_".join(words[slice(*span)])) for each in patterns)
    )
    start, end = next(ends, (0, 0))
    around = words[:start] + words[end:]
    unknown = [word for part in (words[:start], words[end:]) for word in _words_of("_".join(part))[1]]
    hint = suggest(network, known, "the built-in networks are")
    return _not_known(network, unknown or around, "_".join(words[start:end]) or "any network", hint)


def _not_known(
    network: str, words: Sequence[str], of: str, hint: str = "write its layers as YAML"
) -> BadInput:
    what = f"{', '.join(map(repr, words))} {'are' if words[1:] else 'is'} not known of {of}"
    return BadInput(f"{shown(network)} is not predicted: {what}", hint=hint)


def _filled(network: str, template: str, parts: dict[str, str], shape: str) -> str:
    """The workload of a name's ``parts``; of an option without a value the default holds. Raises BadInput
    for words behind the name that are not known of that network, and for another size than ``shape`` has."""
    values = {name: _value(name, text) for name, text in parts.items()}
    name, _, query = template.rstrip(APPROXIMATE).format(**values).partition("?")
    options = dict(each.split("=") for each in query.split("&") if each and not each.endswith("="))
    (known,) = (each.options for each in networks() if each.name == name)
    said, unknown = _words_of(parts["rest"].replace(name, ""))
    said["size"] += [options["input"]] if parts.get("size") and "input" in options else []
    for word in said["width"]:
        width = _width(word.lstrip("awx"))
        if "width" in known:
            options.setdefault("width", width)
        if name == "osnet" or float(options.get("width", 1)) != float(width):
            unknown.append(word)
    if said["grey"] and name in GREY:
        options["channels"] = "1"
    elif said["grey"]:
        unknown += said["grey"]
    if sizes := said["size"]:
        named = shape and "=" not in shape
        given = {*sizes_of(shape if named else sizes[0])}
        others = [word for word in sizes if not {*sizes_of(word)} <= given]
        if others and named:
            what = f"its name says an input of {others[0]}, the row {shape}"
            raise BadInput(f"{shown(network)} is not predicted: {what}", hint="correct one of them")
        unknown += sizes if others else []
        options["input"] = str(sizes_of(sizes[0])[0])
    classes, others = _classes(name, options, known, said, sizes_of(shape or " ".join((*sizes, "0")))[0])
    if classes:
        options["classes"] = str(classes)
    unknown = [word for word in (*unknown, *others) if not _is_of(word, f"{name}?{query}")]
    if unknown:
        raise _not_known(network, unknown, name)
    like = APPROXIMATE if template.endswith(APPROXIMATE) else ""
    query = "&".join(f"{key}={value}" for key, value in options.items())
    return (f"{name}?{query}" if query else name) + like


def _is_of(word: str, workload: str) -> bool:
    """Whether a word is one of a workload, or letters of its name: ``ssd`` of ``ssdlite_mobilenetv2``."""
    letters = word.isalpha() and len(word) >= LEAST_LETTERS
    return word in re.split("[^a-z0-9.]", workload) or (letters and workload.startswith(word))


def _words_of(rest: str) -> tuple[dict[str, list[str]], list[str]]:
    """The known words behind a network's name by what they say, and the others."""
    said: dict[str, list[str]] = {name: [] for name in re.compile(WORDS).groupindex}
    unknown: list[str] = []
    rest = rest.strip("_")
    while rest:
        word = re.match(rf"(?:{WORDS})(?=_|$)", rest)
        if word and word.lastgroup:
            said[word.lastgroup].append(word[word.lastgroup])
        else:
            unknown.append(rest.partition("_")[0])
        rest = rest[len(word[0] if word else unknown[-1]) :].strip("_")
    return said, unknown


def _classes(
    name: str,
    options: Mapping[str, str],
    known: Mapping[str, NetworkOption],
    said: Mapping[str, list[str]],
    size: int,
) -> tuple[int, list[str]]:
    """The classes that the words behind a name say, 0 where it has its own, and the words of data sets that
    no such network is trained on."""
    if "classes" not in known:
        return 0, said["count"]
    if said["count"]:
        return int(said["count"][0]), []
    default = int(options.get("classes", known["classes"].default))
    # A network for persons in COCO has their one class.
    words = [word for word in said["classes"] if CLASSES[word] not in (80, 1000)] or said["classes"]
    if name == "movenet" or options.get("task") == "pose":
        return 0, [word for word in words if CLASSES[word] not in (1, 80)]
    found = [word for word in words if CLASSES[word] != default]
    if default in SMALL:
        words = [word for word in found if word not in TRAINED]
        found = [word for word in words if CLASSES[word] in SMALL]
    # Nobody trains on ImageNet at 96 x 96.
    classes = next((CLASSES[word] for word in found), 2 if size == 96 and name in GREY else 0)
    return classes, [word for word in words if CLASSES[word] not in (classes, default)]


def _value(name: str, text: str) -> str:
    if not text and name not in ("b", "v2", "task"):
        return ""
    return _VALUES[name](text) if name in _VALUES else text
