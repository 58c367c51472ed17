"""Exported files: Keras loads them, and they are the candidates."""

import pytest

from edgeperf.network import FEATURE_NAMES, features, read_network
from search import Limits, Question, run
from search.export import export_models
from search.space import space
from tests.search.fakes import FakeSurrogates


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    pytest.importorskip("keras")
    return run(
        Question(spaces=["mobilenet-v2", "mnasnet"], devices=["d"], seed=1, population=12),
        surrogates={"d": FakeSurrogates()}, limits=Limits(generations=6), progress=False, export=3,
        out=tmp_path_factory.mktemp("export"),
    )  # fmt: skip


def test_features_of_the_files_equal_the_candidates(exported):
    members = {member.name: member for member in space(["mobilenet-v2", "mnasnet"]).families}
    by_name = {point.network: point for point in exported.points}
    assert len(exported.models) == 3
    for path in exported.models:
        point = by_name[path.stem]
        saved = features(read_network(path)).values
        counted = features(members[point.family].network(point.genes)).values
        assert [saved[name] for name in FEATURE_NAMES] == [counted[name] for name in FEATURE_NAMES]


def test_keras_loads_the_files_and_runs_them(exported):
    import keras
    import numpy as np

    model = keras.saving.load_model(exported.models[0])
    size = model.input_shape[1]
    answer = model(np.zeros((1, size, size, 3), dtype=np.float32))
    assert answer.shape == (1, 1000)
    assert float(answer.numpy().sum()) == pytest.approx(1.0, abs=1e-4)


def test_models_begin_with_random_weights(exported):
    import keras

    first = keras.saving.load_model(exported.models[0]).weights[0].numpy()
    assert first.std() > 0


@pytest.mark.slow
def test_onnx_files_give_what_keras_gives(tmp_path):
    import keras
    import numpy as np

    onnxruntime = pytest.importorskip("onnxruntime")
    pytest.importorskip("tf2onnx")
    searched = space(["mnasnet"])
    saved, onnx = export_models(searched, searched.all()[:1], 1, tmp_path, onnx=True)
    model = keras.saving.load_model(saved)
    image = np.random.default_rng(0).normal(size=(1, *model.input_shape[1:])).astype(np.float32)
    (answer,) = onnxruntime.InferenceSession(onnx).run(None, {"image": image})
    assert answer == pytest.approx(model(image).numpy(), abs=1e-4)
