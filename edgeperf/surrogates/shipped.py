"""Networks or features → estimates by trained surrogates, one at a time or ten thousand at once.

Neither scikit-learn nor TensorFlow is needed where the surrogates are made of arrays, as the shipped ones are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from edgeperf.errors import IncompatibleData, InvalidInput
from edgeperf.hardware import ALIASES
from edgeperf.network import FEATURE_NAMES, FEATURE_SCHEMA, read_network
from edgeperf.network import features as features_of
from edgeperf.records import Estimate, Features, Network
from edgeperf.surrogates.arrays import Mask, Matrix, Vector
from edgeperf.surrogates.ranges import LIMIT, Measured
from edgeperf.surrogates.store import SUFFIX, Trained, read
from edgeperf.units import METRICS, metric

FeatureRows = Sequence[Features] | Matrix
"""Features of networks, or an array (rows, features) in the order of `FEATURE_NAMES`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """One metric of many networks; all arrays have one value per network.

    Attributes:
        metric: name.
        value: in the metric's unit.
        low: lower end of the 90 % interval.
        high: upper end.
        in_range: whether the network lies among those that were measured.
        measured: the measured networks.
        features: what was predicted from.
    """

    metric: str
    value: Vector
    low: Vector
    high: Vector
    in_range: Mask
    measured: Measured
    features: Matrix

    def reasons(self) -> list[str | None]:
        """Per network what lies outside the measured range, in words; None where nothing does."""
        found: list[str | None] = [None] * len(self.value)
        outside = np.flatnonzero(~self.in_range)
        for place, reason in zip(outside, self.measured.reasons(self.features[outside]), strict=True):
            found[place] = reason
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class SurrogateSet:
    """The surrogates of one device.

    Attributes:
        device: name.
        trained: metric → surrogate, in the order of `METRICS`.
    """

    device: str
    trained: Mapping[str, Trained]

    def predict_batch(self, rows: FeatureRows, metrics: Sequence[str] | None = None) -> dict[str, Prediction]:
        """Metric → prediction for all networks at once.

        Args:
            rows: features per network.
            metrics: which; all that the device has where None.

        Raises:
            InvalidInput: a metric is unknown or has no surrogate, or a feature is no number.
            IncompatibleData: the features have another schema.
        """
        features = as_matrix(rows)
        wanted = self._wanted(metrics)
        distances: dict[tuple[str, ...], Vector] = {}  # surrogates of a device share the networks that were measured
        for name in wanted:
            measured = self.trained[name].measured
            if measured.names not in distances:
                distances[measured.names] = measured.nearest(features)[0]
        return {
            name: _predict(self.trained[name], features, distances[self.trained[name].measured.names])
            for name in wanted
        }

    def estimate(self, network: Network, metrics: Sequence[str] | None = None) -> list[Estimate]:
        """One estimate per metric for one network."""
        predictions = self.predict_batch([features_of(network)], metrics)
        return [self._estimate(network.name, prediction) for prediction in predictions.values()]

    def _wanted(self, metrics: Sequence[str] | None) -> Sequence[str]:
        if metrics is None:
            return tuple(self.trained)
        for name in metrics:
            if metric(name).name not in self.trained:
                raise InvalidInput(f"No surrogate for {name} of {self.device}. It has: {', '.join(self.trained)}.")
        return metrics

    def _estimate(self, network: str, prediction: Prediction) -> Estimate:
        trained = self.trained[prediction.metric]
        return Estimate(
            network=network,
            device=self.device,
            metric=prediction.metric,
            value=float(prediction.value[0]),
            low=float(prediction.low[0]),
            high=float(prediction.high[0]),
            unit=METRICS[prediction.metric].unit,
            predictor=f"{trained.algorithm} on {trained.card['data']}",
            in_range=bool(prediction.in_range[0]),
            out_of_range_reason=prediction.reasons()[0],
        )


