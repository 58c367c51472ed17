"""The kind table by brute force: windows and multiply-accumulates counted one at a time, and the stated convention."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeperf.errors import InvalidInput
from edgeperf.network import conventions
from edgeperf.network.kinds import KINDS, configure, traits

sizes = st.integers(1, 9)


def _windows(size, kernel, stride, dilation, padding):
    """Starts of all windows along one dimension, by trying every one."""
    extent = (kernel - 1) * dilation + 1
    if padding == "same":
        # Enough padding for one window per stride, half of it before.
        outputs = len(range(0, size, stride))
        total = max((outputs - 1) * stride + extent - size, 0)
        return [start for start in range(-(total // 2), size + total) if (start + total // 2) % stride == 0][:outputs]
    return [start for start in range(0, size, stride) if start + extent <= size]


@given(
    st.tuples(sizes, sizes),
    st.tuples(st.integers(1, 3), st.integers(1, 3)),
    st.integers(1, 3),
    st.integers(1, 2),
    st.sampled_from(["same", "valid"]),
    st.integers(1, 2),
    st.integers(1, 3),
    st.integers(1, 3),
)
def test_convolutions_count_as_loops_do(size, kernel, stride, dilation, padding, groups, per_group, filters):
    channels, outputs = groups * per_group, groups * filters
    rows, columns = (
        _windows(extent, taps, stride, dilation, padding) for extent, taps in zip(size, kernel, strict=True)
    )
    config = {
        "filters": outputs, "kernel_size": kernel, "strides": stride, "dilation_rate": dilation, "padding": padding,
        "groups": groups,
    }  # fmt: skip
    if not rows or not columns:
        with pytest.raises(InvalidInput):
            traits("Conv2D", configure("Conv2D", config), ((*size, channels),))
        return
    found = traits("Conv2D", configure("Conv2D", config), ((*size, channels),))
    macs = 0
    for _ in itertools.product(rows, columns, range(outputs)):
        for _ in itertools.product(range(kernel[0]), range(kernel[1]), range(per_group)):
            macs += 1
    assert found.output_shapes == ((len(rows), len(columns), outputs),)
    assert found.macs == macs
    assert found.params == kernel[0] * kernel[1] * per_group * outputs + outputs
    assert found.flops == 2 * macs + len(rows) * len(columns) * outputs


@given(st.tuples(sizes, sizes, st.integers(1, 4)), st.integers(1, 3), st.integers(1, 3), st.integers(1, 3))
def test_a_separable_convolution_is_a_depthwise_and_a_pointwise_one(shape, kernel, filters, multiplier):
    window = {"kernel_size": kernel, "padding": "same", "depth_multiplier": multiplier, "use_bias": False}
    whole = traits("SeparableConv2D", configure("SeparableConv2D", {**window, "filters": filters}), (shape,))
    depthwise = traits("DepthwiseConv2D", configure("DepthwiseConv2D", window), (shape,))
    point = {"filters": filters, "kernel_size": 1, "use_bias": False}
    pointwise = traits("Conv2D", configure("Conv2D", point), depthwise.output_shapes)
    assert whole.output_shapes == pointwise.output_shapes
    assert whole.params == depthwise.params + pointwise.params
    assert whole.macs == depthwise.macs + pointwise.macs
    assert whole.flops == depthwise.flops + pointwise.flops


@given(st.tuples(sizes, sizes, st.integers(1, 4)), st.integers(1, 4))
def test_depthwise_equals_a_convolution_with_one_group_per_channel(shape, kernel):
    depthwise = {"kernel_size": kernel, "padding": "same"}
    grouped = {**depthwise, "filters": shape[-1], "groups": shape[-1]}
    one = traits("DepthwiseConv2D", configure("DepthwiseConv2D", depthwise), (shape,))
    other = traits("Conv2D", configure("Conv2D", grouped), (shape,))
    assert (one.output_shapes, one.params, one.macs, one.flops) == (
        other.output_shapes, other.params, other.macs, other.flops,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "config", "shapes", "flops"),
    [
        ("BatchNormalization", {}, [(4, 4, 3)], 2 * 48),
        ("ReLU", {}, [(4, 4, 3)], 48),
        ("Activation", {"activation": "linear"}, [(4, 4, 3)], 0),
        ("Activation", {"activation": "softmax"}, [(10,)], 30),
        ("Add", {}, [(4, 4, 3)] * 3, 2 * 48),
        ("Multiply", {}, [(4, 4, 3), (1, 1, 3)], 48),
        ("MaxPooling2D", {"pool_size": 2}, [(4, 4, 3)], 4 * 12),
        ("GlobalAveragePooling2D", {}, [(4, 4, 3)], 48),
        ("Concatenate", {}, [(4, 4, 3), (4, 4, 1)], 0),
        ("Reshape", {"target_shape": (48,)}, [(4, 4, 3)], 0),
        ("Dropout", {}, [(4, 4, 3)], 0),
        ("Dense", {"units": 5, "activation": "relu"}, [(7,)], 2 * 35 + 5 + 5),
        ("UpSampling2D", {"interpolation": "bilinear"}, [(4, 4, 3)], 7 * 4 * 48),
        ("LayerNormalization", {}, [(4, 4, 3)], 8 * 48),
        ("Declared", {"output_shape": (3,), "macs": 5, "flops": 2}, [(4, 4, 3)], 12),
    ],
)
def test_flops_follow_the_stated_convention(kind, config, shapes, flops):
    assert traits(kind, configure(kind, config), tuple(shapes)).flops == flops


def test_the_page_of_conventions_is_the_table():
    """Write it again with `python -m edgeperf.network.conventions` where this fails."""
    assert conventions.PAGE.read_text(encoding="utf-8") == conventions.markdown()


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_kind_refuses_nonsense_in_words(kind):
    """No configuration at all, and no input: a result or an `InvalidInput`, nothing else."""
    for inputs in ((), ((),), ((3,),), ((4, 4, 3),), ((4, 4, 3), (2, 2))):
        try:
            config = configure(kind, {"layer": {"class_name": "ReLU", "config": {}}})
            result = traits(kind, config, inputs)
        except InvalidInput as error:
            assert str(error)  # noqa: PT017 - both outcomes are fine
        else:
            assert all(size > 0 for shape in result.output_shapes for size in shape)
