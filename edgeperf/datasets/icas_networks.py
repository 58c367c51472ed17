"""Names in the measurements of the iCAS laboratory → the graphs of their networks.

Generated ConvNets follow the rule that the laboratory's generator has; torchvision's networks are those of the zoo, or
are defined here as torchvision 0.15 defines them. TensorRT folds batch normalisation into convolutions, so the
definitions here leave it out where that changes nothing but element-wise layers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from edgeperf.errors import InvalidInput
from edgeperf.network.builder import LayerNamespace
from edgeperf.records import Network
from edgeperf.zoo import family

PREFIX: Final = "icas:"
_CLASSES: Final = 1000


def is_known(arch_id: str) -> bool:
    """Whether `network` builds the graph of that name."""
    return arch_id.startswith(PREFIX)


def convnet_id(sort: str, layers: int, filters: int, kernel: int, other_kernel: int) -> str:
    """Name of a generated ConvNet's graph; the image size is no part of it.

    >>> convnet_id("conv", 2, 128, 4, 0)
    'icas:conv-2-128-4-0'
    """
    return f"{PREFIX}{sort}-{layers}-{filters}-{kernel}-{other_kernel}"


def network(arch_id: str, input_size: int) -> Network:
    """The graph of a measured network for square images of `input_size` pixels.

    Raises:
        InvalidInput: the name is not one of this table.
    """
    name = arch_id.removeprefix(PREFIX)
    if name in TORCHVISION:
        return TORCHVISION[name](input_size)
    sort, *numbers = name.split("-")
    if sort not in ("conv", "dws", "mixed") or len(numbers) != 4 or not all(n.isdigit() for n in numbers):
        raise InvalidInput(f"Unknown architecture {arch_id!r}. Import the table again.")
    layers, filters, kernel, other = map(int, numbers)
    return _convnet(name, sort, layers, filters, (kernel, other if sort == "mixed" else kernel), input_size)


def _convnet(name: str, sort: str, layers: int, filters: int, kernels: tuple[int, int], size: int) -> Network:
    """Convolutions, plain or depthwise and pointwise, with ReLUs; padding stays 1 once a kernel was small or odd."""
    space = LayerNamespace()
    x = start = space.Input((size, size, 3))
    padding = 2
    for place in range(layers):
        kernel = kernels[place % 2]
        small = kernel % 2 == 1 if sort == "mixed" else kernel == 3 if sort == "dws" else kernel in (1, 3)
        padding = 1 if small else padding
        x = space.ZeroPadding2D(padding)(x)
        if sort == "dws":
            x = space.DepthwiseConv2D(kernel)(x)
            x = space.Conv2D(filters, 1)(x)
        else:
            x = space.Conv2D(filters, kernel)(x)
        x = space.ReLU()(x)
    return space.Model(start, space.Dense(10)(space.Flatten()(x)), name=name)


def _vgg(repeats: tuple[int, ...]) -> Callable[[int], Network]:
    def build(size: int) -> Network:
        space = LayerNamespace()
        x = start = space.Input((size, size, 3))
        for filters, count in zip((64, 128, 256, 512, 512), repeats, strict=True):
            for _ in range(count):
                x = space.Conv2D(filters, 3, padding="same", activation="relu")(x)
            x = space.MaxPooling2D(2)(x)
        x = space.Flatten()(x)
        for _ in range(2):
            x = space.Dense(4096, activation="relu")(x)
        return space.Model(start, space.Dense(_CLASSES)(x), name="vgg")

    return build


def _unet(size: int) -> Network:
    """Ronneberger et al. 2015 with padded convolutions and one output channel."""
    space = LayerNamespace()
    x = start = space.Input((size, size, 3))
    left = []
    for filters in (64, 128, 256, 512):
        x = _double(space, x, filters)
        left.append(x)
        x = space.MaxPooling2D(2)(x)
    x = _double(space, x, 1024)
    for filters, skip in zip((512, 256, 128, 64), reversed(left), strict=True):
        x = space.Conv2DTranspose(filters, 2, strides=2)(x)
        x = _double(space, space.Concatenate()([skip, x]), filters)
    return space.Model(start, space.Conv2D(1, 1)(x), name="unet")


def _double(space: LayerNamespace, x: Any, filters: int) -> Any:
    for _ in range(2):
        x = space.Conv2D(filters, 3, padding="same", activation="relu")(x)
    return x


def _resnet50(size: int) -> Network:
    """He et al. 2016 with the stride in the 3 x 3 convolution."""
    space = LayerNamespace()
    x = start = space.Input((size, size, 3))
    x = space.Conv2D(64, 7, strides=2, padding="same", activation="relu")(x)
    x = space.MaxPooling2D(3, strides=2, padding="same")(x)
    for stage, blocks in enumerate((3, 4, 6, 3)):
        for block in range(blocks):
            x = _bottleneck(space, x, 64 * 2**stage, strides=2 if stage and not block else 1, project=not block)
    x = space.GlobalAveragePooling2D()(x)
    return space.Model(start, space.Dense(_CLASSES)(x), name="resnet50")


def _bottleneck(space: LayerNamespace, x: Any, filters: int, *, strides: int, project: bool) -> Any:
    y = space.Conv2D(filters, 1, activation="relu")(x)
    y = space.Conv2D(filters, 3, strides=strides, padding="same", activation="relu")(y)
    y = space.Conv2D(4 * filters, 1)(y)
    if project:
        x = space.Conv2D(4 * filters, 1, strides=strides)(x)
    return space.ReLU()(space.Add()([x, y]))


_EFFICIENTNET_V2_M: Final = (
    # fused, expansion, kernel, stride, output channels, repeats
    (True, 1, 3, 1, 24, 3), (True, 4, 3, 2, 48, 5), (True, 4, 3, 2, 80, 5), (False, 4, 3, 2, 160, 7),
    (False, 6, 3, 1, 176, 14), (False, 6, 3, 2, 304, 18), (False, 6, 3, 1, 512, 5),
)  # fmt: skip


def _efficientnet_v2_m(size: int) -> Network:
    """Tan, Le 2021, table 4, the size M."""
    space = LayerNamespace()
    x = start = space.Input((size, size, 3))
    x = space.Conv2D(24, 3, strides=2, padding="same", activation="swish")(x)
    channels = 24
    for fused, expansion, kernel, stride, filters, repeats in _EFFICIENTNET_V2_M:
        for place in range(repeats):
            strides = 1 if place else stride
            y = (_fused if fused else _inverted)(space, x, channels, expansion, kernel, strides, filters)
            x = space.Add()([x, y]) if strides == 1 and channels == filters else y
            channels = filters
    x = space.Conv2D(1280, 1, activation="swish")(x)
    x = space.GlobalAveragePooling2D()(x)
    return space.Model(start, space.Dense(_CLASSES)(x), name="efficientnet_v2_m")


def _fused(
    space: LayerNamespace, x: Any, channels: int, expansion: int, kernel: int, strides: int, filters: int
) -> Any:
    if expansion == 1:
        return space.Conv2D(filters, kernel, strides=strides, padding="same", activation="swish")(x)
    y = space.Conv2D(channels * expansion, kernel, strides=strides, padding="same", activation="swish")(x)
    return space.Conv2D(filters, 1)(y)


def _inverted(
    space: LayerNamespace, x: Any, channels: int, expansion: int, kernel: int, strides: int, filters: int
) -> Any:
    wide = channels * expansion
    y = space.Conv2D(wide, 1, activation="swish")(x)
    y = space.DepthwiseConv2D(kernel, strides=strides, padding="same", activation="swish")(y)
    gate = space.GlobalAveragePooling2D(keepdims=True)(y)
    gate = space.Conv2D(channels // 4, 1, activation="swish")(gate)
    gate = space.Conv2D(wide, 1, activation="sigmoid")(gate)
    return space.Conv2D(filters, 1)(space.Multiply()([y, gate]))


def _from_zoo(name: str, published: str) -> Callable[[int], Network]:
    def build(size: int) -> Network:
        found = family(name)
        return found.network({**found.published[published], "input_size": size})

    return build


TORCHVISION: Final[dict[str, Callable[[int], Network]]] = {
    "VGG16": _vgg((2, 2, 3, 3, 3)),
    "VGG19": _vgg((2, 2, 4, 4, 4)),
    "Shufflenet_v2": _from_zoo("shufflenet-v2", "ShuffleNet v2 1.0"),
    "UNet": _unet,
    "ResNet50": _resnet50,
    "MobileNetV2": _from_zoo("mobilenet-v2", "MobileNet v2 1.0"),
    "Xception": _from_zoo("xception", "Xception"),
    "EfficientNet_v1": _from_zoo("efficientnet", "EfficientNet-B4"),
    "EfficientNet_v2": _efficientnet_v2_m,
}
"""The published table's names → graphs."""
