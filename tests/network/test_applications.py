"""Every network of `keras.applications`: shapes, parameters and multiply-accumulates as Keras has them."""

from __future__ import annotations

import gc

import pytest

from edgeperf.network import read_network
from tests.network.keras_truth import inferred, kernel_macs, shapes_and_params, shapes_only

# Name → (smallest input that Keras takes without top, default input, further arguments by which variants differ).
_PLAIN = {
    "ConvNeXtTiny": (32, 224), "ConvNeXtSmall": (32, 224), "ConvNeXtBase": (32, 224), "ConvNeXtLarge": (32, 224),
    "ConvNeXtXLarge": (32, 224),
    "DenseNet121": (32, 224), "DenseNet169": (32, 224), "DenseNet201": (32, 224),
    "EfficientNetB0": (32, 224), "EfficientNetB1": (32, 240), "EfficientNetB2": (32, 260), "EfficientNetB3": (32, 300),
    "EfficientNetB4": (32, 380), "EfficientNetB5": (32, 456), "EfficientNetB6": (32, 528), "EfficientNetB7": (32, 600),
    "EfficientNetV2B0": (32, 224), "EfficientNetV2B1": (32, 240), "EfficientNetV2B2": (32, 260),
    "EfficientNetV2B3": (32, 300), "EfficientNetV2S": (32, 384), "EfficientNetV2M": (32, 480),
    "EfficientNetV2L": (32, 480),
    "InceptionResNetV2": (75, 299), "InceptionV3": (75, 299), "Xception": (71, 299),
    "NASNetMobile": (32, 224), "NASNetLarge": (32, 331),
    "ResNet50": (32, 224), "ResNet101": (32, 224), "ResNet152": (32, 224),
    "ResNet50V2": (32, 224), "ResNet101V2": (32, 224), "ResNet152V2": (32, 224),
    "VGG16": (32, 224), "VGG19": (32, 224),
}  # fmt: skip
_ALPHAS = {
    "MobileNet": (0.25, 0.5, 0.75, 1.0),
    "MobileNetV2": (0.35, 0.5, 0.75, 1.0, 1.3, 1.4),
    "MobileNetV3Small": (0.75, 1.0),
    "MobileNetV3Large": (0.75, 1.0),
}
_MINIMALISTIC = ("MobileNetV3Small", "MobileNetV3Large")


def _cases():
    """(name, size, with top, further arguments) at the smallest, the default and the doubled size."""
    for name, (smallest, default) in _PLAIN.items():
        for size in (smallest, default, 2 * default):
            for top in (True, False):
                yield name, size, top, {}
    for name, alphas in _ALPHAS.items():
        for alpha in alphas:
            for size in (32, 224, 448):
                for top in (True, False):
                    yield name, size, top, {"alpha": alpha}
                    if name in _MINIMALISTIC and alpha == 1.0:
                        yield name, size, top, {"minimalistic": True}


def _built(name, size, top, arguments):
    import keras

    return getattr(keras.applications, name)(weights=None, include_top=top, input_shape=(size, size, 3), **arguments)


def _check(name, size, top, arguments):
    with shapes_only():
        model = _built(name, size, top, arguments)
    network = read_network(model)
    expected = shapes_and_params(model)
    found = inferred(network)
    assert {key: found.get(key) for key in expected} == expected
    assert sum(layer.params for layer in network.layers) == model.count_params()
    assert sum(layer.macs for layer in network.layers) == kernel_macs(model)


_FAST = [
    ("MobileNet", 224, True, {"alpha": 0.25}),
    ("MobileNetV2", 32, True, {"alpha": 0.35}),
    ("MobileNetV3Small", 224, True, {}),
    ("EfficientNetB0", 64, False, {}),
    ("ResNet50V2", 448, False, {}),
    ("Xception", 71, False, {}),
    ("ConvNeXtTiny", 32, False, {}),
]


@pytest.mark.parametrize("case", _FAST, ids=str)
def test_equal_to_keras(case):
    _check(*case)


@pytest.mark.slow
@pytest.mark.parametrize("case", list(_cases()), ids=str)
def test_equal_to_keras_at_every_size(case):
    _check(*case)
    gc.collect()


@pytest.mark.parametrize("size", [96, 224])
def test_open_size_is_closed_by_input_size(size):
    import keras

    open_model = keras.applications.MobileNetV2(weights=None, include_top=False, input_shape=(None, None, 3))
    closed = keras.applications.MobileNetV2(weights=None, include_top=False, input_shape=(size, size, 3))
    expected = [shape for shape, _ in shapes_and_params(closed).values()]
    assert [layer.output_shape for layer in read_network(open_model, input_size=size).layers] == expected


def test_every_network_is_listed():
    """Fails where Keras offers a network that the slow run leaves out."""
    import keras

    offered = {name for name in dir(keras.applications) if callable(getattr(keras.applications, name))}
    assert offered == {*_PLAIN, *_ALPHAS}
