"""Names of networks in published tables as workloads: ``mobilenetv2_0.35_food101`` at ``128x128x3`` is
``zoo:mobilenetv2?width=0.35&input=128&classes=101``."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from chipmodel.errors import BadInput
from chipmodel.files.suggestions import shown
from chipmodel.hardware.chip_file import preset_names
from workloads.zoo import SCHEME, parse_zoo_url

BOARDS = {
    "ethos-u55-64": "himax-we2",
    "ethos-u55-128": "corstone-300",
    "ethos-u55-256": "alif-e7",
    "stm32h747": "stm32h7",
    "stm32h7a3": "stm32h7 core_mhz=280",
    "stm32u575": "stm32u5",
    "stm32u585": "stm32u5",
}
"""Presets, and settings, of chips that tables call otherwise; of the others the preset has the letters and
digits of the name."""
CLASSES = {
    "food101": 101,
    "imagenet": 1000,
    **dict.fromkeys(("person", "stperson"), 1),
    **dict.fromkeys(("coco", "coco80"), 80),
    "voc": 20,
    **dict.fromkeys(("fft", "tfs"), 5),  # flowers, fine-tuned or trained from scratch
}
"""Classes of the data set that a network is named after."""
GREY = ("mobilenetv1_025",)
"""Networks that tables have with images of one channel too."""
_VALUES: Mapping[str, Callable[[str], str]] = {
    "hundredths": lambda text: f"{int(text) / 100:g}",
    "depth": lambda text: f"{int(text) / 100:g}",
    "share": lambda text: f"{1 / int(text):g}",
}
"""How parts of a name become values; others are values as they are."""
_NAMES = (
    (r"mobilenetv2_(?P<whole>\d)_(?P<tenths>\d)_s8", "mobilenetv2?width={whole}.{tenths}"),
    (r"yolo(?P<v>11|26)n(?:_\d+)?_s8", "yolo{v}?outputs=raw"),
    (r"espdet_pico", "espdet_pico"),
    (r"(?P<v>mfn|mbf)_s8", "mobilefacenet?variant={v}"),
    (r"(?P<v>msr|mnp)_s8", "face_{v}"),
    (r"pico_s8", "picodet"),
    (r"osn_s8", "osnet"),
    (r"mobilenet_?v2_(?P<w>[\d.]+)", "mobilenetv2?width={w}"),
    (r"mobilenet_?v1_(?P<w>[\d.]+)", "mobilenetv1_025?width={w}&classes=1000"),
    (r"mobilenetv1", "mobilenetv1_025?input=128&classes=1000"),
    (r"visual_wake_words?|vww", "mobilenetv1_025?input=96&classes=2"),
    (r"(?:deep_)?autoencoder", "autoencoder"),
    (r"resnet_v1_8(?:_tfs)?", "resnet8"),
    (r"mobilenet_a(?P<hundredths>\d{3})", "mobilenetv1_025?width={hundredths}&classes=1000"),
    (r"fdmobilenet_(?P<w>[\d.]+)", "fdmobilenet?width={w}"),
    (r"st_efficientnet_lc_v1", "st_efficientnet_lc_v1"),
    (r"efficientnet_v2(?P<v>b\d|s|m|l)", "efficientnetv2?variant={v}"),
    (r"resnet18wd(?P<share>\d)", "resnet18?width={share}"),
    (r"st_resnet(?P<v>pico|nano|micro|milli|tiny)", "st_resnet?variant={v}"),
    (r"squeezenetv1(?P<v>\d)", "squeezenet?version=1.{v}"),
    (r"semnasnet100", "mnasnet?variant=a1"),
    (r"mnasnet100", "mnasnet"),
    (r"proxylessnas", "proxylessnas"),
    (r"hardnet(?P<v>39|68)ds", "hardnet?depth={v}"),
    (r"shufflenetv2_x(?P<hundredths>\d{3})", "shufflenetv2?width={hundredths}"),
    (r"dla46c", "dla46c"),
    (r"fastdepth", "fastdepth"),
    (r"tiny_yolo_v2|yolov2t", "tiny_yolov2?classes=1"),
    (r"yolov8(?P<s>n|s)", "yolov8?scale={s}"),
    (r"yolov?(?P<v>11|26)(?P<s>n|s)", "yolo{v}?scale={s}"),
    (
        r"st_yoloxn_d(?P<depth>\d{3})_w(?P<hundredths>\d{3})",
        "st_yoloxn?depth={depth}&width={hundredths}&classes=1",
    ),
    (r"st_yolo_x_nano_(?P<d>[\d.]+)_(?P<w>[\d.]+)", "st_yoloxn?depth={d}&width={w}&classes=1"),
    (r"st_yolodv2(?P<v>milli|tiny)", "st_yolod?variant={v}"),
    (r"ssd_mobilenetv2", "ssd_mobilenetv2"),
    (r"ssdlite_mobilenetv2", "ssdlite_mobilenetv2"),
    (r"blazeface_front", "blazeface?variant=mediapipe"),
)


def preset_of(chip: str) -> tuple[str, ...]:
    """The preset of a chip that a table names, and settings: ``ESP32-S3`` is ``esp32s3``. Other names stay as
    they are."""
    name = chip.lower()
    plain = re.sub(r"[^a-z0-9]", "", name.partition("(")[0])
    candidates = (BOARDS.get(name, name), BOARDS.get(plain, plain))
    found = (tuple(each.split()) for each in candidates if each.split()[:1])
    return next((each for each in found if each[0] in preset_names()), (chip,))


def workload_of(network: str, shape: str = "") -> str:
    """The workload of a table's ``network``: one already, a built-in network's name, or a published name.
    ``shape`` is that of its input, or options such as ``width=0.5&classes=10``."""
    if ":" in network or network.endswith((".yaml", ".yml", ".onnx", ".tflite")):
        found = network
    else:
        found = SCHEME + (_published(network) or network)
    if not found.startswith(SCHEME) or not shape:
        return found
    name, options = parse_zoo_url(found)
    if "=" in shape:
        given = parse_zoo_url(f"{SCHEME}{name}?{shape}")[1]
    else:
        sizes = sizes_of(shape)
        given = {"input": str(sizes[0]), **({"channels": "1"} if sizes[2:] == [1] and name in GREY else {})}
    query = "&".join(f"{key}={value}" for key, value in {**options, **given}.items())
    return f"{SCHEME}{name}?{query}"


def sizes_of(shape: str) -> list[int]:
    """The numbers of a shape such as ``224x224x3``. Raises BadInput where it has none."""
    if not (found := re.findall(r"\d+", shape)):
        raise BadInput(f"the shape {shown(shape)} has no number", hint="write it as 224x224x3")
    return [int(each) for each in found]


def _published(network: str) -> str:
    plain = re.sub(r"[\s-]+", "_", re.sub(r"\(.*\)", "", network.lower()).strip())
    for pattern, template in _NAMES:
        match = re.match(f"(?:{pattern})" + r"(?:_(?P<rest>.*))?$", plain)
        if match:
            parts = {name: _VALUES.get(name, str)(text) for name, text in match.groupdict("").items()}
            classes = [CLASSES[word] for word in parts.pop("rest").split("_") if word in CLASSES]
            return _with_classes(template.format(**parts), classes)
    return ""


def _with_classes(workload: str, classes: Sequence[int]) -> str:
    name, mark, query = workload.partition("?")
    options = [each for each in query.split("&") if mark and not (classes and each.startswith("classes="))]
    query = "&".join((*options, *(f"classes={number}" for number in classes)))
    return f"{name}?{query}" if query else name
