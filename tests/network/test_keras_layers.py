"""Each layer of Keras on its own: output shape and parameters as Keras has them; products by hand."""

from __future__ import annotations

import pytest

from edgeperf.errors import InvalidInput
from edgeperf.network import read_network
from edgeperf.network.kinds import KERAS_LAYERS

IMAGE, SEQUENCE, VOLUME, TOKENS = (12, 15, 6), (20, 6), (6, 7, 8, 4), (16, 8)

# (layer class, positional arguments, named arguments, shapes of the inputs)
CASES = [
    ("Conv1D", (4, 3), {}, [SEQUENCE]),
    ("Conv1D", (4, 3), {"padding": "causal", "dilation_rate": 2}, [SEQUENCE]),
    ("Conv2D", (4, (3, 2)), {"strides": 2, "padding": "same", "groups": 2}, [IMAGE]),
    ("Conv2D", (4, 3), {"dilation_rate": (2, 3), "use_bias": False}, [IMAGE]),
    ("Conv3D", (4, 3), {"strides": (1, 2, 2)}, [VOLUME]),
    ("Conv1DTranspose", (4, 3), {"strides": 2}, [SEQUENCE]),
    ("Conv2DTranspose", (4, 3), {"strides": 2, "padding": "same"}, [IMAGE]),
    ("Conv2DTranspose", (4, 3), {"strides": 2, "output_padding": 1}, [IMAGE]),
    ("Conv2DTranspose", (4, 3), {"strides": 2, "padding": "same", "output_padding": 1}, [IMAGE]),
    ("Conv2DTranspose", (4, 2), {"strides": 3, "padding": "valid"}, [IMAGE]),
    ("Conv3DTranspose", (2, 2), {"strides": 2}, [VOLUME]),
    ("DepthwiseConv1D", (3,), {"depth_multiplier": 2}, [SEQUENCE]),
    ("DepthwiseConv2D", (3,), {"depth_multiplier": 2, "padding": "same"}, [IMAGE]),
    ("SeparableConv1D", (4, 3), {"strides": 2}, [SEQUENCE]),
    ("SeparableConv2D", (4, 3), {"depth_multiplier": 2, "padding": "same"}, [IMAGE]),
    ("Dense", (7,), {"activation": "softmax"}, [IMAGE]),
    ("EinsumDense", ("abc,cde->abde",), {"output_shape": (None, 3, 5), "bias_axes": "de"}, [TOKENS]),
    ("EinsumDense", ("...x,xy->...y",), {"output_shape": 9, "bias_axes": "y"}, [TOKENS]),
    ("EinsumDense", ("ab...,bc->ac...",), {"output_shape": 9}, [IMAGE]),
    ("EinsumDense", ("abc,bd->adc",), {"output_shape": (5, None)}, [TOKENS]),
    ("Embedding", (100, 8), {}, [(16,)]),
    *[(f"{how}Pooling{rank}D", (2,), {"padding": padding}, [shape])
      for how in ("Max", "Average") for rank, shape in ((1, SEQUENCE), (2, IMAGE), (3, VOLUME))
      for padding in ("same", "valid")],
    ("MaxPooling2D", ((3, 2),), {"strides": (1, 2)}, [IMAGE]),
    *[(f"Global{how}Pooling{rank}D", (), {"keepdims": kept}, [shape])
      for how in ("Max", "Average") for rank, shape in ((1, SEQUENCE), (2, IMAGE), (3, VOLUME))
      for kept in (True, False)],
    *[(f"Adaptive{how}Pooling2D", ((3, 4),), {}, [IMAGE]) for how in ("Max", "Average")],
    ("BatchNormalization", (), {}, [IMAGE]),
    ("BatchNormalization", (), {"axis": 1, "scale": False}, [IMAGE]),
    ("LayerNormalization", (), {"axis": [1, 3]}, [IMAGE]),
    ("LayerNormalization", (), {"center": False}, [TOKENS]),
    ("GroupNormalization", (), {"groups": 3}, [IMAGE]),
    ("RMSNormalization", (), {}, [TOKENS]),
    ("UnitNormalization", (), {}, [TOKENS]),
    ("Normalization", (), {}, [IMAGE]),
    ("Normalization", (), {"mean": [1.0] * 6, "variance": [1.0] * 6}, [IMAGE]),
    ("SpectralNormalization", None, {}, [IMAGE]),
    ("TimeDistributed", None, {}, [(5, 12, 15, 6)]),
    ("Activation", ("relu6",), {}, [IMAGE]),
    ("ReLU", (6.0,), {"negative_slope": 0.1}, [IMAGE]),
    ("LeakyReLU", (0.1,), {}, [IMAGE]),
    ("ELU", (), {}, [IMAGE]),
    ("PReLU", (), {"shared_axes": [1, 2]}, [IMAGE]),
    ("PReLU", (), {}, [IMAGE]),
    ("Softmax", (), {}, [IMAGE]),
    *[(name, (), {}, [IMAGE, (1, 1, 6)]) for name in ("Add", "Average", "Maximum", "Minimum", "Multiply")],
    ("Multiply", (), {}, [IMAGE, (6,)]),
    ("Subtract", (), {}, [IMAGE, IMAGE]),
    ("Concatenate", (), {"axis": 1}, [IMAGE, (3, 15, 6)]),
    ("Dot", (), {"axes": (2, 2)}, [TOKENS, (5, 8)]),
    ("Dot", (), {"axes": 1, "normalize": True}, [(8,), (8,)]),
    *[(name, (0.3,), {}, [IMAGE]) for name in
      ("Dropout", "AlphaDropout", "GaussianDropout", "GaussianNoise", "SpatialDropout2D")],
    ("SpatialDropout1D", (0.3,), {}, [SEQUENCE]),
    ("SpatialDropout3D", (0.3,), {}, [VOLUME]),
    ("Identity", (), {}, [IMAGE]),
    ("Masking", (), {}, [TOKENS]),
    ("ActivityRegularization", (), {}, [IMAGE]),
    ("Flatten", (), {}, [IMAGE]),
    ("Reshape", ((-1, 3),), {}, [IMAGE]),
    ("Permute", ((3, 1, 2),), {}, [IMAGE]),
    ("RepeatVector", (4,), {}, [(8,)]),
    ("ZeroPadding1D", ((1, 2),), {}, [SEQUENCE]),
    ("ZeroPadding2D", ((1, 2),), {}, [IMAGE]),
    ("ZeroPadding2D", (((1, 0), (2, 3)),), {}, [IMAGE]),
    ("ZeroPadding3D", (2,), {}, [VOLUME]),
    ("Cropping1D", (2,), {}, [SEQUENCE]),
    ("Cropping2D", (((1, 0), (2, 3)),), {}, [IMAGE]),
    ("Cropping3D", (((1, 1), (0, 2), (1, 0)),), {}, [VOLUME]),
    ("UpSampling1D", (3,), {}, [SEQUENCE]),
    ("UpSampling2D", ((2, 3),), {"interpolation": "bilinear"}, [IMAGE]),
    ("UpSampling3D", (2,), {}, [VOLUME]),
    ("Resizing", (30, 20), {}, [IMAGE]),
    ("CenterCrop", (8, 9), {}, [IMAGE]),
    ("Rescaling", (1 / 255,), {"offset": -1.0}, [IMAGE]),
    ("RandomFlip", (), {}, [IMAGE]),
    *[(name, (0.1,), {}, [(12, 15, 3)]) for name in
      ("RandomBrightness", "RandomContrast", "RandomRotation", "RandomZoom")],
    ("RandomTranslation", (0.1, 0.1), {}, [IMAGE]),
    ("RandomCrop", (8, 9), {}, [IMAGE]),
    ("Attention", (), {"use_scale": True, "score_mode": "concat"}, [TOKENS, (5, 8), (5, 8)]),
    ("Attention", (), {}, [TOKENS, (5, 8)]),
    ("AdditiveAttention", (), {}, [TOKENS, (5, 8)]),
    ("MultiHeadAttention", (2, 4), {}, [TOKENS, TOKENS]),
    ("MultiHeadAttention", (2, 4), {"value_dim": 3, "output_shape": 11, "use_bias": False}, [TOKENS, (5, 7), (5, 9)]),
    ("MultiHeadAttention", (2, 4), {"attention_axes": (2,), "use_gate": True}, [IMAGE, IMAGE]),
    ("GroupQueryAttention", (4, 6, 3), {}, [TOKENS, (5, 8)]),
    ("GroupQueryAttention", (4, 6, 2), {"use_bias": False, "use_gate": True}, [TOKENS, TOKENS]),
]  # fmt: skip


