"""What several families are made of: convolutions and pooling with PyTorch's padding, gates, the classifier."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Tensor = Any
Build = Callable[[Any, Tensor, bool], Tensor | list[Tensor]]
"""Layers, image and whether the network trains → its output, and those of auxiliary heads after it."""


def conv(
    layers: Any,
    x: Tensor,
    filters: int,
    kernel: int | tuple[int, int],
    stride: int = 1,
    pad: int | tuple[int, int] = 0,
    **more: Any,
) -> Tensor:
    """A convolution with PyTorch's symmetric padding."""
    pads = (pad, pad) if isinstance(pad, int) else pad
    if any(pads):
        x = layers.ZeroPadding2D(pads)(x)
    return layers.Conv2D(filters, kernel, strides=stride, **more)(x)


def conv_bn(
    layers: Any,
    x: Tensor,
    filters: int,
    kernel: Any,
    stride: int = 1,
    pad: Any = 0,
    act: str | None = "relu",
    **more: Any,
) -> Tensor:
    """Convolution without bias, batch normalisation, activation."""
    x = layers.BatchNormalization()(conv(layers, x, filters, kernel, stride, pad, use_bias=False, **more))
    return layers.Activation(act)(x) if act else x


def max_pool(layers: Any, x: Tensor, kernel: int, stride: int, pad: int = 0, *, ceil: bool = False) -> Tensor:
    """PyTorch's max pooling; `ceil` lets the last window reach over the edge."""
    size = x.shape[0]
    span = size + 2 * pad - kernel
    extra = -span % stride if ceil else 0
    if pad or extra:
        x = layers.ZeroPadding2D(((pad, pad + extra), (pad, pad + extra)))(x)
    return layers.MaxPooling2D(kernel, strides=stride)(x)


def head(layers: Any, x: Tensor, *, dropout: bool = False) -> Tensor:
    """Global average pooling and the classifier."""
    x = layers.Flatten()(layers.GlobalAveragePooling2D(keepdims=True)(x))
    return layers.Dense(1000)(layers.Dropout(0.5)(x) if dropout else x)


def divisible(value: float, by: int = 8) -> int:
    """The multiple of `by` next to `value`, never more than 10 % below it."""
    rounded = max(by, int(value + by / 2) // by * by)
    return rounded + by if rounded < 0.9 * value else rounded


def squeeze(layers: Any, x: Tensor, squeezed: int, act: str, gate: str = "sigmoid") -> Tensor:
    """Squeeze-and-excitation: each channel times a gate that comes from the means of all of them."""
    y = layers.Activation(act)(conv(layers, layers.GlobalAveragePooling2D(keepdims=True)(x), squeezed, 1))
    return layers.Multiply()([x, layers.Activation(gate)(conv(layers, y, x.shape[-1], 1))])