def predict(
    network: Network | Path | str | Mapping[str, Any],
    *,
    device: str,
    metrics: Sequence[str] | None = None,
    input_size: int | None = None,
) -> list[Estimate]:
    """Estimates of a network on a device, one per metric, each with its 90 % interval.

    Args:
        network: a `Network`, or whatever `read_network` takes.
        device: one of `devices()`.
        metrics: which; all that the device has where None.
        input_size: height and width in pixels, where the network is to be read at another size.

    Raises:
        InvalidInput: network, device or metric cannot be used.
    """
    surrogates = load(device)
    if not isinstance(network, Network):
        network = read_network(network, input_size)
    elif input_size is not None:
        raise InvalidInput("input_size applies to model files; this network's shapes are already known.")
    return surrogates.estimate(network, metrics)


def devices(folder: Path | None = None) -> list[str]:
    """Devices that have surrogates, in the package or in `folder`."""
    return sorted({name for name, _ in _files(folder)})


def load(device: str, folder: Path | str | None = None) -> SurrogateSet:
    """The surrogates of a device that are shipped in the package, or those in `folder`.

    Short names of the boards (``"nano"``, ``"tx2"``, ``"agx-xavier"``) are understood.

    Raises:
        InvalidInput: there are none for that device.
    """
    place = None if folder is None else Path(folder)
    if place is not None and not place.is_dir():
        raise InvalidInput(f"No folder {place}. Expected one that `edgeperf train` wrote.")
    if device not in devices(place):
        device = ALIASES.get(device.strip().lower(), device)
    paths = [path for name, path in _files(place) if name == device]
    if not paths:
        raise InvalidInput(
            f"No surrogates for device {device!r}. Known devices: {', '.join(devices(place)) or 'none'}. "
            "`edgeperf adapt` makes surrogates for another board from a few measurements."
        )
    return _read_set(device, tuple((path, path.stat().st_mtime_ns) for path in paths))


@lru_cache(maxsize=16)
def _read_set(device: str, files: tuple[tuple[Path, int], ...]) -> SurrogateSet:
    """Reads the files once; their times of change are part of the key."""
    by_metric = {trained.metric: trained for trained in (read(path) for path, _ in files)}
    return SurrogateSet(device=device, trained={name: by_metric[name] for name in METRICS if name in by_metric})


def _files(folder: Path | None) -> list[tuple[str, Path]]:
    """(device, file) of every surrogate; files are named `<device>.<metric>.edgeperf`."""
    place = folder or Path(str(resources.files("edgeperf").joinpath("pretrained")))
    return sorted((path.name.split(".")[0], path) for path in place.glob(f"*.*{SUFFIX}"))


def as_matrix(rows: FeatureRows) -> Matrix:
    """(rows, features) in the order of `FEATURE_NAMES`.

    Raises:
        IncompatibleData: features of another schema, or another number of columns.
        InvalidInput: a feature is no number.
    """
    if isinstance(rows, np.ndarray):
        matrix = np.asarray(rows, dtype=float)
    else:
        for row in rows:
            if row.schema != FEATURE_SCHEMA:
                raise IncompatibleData(
                    f"Features of {row.network}: schema is {row.schema}, expected {FEATURE_SCHEMA}. Compute them again."
                )
        matrix = np.asarray([[row.values[name] for name in FEATURE_NAMES] for row in rows], dtype=float)
        matrix = matrix.reshape(len(rows), len(FEATURE_NAMES))
    if matrix.ndim != 2 or matrix.shape[1] != len(FEATURE_NAMES):
        raise IncompatibleData(f"Features have shape {matrix.shape}, expected (networks, {len(FEATURE_NAMES)}).")
    bad = np.flatnonzero(~np.isfinite(matrix).all(axis=1))
    if len(bad):
        raise InvalidInput(f"Features of network(s) {', '.join(map(str, bad[:5]))} are not all numbers.")
    return matrix


def _predict(trained: Trained, features: Matrix, distance: Vector) -> Prediction:
    value = trained.surrogate.predict(features)
    factor = np.exp(trained.interval.half_width(value, distance))
    return Prediction(
        metric=trained.metric,
        value=value,
        low=value / factor,
        high=value * factor,
        in_range=distance <= LIMIT,
        measured=trained.measured,
        features=features,
    )
