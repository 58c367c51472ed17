"""Writes the ONNX files beside it, and expected.json with what PyTorch counts; needs torch 2.13, onnx and onnxscript.

Run by hand, with `python tests/network/exports/export.py`; the tests read what it wrote and need no PyTorch.
"""

from __future__ import annotations

import json
from pathlib import Path

import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

HERE = Path(__file__).parent


class Squeeze(nn.Module):
    """Squeeze and excitation."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.down, self.up = nn.Conv2d(channels, 4, 1), nn.Conv2d(4, channels, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * torch.sigmoid(self.up(torch.relu(self.down(self.pool(x)))))


class Convolutional(nn.Module):
    """Grouped, dilated, depthwise and transposed convolutions, channel shuffle, odd pooling."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1, bias=False), nn.BatchNorm2d(8), nn.Hardswish())
        self.depthwise = nn.Conv2d(8, 8, 5, 1, 2, groups=8)
        self.grouped = nn.Conv2d(8, 16, 3, 1, 2, dilation=2, groups=4)
        self.squeeze = Squeeze(16)
        self.pool = nn.MaxPool2d(3, 2, 1, ceil_mode=True)
        self.up = nn.ConvTranspose2d(16, 12, 3, 2, 1, 1)
        self.slope, self.average = nn.PReLU(12), nn.AvgPool2d(2)
        self.larger = nn.Upsample(scale_factor=2, mode="bilinear")
        self.head = nn.Linear(12, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.pool(self.squeeze(self.grouped(self.depthwise(self.stem(x)))))
        x = self.average(self.larger(self.slope(self.up(x))))
        batch, channels, height, width = x.shape
        first, second = torch.chunk(x, 2, 1)
        x = torch.cat([second, first], 1)
        x = x.view(batch, 2, channels // 2, height, width).transpose(1, 2).reshape(batch, channels, height, width)
        return torch.softmax(self.head(torch.flatten(nn.functional.adaptive_avg_pool2d(x, 1), 1)), -1)


class Transformer(nn.Module):
    """Patches, one block of attention, a multilayer perceptron."""

    def __init__(self) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, 16, 8, 8)
        self.norm, self.attention = nn.LayerNorm(16), nn.MultiheadAttention(16, 4, batch_first=True)
        self.widen, self.narrow, self.head = nn.Linear(16, 32), nn.Linear(32, 16), nn.Linear(16, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        tokens = self.patches(x).flatten(2).transpose(1, 2)
        normal = self.norm(tokens)
        tokens = tokens + self.attention(normal, normal, normal, need_weights=False)[0]
        tokens = tokens + self.narrow(nn.functional.gelu(self.widen(tokens)))
        return self.head(tokens.mean(1))


def counted(model: nn.Module, image: torch.Tensor) -> int:
    """Multiply-accumulates by PyTorch's counter; on a CPU it leaves out attention, which follows by formula."""
    with FlopCounterMode(display=False) as counter:
        model(image)
    tokens = 16
    products = 2 * tokens * tokens * 16 if isinstance(model, Transformer) else 0
    return counter.get_total_flops() // 2 + products


def main() -> None:
    """Exports both models at several opsets, by both of PyTorch's exporters."""
    image = torch.zeros(1, 3, 32, 32)
    expected = {}
    for model, opsets in ((Convolutional(), (11, 13, 17, 20)), (Transformer(), (14, 17, 20))):
        model.eval()
        for opset, dynamo in [(opset, False) for opset in opsets] + [(18, True), (20, True)]:
            name = f"{type(model).__name__.lower()}_{opset}{'_dynamo' if dynamo else ''}.onnx"
            torch.onnx.export(
                model, (image,), HERE / name, opset_version=opset, dynamo=dynamo, external_data=False, verbose=False
            )
            expected[name] = {
                "macs": counted(model, image),
                "params": sum(weight.numel() for weight in model.parameters()),
                "input_shape": [32, 32, 3],
                "output_shape": [10],
            }
    (HERE / "expected.json").write_text(json.dumps(expected, indent=1) + "\n")


if __name__ == "__main__":
    main()