def _called(keras, name, positional, named, inputs):
    layers = keras.layers
    if name == "SpectralNormalization":
        return layers.SpectralNormalization(layers.Conv2D(5, 3))(inputs[0])
    if name == "TimeDistributed":
        return layers.TimeDistributed(layers.Conv2D(5, 3, strides=2))(inputs[0])
    layer = getattr(layers, name)(*positional, **named)
    if name in ("MultiHeadAttention", "GroupQueryAttention"):
        return layer(inputs[0], value=inputs[1], **({"key": inputs[2]} if len(inputs) > 2 else {}))
    return layer(inputs if len(inputs) > 1 else inputs[0])


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}{case[2] or ''}")
def test_shape_and_parameters(case):
    import keras

    name, positional, named, shapes = case
    inputs = [keras.Input(shape) for shape in shapes]
    model = keras.Model(inputs, _called(keras, name, positional, named, inputs))
    layer = read_network(model).layers[-1]
    assert layer.kind == name
    # Keras leaves sizes open that an EinsumDense takes over from its input.
    known = zip(layer.output_shape, model.output.shape[1:], strict=True)
    assert all(theirs in (None, ours) for ours, theirs in known)
    assert layer.params == model.count_params()


def test_every_layer_of_the_table_has_a_case():
    covered = {case[0] for case in CASES}
    augmentations = {name for name in KERAS_LAYERS if name.startswith("Random")}
    others = {"InputLayer", "AugMix", "CutMix", "MixUp", "RandAugment"}
    adaptive = {f"Adaptive{how}Pooling{rank}D" for how in ("Max", "Average") for rank in (1, 3)}
    assert covered | augmentations | others | adaptive >= KERAS_LAYERS
    assert covered <= KERAS_LAYERS


