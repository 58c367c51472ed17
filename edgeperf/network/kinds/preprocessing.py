"""Preprocessing that models carry along, and augmentation that vanishes at inference."""

from __future__ import annotations

from edgeperf.network.kinds.reshaping import INTERPOLATION_COUNTS, interpolation_flops
from edgeperf.network.kinds.spec import REQUIRED, Call, Kind, Shapes, elements, same_shape


def _sized(call: Call) -> Shapes:
    call.spatial(2)
    return (call.image((call.integer("height", least=1), call.integer("width", least=1)), call.channels),)


def _normalization_params(call: Call) -> int:
    """Mean and variance per kept axis and an adaptation counter, as Keras holds them, unless given as constants."""
    if call.config["mean"] is not None:
        return 0
    axis = call.config["axis"]
    kept = () if axis is None else call.axes("axis")
    return 2 * elements(tuple(call.input[each] for each in kept)) + 1


_AUGMENTATIONS = (
    "AugMix",
    "CutMix",
    "MixUp",
    "RandAugment",
    "RandomBrightness",
    "RandomColorDegeneration",
    "RandomColorJitter",
    "RandomContrast",
    "RandomElasticTransform",
    "RandomErasing",
    "RandomFlip",
    "RandomGaussianBlur",
    "RandomGrayscale",
    "RandomHeight",
    "RandomHue",
    "RandomInvert",
    "RandomPerspective",
    "RandomPosterization",
    "RandomRotation",
    "RandomSaturation",
    "RandomSharpness",
    "RandomShear",
    "RandomTranslation",
    "RandomWidth",
    "RandomZoom",
)

PREPROCESSING: dict[str, Kind] = {
    "Rescaling": Kind(
        parameters={"scale": REQUIRED, "offset": 0.0},
        shape=same_shape,
        flops=lambda call: 2 * elements(call.output),
        counts="2 per element",
    ),
    "Normalization": Kind(
        parameters={"axis": -1, "mean": None, "variance": None, "invert": False},
        shape=same_shape,
        params=_normalization_params,
        flops=lambda call: 2 * elements(call.output),
        counts="2 per element",
    ),
    "Resizing": Kind(
        parameters={"height": REQUIRED, "width": REQUIRED, "interpolation": "bilinear", "data_format": None},
        shape=_sized,
        flops=interpolation_flops,
        counts=INTERPOLATION_COUNTS,
    ),
    **dict.fromkeys(_AUGMENTATIONS, Kind(shape=same_shape, vanishes=True)),
    # At inference it crops the centre, and enlarges first what is too small.
    "RandomCrop": Kind(parameters={"height": REQUIRED, "width": REQUIRED, "data_format": None}, shape=_sized),
    "CenterCrop": Kind(parameters={"height": REQUIRED, "width": REQUIRED, "data_format": None}, shape=_sized),
}
