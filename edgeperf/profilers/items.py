"""Model specifications and input sizes → the queue of a campaign: one `Item` per network and size."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from edgeperf.errors import InvalidInput
from edgeperf.network.readers import require_image
from edgeperf.profilers.recipes import Recipe, from_genes, from_model
from edgeperf.records import Network
from edgeperf.zoo import FAMILIES, Family, family

_ZOO = "zoo:"


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One network at one size.

    Attributes:
        key: names its files; unique in a campaign.
        model: name without the size.
        family: of the zoo; None for a model file.
        input_size: in pixels; None for the file's own.
        path: the model file; None for a zoo network.
    """

    key: str
    model: str
    family: str | None = None
    input_size: int | None = None
    path: Path | None = None

    @property
    def is_onnx(self) -> bool:
        """Whether the model comes as ONNX, which only TensorRT runs."""
        return self.path is not None and self.path.suffix == ".onnx"

    def load(self) -> tuple[Network, Recipe]:
        """The network and how to rebuild it.

        Raises:
            InvalidInput: the file cannot be read, or not at another size.
        """
        if self.path is not None:
            network, recipe = from_model(self.path, self.input_size)
            if self.input_size is not None:
                require_image(network)
            return network, recipe
        if self.family is None:
            raise InvalidInput(f"{self.key} has neither a family nor a file.")
        member = family(self.family)
        return from_genes(member, {**member.published[self.model], "input_size": self.input_size or 0}, self.key)


def expand(models: Sequence[str], input_sizes: Sequence[int] = ()) -> tuple[Item, ...]:
    """The queue, in the order of `models`, sizes of one network together.

    Args:
        models: paths of model files, ``zoo:FAMILY``, ``zoo:FAMILY/VARIANT`` or ``zoo:all``.
        input_sizes: sizes to measure each network at; its own where empty.

    Raises:
        InvalidInput: no such file, family or variant; or two networks of one name.
    """
    items = [item for model in models for item in _expand(model, input_sizes)]
    if not items:
        raise InvalidInput("No model to profile. Name model files, or families of the zoo as in zoo:mobilenet-v2.")
    keys = [item.key for item in items]
    repeated = sorted({key for key in keys if keys.count(key) > 1})
    if repeated:
        raise InvalidInput(f"Two networks have the name {repeated[0]}. Names tell measurements apart: rename one file.")
    return tuple(items)


def _expand(model: str, input_sizes: Sequence[int]) -> Iterator[Item]:
    if not model.startswith(_ZOO):
        yield from _of_file(Path(model), input_sizes)
        return
    name, _, variant = model.removeprefix(_ZOO).partition("/")
    published = [member for member in FAMILIES.values() if member.published]
    for member in published if name == "all" else [family(name)]:
        yield from _of_family(member, variant, input_sizes)


def _of_file(path: Path, input_sizes: Sequence[int]) -> Iterator[Item]:
    if not path.is_file():
        raise InvalidInput(f"No model file {path}. Name a file, or a family of the zoo as in zoo:mobilenet-v2.")
    if input_sizes and path.suffix == ".onnx":
        raise InvalidInput(
            f"{path} has the size that it was exported with. Leave --input-size out, or pass the Keras model."
        )
    for size in input_sizes or (None,):
        yield Item(key=_key(path.stem, size), model=path.stem, input_size=size, path=path.resolve())


def _of_family(member: Family, variant: str, input_sizes: Sequence[int]) -> Iterator[Item]:
    if not member.published and not variant:
        raise InvalidInput(
            f"{member.name} has no published variants. Export the networks that you want, and name their files."
        )
    if variant and variant not in member.published:
        raise InvalidInput(f"{member.name} has no variant {variant!r}. It has: {', '.join(member.published)}.")
    for model, genes in member.published.items():
        if not variant or model == variant:
            for size in input_sizes or (int(genes["input_size"]),):
                yield Item(key=_key(model, size), model=model, family=member.name, input_size=size)


def file_name(model: str) -> str:
    """The name with letters, digits, dots and hyphens alone.

    >>> file_name("MobileNet v2 0.35")
    'MobileNet-v2-0.35'
    """
    return re.sub(r"[^A-Za-z0-9.]+", "-", model).strip("-.") or "network"


def _key(model: str, size: int | None) -> str:
    return file_name(model) if size is None else f"{file_name(model)}_{size}"
