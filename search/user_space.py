"""A user's own Python file → a family of networks to search.

The file is the user's code and is run. It holds either one definition for both worlds::

    genes = {"width": [16, 24, 32], "input_size": [96, 128, 160]}

    def build(layers, genes):                     # `layers` looks like keras.layers, with Model beside it
        image = layers.Input((genes["input_size"], genes["input_size"], 3), name="image")
        x = layers.Conv2D(genes["width"], 3, strides=2, name="conv")(image)
        ...
        return layers.Model(image, x, name=genes["name"])

or, in place of `build`, two functions of the genes: ``network(genes)`` that gives an `edgeperf.records.Network` and
``keras_model(genes)`` that gives a `keras.Model`.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from edgeperf.errors import InvalidInput
from edgeperf.network.builder import LayerNamespace
from edgeperf.records import Network
from edgeperf.zoo import Gene, Genes
from edgeperf.zoo.layers import KerasLayers


@dataclass(frozen=True, slots=True, kw_only=True)
class UserFamily:
    """A family from a user's file.

    Attributes:
        path: the file.
        to_network: genes → `Network`.
        to_keras: genes → `keras.Model`.
    """

    name: str
    title: str
    genes: tuple[Gene, ...]
    path: Path
    to_network: Callable[[Genes], Any]
    to_keras: Callable[[Genes], Any]
    published: Mapping[str, Genes] = field(default_factory=dict)

    def network(self, genes: Genes) -> Network:
        """The member with these genes.

        Raises:
            InvalidInput: the file's function failed or gave something else; the message names the genes.
        """
        found = self._called(self.to_network, genes)
        if not isinstance(found, Network):
            raise InvalidInput(f"{self.path}: expected a Network for {dict(genes)}, got {type(found).__name__}.")
        return found

    def keras_model(self, genes: Genes) -> Any:
        """The same as a Keras model."""
        return self._called(self.to_keras, genes)

    def label(self, genes: Genes) -> str:
        """A name that tells this member from all others."""
        return "_".join((self.name, *(f"{gene.name}-{genes[gene.name]}" for gene in self.genes)))

    def _called(self, function: Callable[[Genes], Any], genes: Genes) -> Any:
        try:
            return function({**genes, "name": self.label(genes)})
        except Exception as error:  # a user's code may raise anything
            raise InvalidInput(
                f"{self.path} failed for the genes {dict(genes)}: {type(error).__name__}: {error}. "
                "Every combination of gene values must give a network; narrow the values or repair them."
            ) from error


def read_user_family(path: str) -> UserFamily:
    """The family that the file defines.

    Raises:
        InvalidInput: the file is missing, fails, or lacks what it must hold.
    """
    file = Path(path)
    module = _run(file)
    genes = _genes(module, file)
    build = getattr(module, "build", None)
    network, keras_model = getattr(module, "network", None), getattr(module, "keras_model", None)
    if callable(build):
        return _family(file, genes, lambda g: build(LayerNamespace(), g), lambda g: build(KerasLayers(), g))
    if callable(network) and callable(keras_model):
        return _family(file, genes, network, keras_model)
    raise InvalidInput(
        f"{file} must define build(layers, genes), or both network(genes) and keras_model(genes). "
        "See the docstring of search.user_space."
    )


def _family(
    file: Path, genes: tuple[Gene, ...], to_network: Callable[[Genes], Any], to_keras: Callable[[Genes], Any]
) -> UserFamily:
    return UserFamily(name=file.stem, title=file.stem, genes=genes, path=file, to_network=to_network, to_keras=to_keras)


def _run(file: Path) -> ModuleType:
    if not file.is_file():
        raise InvalidInput(f"No such file: {file}. A space of your own is a Python file.")
    spec = importlib.util.spec_from_file_location(f"edgeperf_space_{file.stem}", file)
    if spec is None or spec.loader is None:
        raise InvalidInput(f"{file} is no Python file.")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:  # a user's code may raise anything
        raise InvalidInput(f"{file} cannot be run: {type(error).__name__}: {error}.") from error
    return module


def _genes(module: ModuleType, file: Path) -> tuple[Gene, ...]:
    found = getattr(module, "genes", None)
    if not isinstance(found, Mapping) or not found:
        raise InvalidInput(f"{file} must define genes, a dictionary of name → list of values.")
    for name, values in found.items():
        if not isinstance(values, list | tuple) or not values or len(set(values)) != len(values):
            raise InvalidInput(f"{file}: the values of gene {name!r} must be a list without repeats, got {values!r}.")
    return tuple(Gene(name=str(name), values=tuple(values)) for name, values in found.items())
