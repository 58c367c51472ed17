"""The operation measurements of Nicolai's thesis → an operation table.

Operations are PyTorch modules in their printed form, inputs are (batch, channels, height, width) at batch size 32.

Two things to know about these data. The modules ran in their default (training) mode even in the inference loops: batch
normalisation takes its statistics from the batch, and stochastic depth drops. And the power of the RTX 2080 Ti has two
regimes, some 230 W and some 130 W, by day of measurement; `regime` tells them apart and they are never pooled.

Reference: C. Nicolai, On energy modeling of deep neural network operations, MSc thesis, Heidelberg University, 2025.
"""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from edgeperf.errors import InvalidInput
from edgeperf.layerwise.operations import Operation, operation_table
from edgeperf.records import Shape

if TYPE_CHECKING:
    import pandas as pd

_KINDS = {
    "AdaptiveAvgPool2d": "GlobalAveragePooling2D",
    "AvgPool2d": "AveragePooling2D",
    "BatchNorm2d": "BatchNormalization",
    "Conv2d": "Conv2D",
    "GELU": "gelu",
    "LayerNorm": "LayerNormalization",
    "Linear": "Dense",
    "MaxPool2d": "MaxPooling2D",
    "ReLU": "relu",
    "SiLU": "swish",
    "Sigmoid": "sigmoid",
    "StochasticDepth": "FixedDropout",
}
_CHANNELS_LAST = frozenset({"GELU", "LayerNorm", "Linear"})
_HELD_OUT = "_valset"
_HIGH_POWER_RUNS = frozenset({"2024-11-10", "2025-02-17", "2025-02-12"})


def read_nicolai(folder: Path) -> pd.DataFrame:
    """Every measured operation of every run.

    Columns beside those of an operation: `device`, `regime` (``"low"``, ``"high"``, or ``"only"`` for the A30),
    `phase`, `run`, `module`, `shape`, `latency_ms`, `power_mw`, `energy_mj`, and `forward_ms`: the forward loop, which
    training runs measured beside the step.
    """
    import pandas as pd

    raw = pd.read_csv(folder / "ops.csv.gz")
    operations = [parse_torch(module, _sizes(shape)) for module, shape in zip(raw["op"], raw["shape"], strict=True)]
    table = operation_table(operations)
    table[["device", "phase", "run", "shape"]] = raw[["device", "phase", "run", "shape"]]
    table["module"] = raw["op"]
    high = raw["run"].isin(_HIGH_POWER_RUNS)
    table["regime"] = [
        "only" if not _two_regimes(d) else "high" if h else "low" for d, h in zip(raw["device"], high, strict=True)
    ]
    step = raw["phase"] == "training"
    for column, label, scale in (
        ("time_s", "latency_ms", 1e3),
        ("power_W", "power_mw", 1e3),
        ("energy_mJ", "energy_mj", 1.0),
    ):
        table[label] = scale * raw[column].where(~step, raw[f"train_{column}"])
    table["forward_ms"] = 1e3 * raw["time_s"]
    return table


def read_nicolai_networks(folder: Path) -> pd.DataFrame:
    """Every measured network: `device`, `regime`, `phase`, `run`, `network`, `input_size` and the labels of one pass.

    The runs that repeat the author's final files are left out: they hold the same measurements once more. `held_out`
    marks the networks that the author kept from his models (device ``"A30_tc_valset"``, the A30 with tensor cores).
    """
    import pandas as pd

    raw = pd.read_csv(folder / "models.csv")
    raw = raw[raw["run"] != "final_fullmodel_file"].reset_index(drop=True)
    high = raw["run"].isin(_HIGH_POWER_RUNS)
    return pd.DataFrame(
        {
            "device": raw["device"].str.removesuffix(_HELD_OUT),
            "held_out": raw["device"].str.endswith(_HELD_OUT),
            "regime": [
                "only" if not _two_regimes(d) else "high" if h else "low"
                for d, h in zip(raw["device"], high, strict=True)
            ],
            "phase": raw["phase"],
            "run": raw["run"],
            "network": raw["model"],
            "input_size": [_sizes(shape)[-1] for shape in raw["shape"]],
            "batch_size": [_sizes(shape)[0] for shape in raw["shape"]],
            "latency_ms": 1e3 * raw["time_s"],
            "power_mw": 1e3 * raw["power_W"],
            "energy_mj": raw["energy_mJ"],
        }
    )


