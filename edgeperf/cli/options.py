"""Options that several commands share, spelled and explained once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Model = Annotated[Path, typer.Argument(help="A .keras, .h5 or .onnx file, or the JSON of model.to_json().")]
Models = Annotated[list[Path], typer.Argument(help="One or more .keras, .h5, .onnx or .json files.")]
InputSize = Annotated[
    int | None,
    typer.Option(metavar="PIXELS", help="Height and width of the input in pixels; all shapes are inferred again."),
]
Declared = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="JSON: unknown layer or class -> output_shape, params, macs, flops."),
]
Device = Annotated[str, typer.Option(metavar="DEVICE", help="A device name; `edgeperf devices` lists them.")]
MeasuredDevice = Annotated[
    str,
    typer.Option(
        "--device",
        metavar="NAME",
        help="Name to file the figures under: host-cpu for this machine's CPU, for a board or GPU its name in "
        "`edgeperf devices`, or your own.",
    ),
]
Devices = Annotated[
    list[str], typer.Option("--device", metavar="DEVICE", help="A device of `edgeperf devices`; may be repeated.")
]
SomeDevices = Annotated[
    list[str] | None, typer.Option("--device", metavar="DEVICE", help="Only this device; may be repeated.")
]
SomeMetrics = Annotated[
    list[str] | None, typer.Option("--metric", metavar="METRIC", help="Only this metric; may be repeated.")
]
DataFolder = Annotated[
    Path, typer.Option("--data", metavar="DIR", help="A dataset, or one of the published tables as it is.")
]
OutFolder = Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder for the results; made if there is none.")]
Surrogates = Annotated[
    Path | None, typer.Option(metavar="DIR", help="Folder of your own surrogates; without: those that ship.")
]
Seed = Annotated[int, typer.Option(metavar="N", help="Seed of every random draw; stored with the results.")]
Resume = Annotated[bool, typer.Option("--resume", help="Go on where an earlier call with this --out was interrupted.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON alone.")]
