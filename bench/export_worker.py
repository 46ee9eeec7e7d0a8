"""Export networks by PyTorch with random weights; run by the Python that has torch, see exported_networks.

``python bench/export_worker.py FOLDER NAME...`` writes ``FOLDER/NAME.onnx`` for each name, and one line of
JSON: the multiply-accumulates that torch counts while it runs the network (half of
``torch.utils.flop_counter``), or the reason why there is no file.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

OPSET = 18
"""The operator set of the files (what torch 2 writes by default)."""

WHISPER = {
    "d_model": 384,
    "encoder_layers": 4,
    "decoder_layers": 4,
    "encoder_attention_heads": 6,
    "decoder_attention_heads": 6,
    "encoder_ffn_dim": 1536,
    "decoder_ffn_dim": 1536,
}
"""Whisper-tiny: Radford et al. 2023, "Robust Speech Recognition via Weak Supervision", table 1."""

TOKENS = 32
"""Tokens that the decoder is given at once (assumed)."""


def _image(size: int) -> Any:
    return import_module("torch").randn(1, 3, size, size)


def _torchvision(name: str, size: int = 224, **options: object) -> tuple[Any, tuple[Any, ...]]:
    made = getattr(import_module("torchvision.models"), name)(weights=None, **options)
    return made, (_image(size),)


def _retinanet() -> tuple[Any, tuple[Any, ...]]:
    detection = import_module("torchvision.models.detection")
    made = detection.retinanet_resnet50_fpn(weights=None, weights_backbone=None, min_size=320, max_size=320)
    nn = import_module("torch").nn

    class Heads(nn.Module):  # type: ignore[misc, name-defined]
        """Scores and boxes of all anchors: the network before its non-maximum suppression."""

        def forward(self, x: Any) -> Any:
            found = self.head(list(self.backbone(x).values()))
            return found["cls_logits"], found["bbox_regression"]

    heads: Any = Heads()
    heads.backbone, heads.head = made.backbone, made.head
    return heads, (_image(320),)


def _coat() -> tuple[Any, tuple[Any, ...]]:
    return import_module("timm").create_model("coat_lite_tiny", pretrained=False), (_image(224),)


def _segformer() -> tuple[Any, tuple[Any, ...]]:
    transformers = import_module("transformers")
    return transformers.SegformerForSemanticSegmentation(transformers.SegformerConfig()), (_image(512),)


def _whisper() -> Any:
    transformers = import_module("transformers")
    return transformers.WhisperModel(transformers.WhisperConfig(**WHISPER, attn_implementation="eager"))


def _whisper_encoder() -> tuple[Any, tuple[Any, ...]]:
    return _whisper().encoder, (import_module("torch").randn(1, 80, 3000),)


def _whisper_decoder() -> tuple[Any, tuple[Any, ...]]:
    torch = import_module("torch")
    decoder = _whisper().decoder

    class Decoder(torch.nn.Module):  # type: ignore[misc, name-defined]
        """Scores of the next token after each of those given, with the weights of the embedding."""

        def forward(self, tokens: Any, sound: Any) -> Any:
            found = self.decoder(input_ids=tokens, encoder_hidden_states=sound, use_cache=False)
            return found.last_hidden_state @ self.decoder.embed_tokens.weight.T

    wrapped: Any = Decoder()
    wrapped.decoder = decoder
    return wrapped, (torch.zeros(1, TOKENS, dtype=torch.int64), torch.randn(1, 1500, WHISPER["d_model"]))


NETWORKS: Mapping[str, Callable[[], tuple[Any, tuple[Any, ...]]]] = {
    "swin_t": lambda: _torchvision("swin_t"),
    "vit_b_16": lambda: _torchvision("vit_b_16"),
    "coat_lite_tiny": _coat,
    "segformer_b0": _segformer,
    "retinanet_resnet50": _retinanet,
    "whisper_tiny_encoder": _whisper_encoder,
    "whisper_tiny_decoder": _whisper_decoder,
}
"""A module and its inputs, by the name of the file."""


def export(name: str, folder: Path) -> dict[str, object]:
    """Write one network; its MACs as torch counts them, and its parameters."""
    torch = import_module("torch")
    torch.manual_seed(0)
    module, inputs = NETWORKS[name]()
    module.eval()
    torch.backends.mha.set_fastpath_enabled(False)  # its fused op is neither counted nor exported
    counter = import_module("torch.utils.flop_counter").FlopCounterMode(display=False)
    with torch.no_grad(), counter:
        module(*inputs)
    path = str(folder / f"{name}.onnx")
    with torch.no_grad():
        try:
            torch.onnx.export(module, inputs, path, opset_version=OPSET, dynamo=False)
        except torch.onnx.errors.UnsupportedOperatorError:  # the older exporter does not know every operator
            torch.onnx.export(module, inputs, path, opset_version=OPSET, dynamo=True, external_data=False)
    held = {id(parameter): parameter.numel() for parameter in module.parameters()}
    return {"name": name, "macs": counter.get_total_flops() // 2, "parameters": sum(held.values())}


def main() -> None:
    warnings.simplefilter("ignore")
    folder = Path(sys.argv[1])
    # torch prints its graphs, also from C++, which no redirection of sys.stdout sees
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for name in sys.argv[2:]:
        try:
            found = export(name, folder)
        except Exception as error:  # whatever torch or a package of networks raises is the answer
            found = {"name": name, "error": f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"}
        print(json.dumps(found), file=answers, flush=True)


if __name__ == "__main__":
    main()
