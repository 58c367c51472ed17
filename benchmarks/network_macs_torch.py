"""Multiply-accumulates of every `keras.applications` network by torch.utils.flop_counter, against edgeperf's.

Runs Keras on its PyTorch backend on the meta device, where operators have shapes and no work, so that the whole set
takes minutes on one core. Needs torch, which the project does not install: run it in an environment with torch, keras
and edgeperf's sources on the path. Writes results/network_macs.json.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

os.environ["KERAS_BACKEND"] = "torch"

import keras
import torch
from torch.utils.flop_counter import FlopCounterMode

from edgeperf.network import read_network

# Keras refuses them on this backend: they pad unevenly where PyTorch cannot.
NOT_ON_TORCH = ("NASNetLarge", "NASNetMobile")
RESULTS = Path(__file__).parent / "results"


def cases() -> list[tuple[str, dict[str, object]]]:
    """Every network, at every width multiplier that Keras offers."""
    found: list[tuple[str, dict[str, object]]] = []
    widths = {
        "MobileNet": (0.25, 0.5, 0.75, 1.0),
        "MobileNetV2": (0.35, 0.5, 0.75, 1.0, 1.3, 1.4),
        "MobileNetV3Small": (0.75, 1.0),
        "MobileNetV3Large": (0.75, 1.0),
    }
    for name in dir(keras.applications):
        if callable(getattr(keras.applications, name)) and name not in NOT_ON_TORCH:
            found += [(name, {"alpha": width}) for width in widths[name]] if name in widths else [(name, {})]
    return found


def counted(name: str, arguments: dict[str, object]) -> tuple[int, int]:
    """Multiply-accumulates by PyTorch and by edgeperf at 224 x 224 pixels."""
    with keras.device("meta"):
        model = getattr(keras.applications, name)(weights=None, input_shape=(224, 224, 3), **arguments)
        with FlopCounterMode(display=False) as counter, torch.no_grad():
            model(torch.zeros(1, 224, 224, 3, device="meta"))
    ours = sum(layer.macs for layer in read_network(model).layers)
    return counter.get_total_flops() // 2, ours


def main() -> None:
    """Counts all and writes the table."""
    rows = []
    for name, arguments in cases():
        torch_macs, ours = counted(name, arguments)
        rows.append({"network": name, **arguments, "torch_macs": torch_macs, "edgeperf_macs": ours})
        print(rows[-1], "equal" if torch_macs == ours else "DIFFERENT", flush=True)
        keras.backend.clear_session()
    result = {
        "about": __doc__,
        "torch": torch.__version__,
        "keras": keras.__version__,
        "input": [224, 224, 3],
        "networks": rows,
    }
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "network_macs.json").write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
