"""Parts of plots → one SVG file that needs nothing to be shown."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from pathlib import Path
from typing import Literal

from edgeperf.errors import InvalidInput

Anchor = Literal["start", "middle", "end"]


def document(parts: Iterable[str], *, title: str, width: int, height: int) -> str:
    """The parts on a white ground."""
    size = f'width="{width}" height="{height}"'
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="12">',
            f"<title>{escape(title)}</title>",
            '<rect width="100%" height="100%" fill="white"/>',
            *parts,
            "</svg>\n",
        )
    )


def write_whole(path: Path, content: str) -> Path:
    """Writes the whole file or nothing.

    Returns:
        `path`.

    Raises:
        InvalidInput: no file can be written there.
    """
    partial = path.with_name(f"{path.name}.partial")
    try:
        partial.write_text(content, encoding="utf-8")
        partial.replace(path)
    except OSError as problem:
        partial.unlink(missing_ok=True)
        raise InvalidInput(
            f"Cannot write {path}: {problem.strerror}. Expected a file in a folder that is there and can be written to."
        ) from None
    return path


def text(x: float, y: float, content: str, anchor: Anchor = "start", style: str = "") -> str:
    """Words at a place; `content` is escaped, `style` are further attributes."""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" {style}>{escape(content)}</text>'


def axes(left: float, top: float, right: float, bottom: float) -> str:
    """The left and the lower edge of a panel."""
    return f'<path d="M{left:.1f} {top:.1f}V{bottom:.1f}H{right:.1f}" fill="none" stroke="black"/>'