@pytest.mark.parametrize(
    ("layer", "macs"),
    [
        # 16 queries x 5 keys; projections 16·8·8 + 5·8·8 + 5·8·8 + 16·8·8, products 2 heads x 16·5·(4 + 4).
        (lambda keras, q, v: keras.layers.MultiHeadAttention(2, 4)(q, v), 2 * 1024 + 2 * 320 + 1280),
        # Queries 16·8·24, keys and values 5·8·12 each, output 16·24·8, products 6 heads x 16·5·(4 + 4).
        (lambda keras, q, v: keras.layers.GroupQueryAttention(4, 6, 3)(q, v), 2 * 3072 + 2 * 480 + 3840),
        # 16·5 scores of 8 features, and as many products with the values.
        (lambda keras, q, v: keras.layers.Attention()([q, v]), 2 * 640),
        (lambda keras, q, v: keras.layers.Dot(axes=(2, 2))([q, v]), 640),
        (lambda keras, q, _: keras.layers.EinsumDense("abc,cde->abde", (None, 3, 5))(q), 16 * 8 * 15),
        (lambda keras, q, v: keras.ops.matmul(q, keras.ops.transpose(v, (0, 2, 1))), 640),
        (lambda keras, q, v: keras.ops.einsum("bqd,bkd->bqk", q, v), 640),
    ],
)
def test_products_of_tensors_count_their_macs(layer, macs):
    import keras

    query, value = keras.Input((16, 8)), keras.Input((5, 8))
    model = keras.Model([query, value], layer(keras, query, value))
    assert read_network(model).layers[-1].macs == macs


def test_attention_over_one_axis_repeats_along_the_others():
    import keras

    image = keras.Input((12, 15, 6))
    attended = keras.layers.MultiHeadAttention(2, 4, attention_axes=(2,))(image, image)
    layer = read_network(keras.Model(image, attended)).layers[-1]
    pixels, projections = 12 * 15, 4 * 6 * 8
    assert layer.macs == pixels * projections + 2 * 12 * 15 * 15 * (4 + 4)


def test_a_mask_changes_nothing():
    import keras

    tokens, mask = keras.Input((16, 8)), keras.Input((16, 16))
    attention = keras.layers.MultiHeadAttention(2, 4)
    masked = read_network(keras.Model([tokens, mask], attention(tokens, tokens, attention_mask=mask))).layers[-1]
    plain = read_network(keras.Model(tokens, attention(tokens, tokens))).layers[-1]
    assert (masked.macs, masked.params, masked.output_shape) == (plain.macs, plain.params, plain.output_shape)


def test_channels_first_gives_the_same_records_as_channels_last():
    import keras

    def model(layout):
        first = layout == "channels_first"
        image = keras.Input((3, 32, 24) if first else (32, 24, 3))
        layers = keras.layers
        x = layers.Conv2D(8, 3, strides=2, padding="same", data_format=layout, name="conv")(image)
        x = layers.BatchNormalization(axis=1 if first else -1, name="norm")(x)
        x = layers.DepthwiseConv2D(3, data_format=layout, name="depthwise")(x)
        x = layers.MaxPooling2D(2, data_format=layout, name="pool")(x)
        return keras.Model(image, layers.GlobalAveragePooling2D(data_format=layout, name="mean")(x))

    one, other = (read_network(model(layout), 64).layers[1:] for layout in ("channels_last", "channels_first"))
    numbers = [
        [(layer.name, layer.output_shape, layer.params, layer.macs, layer.flops, layer.padding) for layer in layers]
        for layers in (one, other)
    ]
    assert numbers[0] == numbers[1]


def test_too_small_an_input_is_refused_by_name():
    import keras

    model = keras.Sequential([keras.Input((32, 32, 3)), keras.layers.Conv2D(4, 7, name="wide")])
    with pytest.raises(InvalidInput, match=r"'wide'.*too small"):
        read_network(model, input_size=4)
