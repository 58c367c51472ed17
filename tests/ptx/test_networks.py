"""Whole networks: known totals, arithmetic, and every instruction of a small one on five architectures.

The bundles in ``compiled`` were made by `edgeperf.ptx.compile_network` from keras.applications and from a small network
(``small.json``); each holds the versions and flags of its compiler.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from edgeperf.ptx import analysis
from edgeperf.ptx.bundle import read_bundle
from edgeperf.ptx.counts import NetworkCount
from edgeperf.ptx.network import count_bundle
from edgeperf.ptx.parser import parse
from tests.ptx.helpers import assert_agree

COMPILED = Path(__file__).with_name("compiled")


@pytest.mark.data
@pytest.mark.parametrize(
    ("network", "executed"),
    [("small", 329_072), ("MobileNet", 2_729_804_000), ("MobileNetV2", 1_708_593_600), ("VGG16", 72_205_794_352)],
)
def test_totals_of_an_independent_analyzer(network: str, executed: int, shared_data: Path) -> None:
    found = count_bundle(read_bundle(shared_data / "ptx" / f"{network}-sm53.tar.xz"))
    assert found.executed == executed
    assert found.refused == ()
    assert (found.network, found.arch) == (network, "sm_53")


@pytest.mark.parametrize("arch", ["sm_53", "sm_62", "sm_72", "sm_87", "sm_90"])
def test_every_instruction_of_a_small_network(arch: str) -> None:
    bundle = read_bundle(COMPILED / f"small-{arch}.tar.xz")
    kernels = {name: kernel for text in bundle.texts.values() for name, kernel in parse(text).kernels.items()}
    total = sum(assert_agree(kernels[launch.kernel], launch)[1].executed for launch in bundle.launches.launches)
    found = count_bundle(bundle)
    assert total == found.executed
    assert found.arch.rstrip("a") == arch  # XLA compiles for sm_90a where asked for sm_90
    assert found.refused == ()
    assert "jax 0.10.2" in found.compiler


def test_merging_alike_threads_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    bundle = read_bundle(COMPILED / "MobileNetV2-sm_53.tar.xz")
    merged = count_bundle(bundle)
    monkeypatch.setattr(analysis, "WORTH_IT", 2**60)
    apart = count_bundle(bundle)
    assert [count.blocks for count, _ in merged.counts] == [count.blocks for count, _ in apart.counts]


def test_fusions_only_leaves_convolutions_to_a_library() -> None:
    found = count_bundle(read_bundle(COMPILED / "small-fusions-sm_53.tar.xz"))
    assert [(item.kernel, item.launches) for item in found.refused] == [("kConvolution", 3)]
    assert found.executed < count_bundle(read_bundle(COMPILED / "small-sm_53.tar.xz")).executed


def taps(size: int, kernel: int, stride: int, before: int, after: int) -> int:
    """Taps of a one-dimensional window that lie on the image, summed over its places."""
    places = range((size + before + after - kernel) // stride + 1)
    return sum(0 <= place * stride - before + tap < size for place in places for tap in range(kernel))


def vgg16() -> Iterator[int]:
    size, channels = 224, 3
    for filters, convolutions in ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3)):
        for _ in range(convolutions):
            yield taps(size, 3, 1, 1, 1) ** 2 * channels * filters
            channels = filters
        size //= 2
    yield from (7 * 7 * 512 * 4096, 4096 * 4096, 4096 * 1000)


def resnet50() -> Iterator[int]:
    yield taps(224, 7, 2, 3, 3) ** 2 * 3 * 64
    size, channels = 56, 64
    for filters, blocks, first_stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for block in range(blocks):
            out = size // first_stride if block == 0 else size
            if block == 0:
                yield out**2 * channels * 4 * filters
            yield out**2 * channels * filters
            yield taps(out, 3, 1, 1, 1) ** 2 * filters**2
            yield out**2 * filters * 4 * filters
            size, channels = out, 4 * filters
    yield 2048 * 1000


def mobilenet_v2() -> Iterator[int]:
    yield taps(224, 3, 2, 0, 1) ** 2 * 3 * 32
    size, channels = 112, 32
    for expansion, filters, blocks, first_stride in (
        (1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1),
    ):  # fmt: skip
        for block in range(blocks):
            stride = first_stride if block == 0 else 1
            wide = expansion * channels
            if expansion > 1:
                yield size**2 * channels * wide
            yield taps(size, 3, stride, 0 if stride == 2 else 1, 1) ** 2 * wide
            size //= stride
            yield size**2 * wide * filters
            channels = filters
    yield size**2 * 320 * 1280
    yield 1280 * 1000


def multiplications(found: NetworkCount) -> dict[int, int]:
    """f32 multiplies and FMAs per launch of convolution and dense kernels → how many launches have as many."""
    kernels: dict[int, int] = {}
    for count, times in found.counts:
        if any(word in count.launch.kernel for word in ("convolution", "dot", "input_reduce")):
            products = sum(n for name, n in count.opcodes.items() if name.startswith(("mul.rn.f32", "fma.rn.f32")))
            kernels[products] = kernels.get(products, 0) + times
    return kernels


@pytest.mark.parametrize(
    ("network", "expected"),
    [("VGG16", list(vgg16())), ("ResNet50", list(resnet50())), ("MobileNetV2", list(mobilenet_v2()))],
)
def test_multiplications_are_the_taps_inside_the_image(network: str, expected: list[int]) -> None:
    """Layer by layer, exactly: every layer's taps are the products of one kernel launch."""
    kernels = multiplications(count_bundle(read_bundle(COMPILED / f"{network}-sm_53.tar.xz")))
    for products in set(expected):
        assert kernels.get(products, 0) == expected.count(products), products
    convolutions = {products: times for products, times in kernels.items() if products not in expected}
    # What is left are reductions without a matrix: means, and the sums of the softmax.
    assert max(convolutions, default=0) <= 110_000


@pytest.mark.data
def test_multiplications_of_the_given_bundles(shared_data: Path) -> None:
    for network, expected in (("VGG16", list(vgg16())), ("MobileNetV2", list(mobilenet_v2()))):
        kernels = multiplications(count_bundle(read_bundle(shared_data / "ptx" / f"{network}-sm53.tar.xz")))
        assert all(kernels.get(products, 0) == expected.count(products) for products in set(expected))
