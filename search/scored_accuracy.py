"""Untrained Keras models → a training-free score in place of an accuracy.

The score of Mellor et al. 2021: networks whose rectified linear units tell the images of a batch apart by their on-off
pattern tend to train to higher accuracy. It is the log-determinant of the matrix that counts, for each two images, the
units that agree. It orders networks and is no percentage; here the images are noise from a fixed seed.

Reference: Mellor, Turner, Storkey, Crowley 2021, Neural architecture search without training (arXiv:2006.04647),
equations 1 and 2.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from edgeperf.errors import InvalidInput
from search.accuracy import Accuracies
from search.space import Candidate

Array = npt.NDArray[np.float64]

_RIDGE = 1e-3
_RECTIFIERS = ("relu", "relu6", "leaky_relu", "swish", "silu", "hard_swish", "hard_silu", "gelu", "elu")


class ScoredAccuracy:
    """Scores candidates by building them in Keras."""

    def __init__(self, *, images: int = 16, seed: int = 0) -> None:
        self._images, self._seed = images, seed
        self._known: dict[str, float] = {}

    @property
    def description(self) -> str:
        """What it is."""
        return (
            f"Training-free score of Mellor et al. 2021 on {self._images} images of noise; "
            "it orders networks and is no percentage."
        )

    def __call__(self, candidates: Sequence[Candidate], features: Array) -> Accuracies:  # noqa: ARG002 - the protocol
        """Scores of the candidates.

        Raises:
            InvalidInput: a network has no rectifier whose pattern could be looked at.
        """
        for candidate in candidates:
            if candidate.name not in self._known:
                self._known[candidate.name] = score(self._built(candidate), images=self._images, seed=self._seed)
        value = np.array([self._known[candidate.name] for candidate in candidates])
        return Accuracies(value=value, low=value, high=value, provenance=tuple("scored" for _ in candidates))

    def _built(self, candidate: Candidate) -> Any:
        import keras

        keras.utils.clear_session()
        keras.utils.set_random_seed(self._seed)
        return candidate.family.keras_model(candidate.genes)


def score(model: Any, *, images: int, seed: int) -> float:
    """Log-determinant of the agreement of on-off patterns over a batch of noise.

    Raises:
        InvalidInput: the model has no rectifier.
    """
    import keras

    tensors = [layer.output for layer in model.layers if _rectifies(layer)]
    if not tensors:
        raise InvalidInput(f"{model.name} has no rectified linear units; the training-free score needs some.")
    batch = np.random.default_rng(seed).normal(size=(images, *model.input_shape[1:])).astype(np.float32)
    outputs = keras.Model(model.input, tensors)(batch, training=False)
    agreement = np.zeros((images, images))
    for output in outputs if isinstance(outputs, list) else [outputs]:
        on = (keras.ops.convert_to_numpy(output).reshape(images, -1) > 0).astype(np.float32)
        agreement += on @ on.T + (1.0 - on) @ (1.0 - on).T
    return log_determinant(agreement)


def log_determinant(agreement: Array) -> float:
    """Of a matrix of agreements, which has `_RIDGE` added so that images that cannot be told apart give a number.

    >>> log_determinant(np.array([[4.0, 0.0], [0.0, 4.0]])) > log_determinant(np.array([[4.0, 4.0], [4.0, 4.0]]))
    True
    """
    return float(np.linalg.slogdet(agreement + _RIDGE * np.eye(len(agreement)))[1])


def _rectifies(layer: Any) -> bool:
    kind = type(layer).__name__
    activation = getattr(getattr(layer, "activation", None), "__name__", "")
    return kind in ("ReLU", "LeakyReLU", "ELU") or activation in _RECTIFIERS
