"""Draws of Hypothesis → valid Keras models: branches, shared and nested layers, odd sizes, both paddings.

Models are built in the test, not in a strategy, since Keras calls `random` while it builds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

Draw = Callable[..., Any]


def _window(draw: Draw, image: Any) -> dict[str, Any]:
    """Kernel, stride, padding and dilation that fit an image; Keras takes no stride together with a dilation."""
    padding = draw(st.sampled_from(["same", "valid"]))
    largest = min(image.shape[1:3]) if padding == "valid" else 7
    kernel = tuple(draw(st.integers(1, max(1, min(5, largest)))) for _ in range(2))
    dilation = draw(st.sampled_from([1, 1, 2]))
    if padding == "valid" and any((size - 1) * dilation + 1 > largest for size in kernel):
        dilation = 1
    strides = draw(st.integers(1, 3)) if dilation == 1 else 1
    return {"kernel_size": kernel, "strides": strides, "padding": padding, "dilation_rate": dilation}


def _conv(draw: Draw, keras: Any, image: Any) -> Any:
    channels = image.shape[-1]
    groups = draw(st.sampled_from([each for each in (1, 1, 2, 3) if channels % each == 0]))
    filters = groups * draw(st.integers(1, 6))
    activation = draw(st.sampled_from([None, "relu", "silu"]))
    return keras.layers.Conv2D(
        filters, groups=groups, activation=activation, use_bias=draw(st.booleans()), **_window(draw, image)
    )(image)


def _depthwise(draw: Draw, keras: Any, image: Any) -> Any:
    multiplier = draw(st.integers(1, 3))
    return keras.layers.DepthwiseConv2D(
        depth_multiplier=multiplier, use_bias=draw(st.booleans()), **_window(draw, image)
    )(image)


def _separable(draw: Draw, keras: Any, image: Any) -> Any:
    return keras.layers.SeparableConv2D(
        draw(st.integers(1, 6)), depth_multiplier=draw(st.integers(1, 2)), use_bias=draw(st.booleans()),
        **_window(draw, image),
    )(image)  # fmt: skip


def _transposed(draw: Draw, keras: Any, image: Any) -> Any:
    return keras.layers.Conv2DTranspose(
        draw(st.integers(1, 4)),
        draw(st.integers(1, 4)),
        strides=draw(st.integers(1, 2)),
        padding=draw(st.sampled_from(["same", "valid"])),
    )(image)


def _pool(draw: Draw, keras: Any, image: Any) -> Any:
    layer = draw(st.sampled_from([keras.layers.MaxPooling2D, keras.layers.AveragePooling2D]))
    padding = draw(st.sampled_from(["same", "valid"]))
    size = draw(st.integers(1, min(3, *image.shape[1:3])))
    return layer(size, strides=draw(st.sampled_from([None, 1, 2])), padding=padding)(image)


def _plain(draw: Draw, keras: Any, image: Any) -> Any:
    layers = keras.layers
    makers = [
        layers.BatchNormalization,
        lambda: layers.BatchNormalization(center=False),
        lambda: layers.BatchNormalization(scale=False),
        layers.LayerNormalization,
        lambda: layers.GroupNormalization(groups=-1),
        layers.RMSNormalization,
        layers.UnitNormalization,
        layers.ReLU,
        layers.LeakyReLU,
        layers.PReLU,
        lambda: layers.PReLU(shared_axes=[1, 2]),
        layers.ELU,
        layers.Softmax,
        lambda: layers.Activation("gelu"),
        lambda: layers.Dropout(0.2),
        lambda: layers.SpatialDropout2D(0.2),
        lambda: layers.GaussianNoise(0.1),
        lambda: layers.Rescaling(1 / 255),
        lambda: layers.UpSampling2D((2, 1)),
        lambda: layers.ZeroPadding2D(((1, 0), (2, 3))),
        lambda: layers.Resizing(9, 7),
        lambda: layers.CenterCrop(3, 3),
        lambda: layers.RandomFlip(),
        lambda: layers.Permute((2, 1, 3)),
    ]
    return draw(st.sampled_from(makers))()(image)


def _crop(draw: Draw, keras: Any, image: Any) -> Any:
    height, width = image.shape[1:3]
    top, left = draw(st.integers(0, (height - 1) // 2)), draw(st.integers(0, (width - 1) // 2))
    return keras.layers.Cropping2D(((top, 0), (0, left)))(image)


def _squeeze_excite(draw: Draw, keras: Any, image: Any) -> Any:
    layers, channels = keras.layers, image.shape[-1]
    kept = draw(st.booleans())
    gate = layers.GlobalAveragePooling2D(keepdims=kept)(image)
    if not kept:
        gate = layers.Reshape((1, 1, channels))(gate)
    gate = layers.Conv2D(max(channels // 2, 1), 1, activation="relu")(gate)
    gate = layers.Dense(channels, activation="sigmoid")(gate)
    return layers.Multiply()([image, gate])


def _operation(draw: Draw, keras: Any, image: Any) -> Any:
    ops = keras.ops
    functions = [
        lambda x: x * 2.0 + 1.0,
        ops.relu,
        lambda x: ops.mean(x, axis=[1, 2], keepdims=True) * x,
        lambda x: x[:, 1:] if x.shape[1] > 1 else x,
        lambda x: x[..., :1],
        lambda x: ops.concatenate([x, x], axis=-1),
        lambda x: ops.transpose(x, (0, 2, 1, 3)),
        lambda x: ops.pad(x, [[0, 0], [1, 2], [0, 1], [0, 0]]),
        lambda x: ops.maximum(x, 0.5 * x),
        lambda x: ops.split(x, [1], axis=1)[0] if x.shape[1] > 1 else x,
    ]
    return draw(st.sampled_from(functions))(image)


def _nested(draw: Draw, keras: Any, image: Any) -> Any:
    layers, channels = keras.layers, image.shape[-1]
    inner = keras.Sequential([layers.Conv2D(channels, 3, padding="same"), layers.BatchNormalization(), layers.ReLU()])
    result = inner(image)
    return inner(result) if draw(st.booleans()) else result


def _shared(draw: Draw, keras: Any, image: Any) -> Any:
    layers, channels = keras.layers, image.shape[-1]
    shared = layers.Conv2D(channels, draw(st.integers(1, 3)), padding="same")
    return layers.Add()([shared(image), shared(layers.ReLU()(image)), image])


_STEPS = (
    _conv, _conv, _depthwise, _separable, _transposed, _pool, _plain, _plain, _crop, _squeeze_excite, _operation,
    _nested, _shared,
)  # fmt: skip


def _joined(draw: Draw, keras: Any, images: list[Any]) -> Any:
    """Two branches joined, by sum where shapes agree, along channels where only they differ; else the last branch."""
    first, last = draw(st.sampled_from(images)), images[-1]
    if first.shape == last.shape:
        merge = draw(
            st.sampled_from([keras.layers.Add, keras.layers.Average, keras.layers.Maximum, keras.layers.Multiply])
        )
        return merge()([first, last])
    if first.shape[:3] == last.shape[:3]:
        return keras.layers.Concatenate()([first, last])
    return last


def random_model(draw: Draw) -> Any:
    """A functional Keras model of 2 to 12 steps with one or two inputs and outputs."""
    import keras

    shape = (draw(st.integers(3, 33)), draw(st.integers(3, 33)), draw(st.integers(1, 6)))
    inputs = [keras.Input(shape)]
    images = [inputs[0]]
    if draw(st.booleans()):
        inputs.append(keras.Input(shape))
        images.append(keras.layers.Add()(inputs))
    for _ in range(draw(st.integers(2, 12))):
        source = draw(st.sampled_from(images[-3:]))
        image = draw(st.sampled_from(_STEPS))(draw, keras, source)
        if image.shape[1] * image.shape[2] > 40_000 or image.shape[-1] > 512:
            break
        images.append(image)
        if draw(st.booleans()):
            images.append(_joined(draw, keras, images))
    head = draw(
        st.sampled_from([keras.layers.GlobalAveragePooling2D, keras.layers.GlobalMaxPooling2D, keras.layers.Flatten])
    )
    outputs = [keras.layers.Dense(draw(st.integers(1, 10)))(head()(images[-1]))]
    if draw(st.booleans()):
        outputs.append(draw(st.sampled_from(images[-3:])))
    return keras.Model(inputs, outputs)
