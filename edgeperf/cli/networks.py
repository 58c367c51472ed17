"""Model files and declarations → networks, for the commands that take them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from json import loads as parse_json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from edgeperf.cli.output import note
from edgeperf.errors import InvalidInput

if TYPE_CHECKING:
    from edgeperf.records import Network, Shape


def read(model: Path, input_size: int | None, declared: Path | None = None) -> Network:
    """The network of a file; a remark tells what was declared and does not occur in it.

    Raises:
        InvalidInput: the file, or that of the declarations, cannot be read, or the network takes no image to resize.
    """
    from edgeperf.network import read_network
    from edgeperf.network.readers import require_image

    declarations = _Declarations(_declarations(declared)) if declared else None
    network = read_network(model, input_size=input_size, declared=declarations)
    if input_size is not None:
        require_image(network)
    if declarations is not None and declarations.unused:
        names = ", ".join(map(repr, declarations.unused))
        note(f"{declared} declares {names}, but {network.name} has no layer or class of that name.")
    return network


class _Declarations(Mapping[str, Any]):
    """Declarations that remember which of them a reader looked up."""

    def __init__(self, declared: Mapping[str, Any]) -> None:
        self._declared = declared
        self._used: set[str] = set()

    def __getitem__(self, name: str) -> Any:
        found = self._declared[name]
        self._used.add(name)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._declared)

    def __len__(self) -> int:
        return len(self._declared)

    @property
    def unused(self) -> list[str]:
        """Names that no layer had, as they stand in the file."""
        return [name for name in self._declared if name not in self._used]


def remarks(network: Network, *, images: int = 1, precision: str = "float32", why: str = "") -> Iterator[str]:
    """What the file says of precision and batch, where figures are for others.

    Args:
        network: as it was read.
        images: per pass, that the figures are for.
        precision: that they are for.
        why: what follows behind the precision.
    """
    if network.precision not in ("float32", precision):
        yield f"{network.name} is a {network.precision} model; its figures here are for {precision}{why}."
    if network.batch_size not in (1, images):
        images_text = "one image" if images == 1 else f"{images} images"
        yield f"{network.name} takes {network.batch_size} images per pass; its figures here are for {images_text}."


def _declarations(path: Path) -> dict[str, Any]:
    try:
        found = parse_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InvalidInput(f"{path} cannot be read as declarations: {error}. Expected a JSON object.") from None
    if not isinstance(found, dict):
        raise InvalidInput(
            f"{path} holds no JSON object. Expected layer name or class -> output_shape, params, macs, flops."
        )
    return found


def shape_text(shape: Shape) -> str:
    """Sizes with crosses between."""
    return " x ".join(str(size) for size in shape) or "scalar"
