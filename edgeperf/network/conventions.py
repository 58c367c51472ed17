"""The kind table → ``CONVENTIONS.md``, the page that states what is counted; a test keeps the two equal.

Written by ``python -m edgeperf.network.conventions``.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Final

from edgeperf.network.kinds import KERAS_LAYERS, KINDS

PAGE: Final = Path(__file__).with_name("CONVENTIONS.md")

_INTRODUCTION: Final = """\
# What edgeperf counts

One multiply-accumulate (MAC) is two floating-point operations (FLOPs). All counts are of one inference at batch size 1.

- **MACs** are those of convolutions, dense layers, attention and other products of tensors. Zeros of the padding count;
  a transposed convolution counts every input element with every weight, also where the result is cut off.
- **FLOPs** are 2 per MAC, 1 per output element for a bias, 1 per output element for a fused activation whatever its
  formula (3 for softmax, 0 for linear), and what the table below states.
- **Moving data** (reshaping, padding, cropping, joining, splitting, transposing) counts 0, as do dropout, noise and
  augmentation, which vanish at inference.
- **Parameters** are all weights, trained or not: a batch normalisation has four per channel. Weights of a layer that is
  called several times count once (`params`), although every call reads them (`weights`).
- **Activations** are output elements, of every layer including the inputs.
- **Bytes** read are inputs and weights, bytes written are outputs, each once, at the width of the precision.
- **Weighted neurons** are the output elements of a convolution times height x width x depth of its filter array, and
  the outputs of a dense layer as they are.

A separable convolution is one layer with the MACs of both of its steps. Shapes are (height, width, channels), whatever
the layout of the file.

## What an ONNX export changes

Exporters rewrite graphs, and the reader takes what the file holds:

- A batch normalisation that is folded into a convolution leaves a bias: 4 parameters per channel become 1, its 2 FLOPs
  per element become 1, and the layer is gone. Where only its scale or shift remains, it is a `Multiply` or `Add` with
  weights of its own.
- A separable convolution becomes a depthwise and a plain one; their MACs add up to the same.
- Activations of several operators (swish as sigmoid and product, GELU by the error function) count each of them.
- A group normalisation of PyTorch becomes an instance normalisation on reshaped groups, a product and a sum.
- Transpositions between the two layouts, casts, identities and dropout vanish, and so does what changes nothing, such
  as a bias of zeros.

MACs, and the shapes and kernels of all convolutions but separable ones, are those of the model before the export.

## What is not read

Recurrent layers, preprocessing of text and sound, layers that wrap other frameworks, and operations that mix the images
of a batch. They are listed by name, all at once; a declaration states the output shape and the cost of any of them.

## Operations beside multiply-accumulates, by kind
"""


def markdown() -> str:
    """The page, from the table as it is."""
    kinds_of: dict[str, list[str]] = defaultdict(list)
    for name, kind in KINDS.items():
        kinds_of[kind.counts].append(f"`{name}`" if name in KERAS_LAYERS else f"*{name}*")
    rows = [f"| {counts} | {', '.join(sorted(names))} |" for counts, names in sorted(kinds_of.items())]
    note = "Names in italics are operations and custom layers, which a declaration may name.\n"
    return "\n".join([_INTRODUCTION, note, "| FLOPs besides | kinds |", "|---|---|", *rows, ""])


if __name__ == "__main__":
    PAGE.write_text(markdown(), encoding="utf-8")
