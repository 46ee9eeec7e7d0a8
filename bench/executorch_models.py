"""Networks for ``bench.executorch``, weights from a fixed seed: published ones, and small ones with branches.

Each entry makes a module and its inputs. Inputs of published networks are smaller than usual, as ExecuTorch's
portable kernels are slow; that changes the bytes of tensors, not which of them live together.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import torch
import torchvision
from torch import nn
from torch._higher_order_ops.map import map as torch_map
from torch._higher_order_ops.scan import scan

Made = tuple[nn.Module, tuple[torch.Tensor, ...]]


def image(size: int) -> tuple[torch.Tensor, ...]:
    return (torch.rand(1, 3, size, size),)


def published(name: str, size: int) -> Callable[[], Made]:
    return lambda: (getattr(torchvision.models, name)(weights=None).eval(), image(size))


class UNet(nn.Module):
    """Three levels with skip connections, which live long."""

    def __init__(self) -> None:
        super().__init__()
        widths = (3, 8, 16, 32)
        self.down = nn.ModuleList(nn.Conv2d(a, b, 3, padding=1) for a, b in pairwise(widths))
        self.middle = nn.Conv2d(32, 64, 3, padding=1)
        self.up = nn.ModuleList(nn.Conv2d(a + b, b, 3, padding=1) for a, b in ((64, 32), (32, 16), (16, 8)))
        self.last = nn.Conv2d(8, 1, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        skips = []
        for layer in self.down:
            x = layer(x).relu()
            skips.append(x)
            x = nn.functional.max_pool2d(x, 2)
        x = self.middle(x).relu()
        for layer, skip in zip(self.up, reversed(skips), strict=True):
            x = nn.functional.interpolate(x, scale_factor=2.0)
            x = layer(torch.cat((x, skip), 1)).relu()
        return self.last(x)


class Counted(nn.Module):
    """A running mean in a buffer that each run changes."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(1, 64))
        self.layers = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 64))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.layers(x - self.mean)
        self.mean.mul_(0.9).add_(0.1 * x)
        return y + self.mean


class Gated(nn.Module):
    """A network that runs its large half only for some inputs."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, 16, 3, padding=1)
        self.large = nn.Sequential(
            nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 16, 3, padding=1)
        )
        self.small = nn.Conv2d(16, 16, 1)
        self.last = nn.Linear(16, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.first(x).relu()
        y = torch.cond(x.mean() > 0.2, lambda x: self.large(x), lambda x: self.small(x), (x,))
        return self.last((x + y).mean((2, 3)))


class TwoBranches(nn.Module):
    """Two branches one after the other, both results used in the end."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        a = torch.cond(x.sum() > 0, lambda x: x.sin() * 2, lambda x: x - 1, (x,))
        b = torch.cond(x.sum() > 1e6, lambda x: x * 3, lambda x: (x - 7).cos(), (x,))
        return a + b


class ViewedBranch(nn.Module):
    """A branch whose result is read in another shape."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        a = torch.cond(x.sum() > 0, lambda x: x * 2, lambda x: x - 1, (x,))
        return a.reshape(-1, 32) + 1


class NestedBranches(nn.Module):
    """Branches within branches, with two results each."""

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
        def larger(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
            z = torch.cond(y.sum() > 40, lambda x: x.tanh() * 2, lambda x: x - 3, (x,))
            return z + 1, x * y

        def smaller(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
            return x - y, x * 3

        a, b = torch.cond(x.sum() > 0, larger, smaller, (x, y))
        c, d = torch.cond(y.sum() > 1e6, larger, smaller, (a, b))
        return a.reshape(-1) + c.reshape(-1), b, d


class Mapped(nn.Module):
    """A function over the rows of a tensor, which also reads one from outside in another shape."""

    def forward(self, rows: torch.Tensor, weights: torch.Tensor) -> tuple[torch.Tensor, ...]:
        found = torch_map(lambda row, w: (row * w.reshape(-1)).sin() + row, rows, weights)
        return found * 2, (found * 3).tanh()


class MappedBranches(nn.Module):
    """A branch within a loop over rows."""

    def forward(self, rows: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
        def body(row: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
            row = row * 2
            return torch.cond(row.sum() > 0, lambda r, s: r * s, lambda r, s: r - s, (row, scale)) + row

        return torch_map(body, rows, scale) + 1


class Scanned(nn.Module):
    """A recurrent cell over the rows of a tensor."""

    def forward(self, rows: torch.Tensor, state: torch.Tensor) -> tuple[torch.Tensor, ...]:
        def step(state: torch.Tensor, row: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            following = torch.tanh(state + row)
            return following, following * 2

        state, found = scan(step, state, rows)
        return state + 1, found


def bert() -> Made:
    from transformers import BertConfig, BertModel

    class Encoder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            config = BertConfig(
                vocab_size=1000,
                hidden_size=128,
                num_hidden_layers=2,
                num_attention_heads=2,
                intermediate_size=512,
                attn_implementation="eager",
            )
            self.inner = BertModel(config)

        def forward(self, tokens: torch.Tensor) -> torch.Tensor:
            return self.inner(tokens).last_hidden_state

    return Encoder().eval(), (torch.randint(0, 1000, (1, 32)),)


def transformer() -> Made:
    layer = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True)
    return nn.TransformerEncoder(layer, 3, enable_nested_tensor=False).eval(), (torch.rand(1, 48, 64),)


def of(made: type[nn.Module], *shapes: tuple[int, ...]) -> Callable[[], Made]:
    return lambda: (made().eval(), tuple(torch.randn(shape) for shape in shapes))


MODELS: dict[str, Callable[[], Made]] = {
    "mobilenet_v2": published("mobilenet_v2", 64),
    "mobilenet_v3_small": published("mobilenet_v3_small", 64),
    "resnet18": published("resnet18", 64),
    "squeezenet1_1": published("squeezenet1_1", 64),
    "shufflenet_v2_x0_5": published("shufflenet_v2_x0_5", 64),
    "efficientnet_b0": published("efficientnet_b0", 64),
    "densenet121": published("densenet121", 32),
    "unet": of(UNet, (1, 3, 64, 64)),
    "transformer": transformer,
    "bert": bert,
    "buffer": of(Counted, (1, 64)),
    "cond": of(Gated, (1, 3, 32, 32)),
    "cond twice": of(TwoBranches, (16, 64)),
    "cond viewed": of(ViewedBranch, (16, 64)),
    "cond nested": of(NestedBranches, (16, 64), (16, 64)),
    "map": of(Mapped, (8, 48), (6, 8)),
    "map of cond": of(MappedBranches, (8, 48), (48,)),
    "scan": of(Scanned, (8, 48), (48,)),
}
