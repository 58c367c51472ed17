"""Depthwise and inverted-residual blocks, which the mobile families share.

Reference: Sandler et al. 2018 (arXiv:1801.04381), figures 3 and 4.
"""

from __future__ import annotations

from edgeperf.zoo.layers import Layers, Tensor, activate, block, channels, conv_bn, pad_before_stride, squeeze_excite


@block
def depthwise(layers: Layers, x: Tensor, *, name: str, kernel_size: int, stride: int, activation: str) -> Tensor:
    """Depthwise convolution, batch normalisation, activation; a stride of 2 pads first, as Keras Applications does."""
    if stride == 2:
        x = layers.ZeroPadding2D(pad_before_stride(x, kernel_size), name=f"{name}_pad")(x)
    padding = "same" if stride == 1 else "valid"
    x = layers.DepthwiseConv2D(kernel_size, strides=stride, padding=padding, use_bias=False, name=f"{name}_conv")(x)
    x = layers.BatchNormalization(name=f"{name}_bn")(x)
    return activate(layers, x, activation, name=f"{name}_{activation}")


@block
def stem(layers: Layers, x: Tensor, *, name: str, filters: int, activation: str) -> Tensor:
    """A 3 x 3 convolution of stride 2 from the image."""
    return conv_bn(layers, x, filters, 3, strides=2, padding="same", activation=activation, name=name)


@block
def pointwise(layers: Layers, x: Tensor, *, name: str, filters: int, activation: str | None) -> Tensor:
    """A 1 x 1 convolution with batch normalisation."""
    return conv_bn(layers, x, filters, 1, padding="same", activation=activation, name=name)


@block
def inverted_residual(
    layers: Layers,
    x: Tensor,
    *,
    name: str,
    filters: int,
    stride: int,
    expanded: int,
    kernel_size: int = 3,
    activation: str = "relu6",
    squeezed: int = 0,
) -> Tensor:
    """Expand to `expanded` channels, convolve depthwise, gate where `squeezed`, project; add the input where it fits.

    `expanded` of 0 leaves the expansion out.
    """
    shortcut = x
    if expanded:
        x = pointwise(layers, x, filters=expanded, activation=activation, name=f"{name}_expand")
    x = depthwise(layers, x, kernel_size=kernel_size, stride=stride, activation=activation, name=f"{name}_depthwise")
    if squeezed:
        x = squeeze_excite(layers, x, squeezed=squeezed, gate="hard_sigmoid", name=f"{name}_se")
    x = pointwise(layers, x, filters=filters, activation=None, name=f"{name}_project")
    if stride == 1 and channels(shortcut) == filters:
        return layers.Add(name=f"{name}_add")([shortcut, x])
    return x