@lru_cache(maxsize=8192)
def parse_torch(module: str, shape: Shape) -> Operation:
    """The operation of a printed PyTorch module and its input's shape, batch first.

    >>> parse_torch("Linear(in_features=512, out_features=1000, bias=True)", (32, 512)).macs
    16384000

    Raises:
        InvalidInput: the module is of a kind that these tables do not hold.
    """
    name = module.partition("(")[0]
    if name not in _KINDS:
        raise InvalidInput(f"{module!r} is no known module; known ones: {', '.join(_KINDS)}.")
    batch, (height, width, channels) = shape[0], _image(shape, last=name in _CHANNELS_LAST)
    kernel, stride, pad, dilation = _window(module, name)
    out_height, out_width = _outputs(module, (height, width), kernel, stride, pad, dilation)
    if name == "AdaptiveAvgPool2d" and (out_height, out_width) == (1, 1):
        kernel = stride = (height, width)  # the pooling of a whole image has it as its window
    groups, out_channels, weights, per_pixel = _weights(module, name, channels, kernel)
    pixels = batch * out_height * out_width
    return Operation(
        kind=_kind(module, name, channels, groups, (out_height, out_width)),
        batch_size=batch,
        in_height=height,
        in_width=width,
        in_channels=channels,
        out_height=out_height,
        out_width=out_width,
        out_channels=out_channels,
        kernel_height=kernel[0],
        kernel_width=kernel[1],
        stride=stride[0],
        dilation=dilation,
        pad_height=_reach(out_height, kernel[0], stride[0], height, pad[0], dilation),
        pad_width=_reach(out_width, kernel[1], stride[1], width, pad[1], dilation),
        groups=groups,
        input_elements=batch * height * width * channels,
        output_elements=pixels * out_channels,
        weights=weights,
        macs=pixels * per_pixel,
    )


def _two_regimes(device: str) -> bool:
    return device.startswith("RTX")


def _sizes(text: str) -> Shape:
    return tuple(int(size) for size in text.split("x"))


def _image(shape: Shape, *, last: bool) -> tuple[int, int, int]:
    """(height, width, channels) of a shape with the batch first; `last`: channels are the last axis."""
    if len(shape) == 4:
        return (shape[1], shape[2], shape[3]) if last else (shape[2], shape[3], shape[1])
    return (shape[1], 1, shape[2]) if len(shape) == 3 else (1, 1, shape[1])


def _two(module: str, key: str, default: tuple[int, int]) -> tuple[int, int]:
    found = re.search(rf"{key}=\(?(\d+)(?:, (\d+))?", module)
    return (int(found[1]), int(found[2] or found[1])) if found else default


def _window(module: str, name: str) -> tuple[tuple[int, int], tuple[int, int], tuple[int, int], int]:
    """Kernel, stride, padding per side, dilation; zeros where there is no window."""
    if name not in ("Conv2d", "MaxPool2d", "AvgPool2d"):
        return (0, 0), (0, 0), (0, 0), 0
    kernel = _two(module, "kernel_size", (0, 0))
    return kernel, _two(module, "stride", kernel), _two(module, "padding", (0, 0)), _two(module, "dilation", (1, 1))[0]


def _outputs(
    module: str,
    size: tuple[int, int],
    kernel: tuple[int, int],
    stride: tuple[int, int],
    pad: tuple[int, int],
    dilation: int,
) -> tuple[int, int]:
    if module.startswith("AdaptiveAvgPool2d"):
        return _two(module, "output_size", (1, 1))
    if not kernel[0]:
        return size
    up = "ceil_mode=True" in module
    spans = (size[i] + 2 * pad[i] - dilation * (kernel[i] - 1) - 1 for i in range(2))
    height, width = (-(-span // step) + 1 if up else span // step + 1 for span, step in zip(spans, stride, strict=True))
    return height, width


def _reach(out: int, kernel: int, stride: int, size: int, pad: int, dilation: int) -> int:
    """Padding in all; where sizes are rounded up, the last window reaches over the edge."""
    return max(2 * pad, (out - 1) * stride + dilation * (kernel - 1) + 1 - size)


def _weights(module: str, name: str, channels: int, kernel: tuple[int, int]) -> tuple[int, int, int, int]:
    """Groups, output channels, weights, multiply-accumulates per output pixel."""
    if name == "Conv2d":
        groups, out = _two(module, "groups", (1, 1))[0], int(module.split(", ")[1])
        filters = kernel[0] * kernel[1] * channels // groups * out
        return groups, out, filters + (0 if "bias=False" in module else out), filters
    if name == "Linear":
        out = _two(module, "out_features", (0, 0))[0]
        return 1, out, channels * out + (0 if "bias=False" in module else out), channels * out
    per_channel = {"BatchNorm2d": 4, "LayerNorm": 2}.get(name, 0)
    return 1, channels, per_channel * channels, 0


def _kind(module: str, name: str, channels: int, groups: int, out: tuple[int, int]) -> str:
    if name == "Conv2d" and groups == channels > 1:
        return "DepthwiseConv2D"
    if name == "AdaptiveAvgPool2d" and out != (1, 1):
        return "AdaptiveAveragePooling2D"
    if "StochasticDepth(p=0.0," in module:
        return "Identity"
    return _KINDS[name]
