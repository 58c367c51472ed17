"""Which operations are measured, and that what is built to be measured is what the row says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from edgeperf.layerwise.operations import operation
from edgeperf.layerwise.sampling import can_stand_alone, sample
from edgeperf.layerwise.singles import single, single_network
from edgeperf.layerwise.workloads import EAGER, workloads
from edgeperf.profilers.items import expand
from tests.layerwise.networks import network_of

Build = Callable[[Any, Any], Any]


@pytest.mark.parametrize(
    "family", ["densenet", "efficientnet", "inception-v3", "mobilenet-v3", "senet", "shufflenet-v1", "xception"]
)
def test_what_is_built_of_a_family_is_what_the_row_says(family: str) -> None:
    networks = [item.load()[0] for item in expand([f"zoo:{family}"], ())][:3]
    alone = [op for op in workloads(networks, batch_size=2, fusion=EAGER) if can_stand_alone(op)]
    assert {"Conv2D", "BatchNormalization"} <= {op.kind for op in alone}
    for op in alone:
        assert workloads([single_network(op)], batch_size=2) == {op: 1}


@pytest.mark.parametrize(
    "build",
    [
        pytest.param(lambda n, x: n.Concatenate()([x, n.Conv2D(3, 1)(x), n.Conv2D(6, 1)(x)]), id="unequal parts"),
        pytest.param(lambda n, x: n.Multiply()([x, n.GlobalAveragePooling2D(keepdims=True)(x)]), id="gate last"),
        pytest.param(lambda n, x: n.Multiply()([n.GlobalAveragePooling2D(keepdims=True)(x), x]), id="gate first"),
        pytest.param(lambda n, x: n.Add()([x, x, n.Conv2D(16, 1)(x)]), id="three terms"),
        pytest.param(lambda n, x: n.DepthwiseConv2D(3, depth_multiplier=2)(x), id="depth multiplier"),
        pytest.param(lambda n, x: n.BatchNormalization(scale=False)(x), id="no factor"),
        pytest.param(lambda n, x: n.BatchNormalization(scale=False, center=False)(x), id="statistics alone"),
    ],
)
def test_an_operation_is_built_with_its_own_sizes_by_us_and_by_keras(build: Build) -> None:
    keras_layers = pytest.importorskip("keras").layers
    last = network_of(build).layers[-1]
    op = operation(last, 2)
    assert can_stand_alone(op)
    model = single(_Keras(keras_layers), op)
    shapes = [tuple(tensor.shape[1:]) for tensor in model.inputs]
    assert 2 * sum(_elements(shape) for shape in shapes) == op.input_elements
    assert 2 * _elements(model.output.shape[1:]) == op.output_elements
    assert model.count_params() == op.weights


@pytest.mark.parametrize(
    "build",
    [
        pytest.param(lambda n, x: n.Conv2D(4, 3, strides=(2, 1))(x), id="unequal strides"),
        pytest.param(lambda n, x: n.Conv2D(4, 3, dilation_rate=(2, 1))(x), id="unequal dilation"),
        pytest.param(lambda n, x: n.MaxPooling2D(2, strides=(2, 1))(x), id="unequal pooling"),
        pytest.param(lambda n, x: n.Concatenate(axis=1)([x, x]), id="another axis"),
    ],
)
def test_what_an_operation_does_not_say_is_not_measured_as_something_else(build: Build) -> None:
    assert not can_stand_alone(operation(network_of(build).layers[-1], 2))


@pytest.mark.parametrize("count", [20, 600])
def test_a_small_network_leaves_enough_to_draw(count: int) -> None:
    small = network_of(lambda n, x: n.Dense(10)(n.GlobalAveragePooling2D()(n.Conv2D(8, 3)(x))))
    found = sample([small], count, batch_size=1, fusion=EAGER, seed=0)
    assert len(set(found)) == count


class _Keras:
    """Keras' layers and its model, as `single` reads them."""

    def __init__(self, layers: Any) -> None:
        self._layers = layers

    def __getattr__(self, name: str) -> Any:
        import keras

        return keras.Model if name == "Model" else getattr(self._layers, name)


def _elements(shape: Any) -> int:
    count = 1
    for size in shape:
        count *= int(size)
    return count
