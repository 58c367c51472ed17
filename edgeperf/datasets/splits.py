"""Model names → families; rows → those whose network stands on both sides of a split.

Limits: the family of a network is read off its name; a table with a `family` column of its own keeps that.
"""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from edgeperf.datasets.schema import TRAIN

SYNTHETIC = "synthetic"

_FAMILIES: tuple[tuple[str, str], ...] = (
    (r"^basic", SYNTHETIC),
    (r"^mobilenet.*v1(?!\d)", "MobileNet-v1"),
    (r"^mobilenet.*v2(?!\d)", "MobileNet-v2"),
    (r"^mobilenet.*v3(?!\d)", "MobileNet-v3"),
    (r"^resnet.*v2(?!\d)", "ResNetV2"),
    (r"^resnet", "ResNet"),
    (r"^resnext", "ResNeXt"),
    (r"^seresnext", "SEResNeXt"),
    (r"^seresnet", "SEResNet"),
    (r"^shufflenet.*v1(?!\d)", "ShuffleNet-v1"),
    (r"^shufflenet.*v2(?!\d)", "ShuffleNet-v2"),
    (r"^(inception|googlenet)", "Inception"),
    (r"^(mnasnet|densenet|dpn|efficientnet|xception|nasnet|vgg|alexnet|squeezenet|convnet)", ""),
)
_DISPLAY = {
    "mnasnet": "MNASNet",
    "densenet": "DenseNet",
    "dpn": "DPN",
    "efficientnet": "EfficientNet",
    "xception": "Xception",
    "nasnet": "NASNet",
    "vgg": "VGG",
    "alexnet": "AlexNet",
    "squeezenet": "SqueezeNet",
    "convnet": "ConvNet",
}


def family_of(model: str) -> str:
    """The family that a model name belongs to; the name up to its first digit where none is known.

    >>> family_of("MobileNet-large1.0-v3"), family_of("ResNet-50V2"), family_of("basic_model_224_38")
    ('MobileNet-v3', 'ResNetV2', 'synthetic')
    >>> family_of("EfficientNet-B0"), family_of("mynet_3")
    ('EfficientNet', 'mynet')
    >>> family_of("MobileNet v1 0.25"), family_of("mobilenet-v2_width-0.5_size-224")
    ('MobileNet-v1', 'MobileNet-v2')
    """
    for pattern, family in _FAMILIES:
        found = re.match(pattern, model, re.IGNORECASE)
        if found:
            return family or _DISPLAY[found.group(1).lower()]
    return re.split(r"[\d]", model, maxsplit=1)[0].rstrip("-_ ") or model


def repeated_in_training(rows: pd.DataFrame) -> NDArray[np.bool_]:
    """True for test rows whose network was also measured, for the same metric and device, in the training rows."""
    key = rows["device"].astype(str) + "|" + rows["metric"].astype(str) + "|" + rows["network"].astype(str)
    training = set(key[rows["split"] == TRAIN])
    return np.asarray((rows["split"] != TRAIN) & key.isin(training), dtype=bool)
