"""What became of a measured operation, and tables of them as `edgeperf.layerwise.measuring` writes them."""

from __future__ import annotations

import gzip
import json
import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats

from edgeperf.errors import InvalidInput
from edgeperf.layerwise.operations import COLUMNS, Operation
from edgeperf.layerwise.quantities import Array
from edgeperf.layerwise.roofline import data_sheet
from edgeperf.profilers import state
from edgeperf.profilers.bench import HOST_CPU
from edgeperf.profilers.blocks import BlockPlan, BlockRun

if TYPE_CHECKING:
    import pandas as pd

_SIGMAS = 3.0
_PHASES = ("inference", "training")
_TEXTS = {"kind": "a name", "device": "a name", "phase": " or ".join(_PHASES)}
_MAY_MISS = ("power_mw", "set_clock_mhz", "clock_mhz")
_NUMBERS = (*(name for name in COLUMNS if name != "kind"), "latency_ms", *_MAY_MISS)
_POSITIVE = frozenset({"batch_size", "groups", "output_elements", "latency_ms", *_MAY_MISS})


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationMeasurement:
    """What one operation took; None = not measured.

    Attributes:
        operation: what ran.
        device: where.
        phase: ``"inference"`` or ``"training"``.
        status: ``"ok"``, ``"oom"``, ``"timeout"``, ``"crashed"``, or ``"skipped"`` after a smaller batch failed.
        message: why it is not ``"ok"``.
        latency_ms: mean per call.
        latency_error_ms: its standard error over timings.
        power_mw: mean of the samples that were kept; see `filtered_mean`.
        power_error_mw: its standard error.
        energy_mj: power times latency.
        set_clock_mhz: what the GPU's clock was fixed at, read back from the device; None where it was left alone.
        clock_mhz: of the GPU, mean of what the sensor said.
        calls: timed.
    """

    operation: Operation
    device: str
    phase: str
    status: str
    message: str = ""
    latency_ms: float | None = None
    latency_error_ms: float | None = None
    power_mw: float | None = None
    power_error_mw: float | None = None
    energy_mj: float | None = None
    set_clock_mhz: float | None = None
    clock_mhz: float | None = None
    calls: int = 0

    def row(self) -> dict[str, Any]:
        """Columns of an operation table, then the labels."""
        labels = asdict(self)
        return {**labels.pop("operation"), **labels}


def read_measured(folder: Path) -> pd.DataFrame:
    """The operations in a campaign's folder that were measured, as an operation table with labels.

    Power that was not measured is NaN, in a table without the column too. The column `on_gpu` says what they ran on,
    where the campaign's files beside the table tell.

    Raises:
        InvalidInput: there is no table, nothing was measured, or a measured row holds what cannot be.
    """
    import pandas as pd

    path = folder / "operations.csv" if folder.is_dir() else folder
    if not path.is_file():
        raise InvalidInput(
            f"{folder} holds no operations.csv. Measure some: edgeperf operations MODEL --device NAME --out DIR."
        )
    try:
        table = pd.read_csv(path)
        missing = {*COLUMNS, *_TEXTS, "latency_ms", "status"} - set(table)
    except (ValueError, OSError) as problem:
        raise InvalidInput(f"{path} cannot be read as a table of operations: {problem}.") from None
    if missing:
        raise InvalidInput(f"{path} lacks the column(s) {', '.join(sorted(missing))}. Expected a table of operations.")
    measured = table if "power_mw" in table else table.assign(power_mw=np.nan)
    measured = measured[measured["status"] == "ok"]
    if measured.empty:
        raise InvalidInput(f"No operation of {path} was measured without a failure.")
    good = _checked(measured, path).reset_index(drop=True)
    on_gpu = _campaign_on_gpu(path.parent)
    return good if on_gpu is None else good.assign(on_gpu=on_gpu)


def measured_on_gpu(table: pd.DataFrame, device: str) -> bool | None:
    """Whether the rows of a device were measured on a GPU; None where nothing tells.

    A GPU's clock among the labels decides, then what the campaign's files say (`read_measured`), then the name: that of
    a data sheet is a GPU's, ``"host-cpu"`` a CPU's.
    """
    if any(name in table and table[name].notna().any() for name in ("clock_mhz", "set_clock_mhz")):
        return True
    if "on_gpu" in table and table["on_gpu"].notna().any():
        return bool(table["on_gpu"].dropna().all())
    if device == HOST_CPU:
        return False
    return True if data_sheet(device) is not None else None


def of_device(table: pd.DataFrame, device: str) -> pd.DataFrame:
    """The inference rows of one device at its most measured batch size and its highest clock.

    Training rows where there are no others. A GPU is found by any name that `edgeperf.hardware.gpu` understands.

    Raises:
        InvalidInput: nothing was measured on that device.
    """
    rows = _of_one_phase(table, device)
    if rows["set_clock_mhz"].notna().any():
        rows = rows[rows["set_clock_mhz"] == rows["set_clock_mhz"].max()]
    return _of_one_batch_size(rows)


def by_clock(table: pd.DataFrame, device: str) -> dict[float, pd.DataFrame]:
    """GPU clock in MHz, ascending → the rows of one device at it, selected as by `of_device`.

    Raises:
        InvalidInput: nothing was measured on that device, or not at two clocks or more.
    """
    rows = _of_one_phase(table, device)
    rows = _of_one_batch_size(rows.dropna(subset="set_clock_mhz"))
    found = {float(clock): rows[rows["set_clock_mhz"] == clock] for clock in sorted(rows["set_clock_mhz"].unique())}
    if len(found) < 2:
        at = ", ".join(f"{clock:g} MHz" for clock in found) or "no fixed clock"
        raise InvalidInput(
            f"The operations of {device} were measured at {at}; expected two GPU clocks or more. "
            "Measure a sweep: edgeperf operations MODEL --device NAME --gpu-clock MHZ --gpu-clock MHZ --out DIR."
        )
    return {clock: part.reset_index(drop=True) for clock, part in found.items()}


def _of_one_phase(table: pd.DataFrame, device: str) -> pd.DataFrame:
    names = [str(name) for name in table["device"].unique()]
    same = [device] if device in names else [name for name in names if _one_gpu(name, device)]
    rows = table[table["device"].isin(same)]
    if rows.empty:
        raise InvalidInput(f"No operation was measured on {device}. The table holds: {', '.join(sorted(names))}.")
    phase = "inference" if (rows["phase"] == "inference").any() else "training"
    found: pd.DataFrame = rows[rows["phase"] == phase]
    return found if "set_clock_mhz" in found else found.assign(set_clock_mhz=np.nan)


def _of_one_batch_size(rows: pd.DataFrame) -> pd.DataFrame:
    found: pd.DataFrame = rows[rows["batch_size"] == rows["batch_size"].mode().min()].reset_index(drop=True)
    return found


def _checked(measured: pd.DataFrame, path: Path) -> pd.DataFrame:
    """The rows with numbers as numbers, once each holds what its column must."""
    import pandas as pd

    found = measured.copy()
    for name in (*_TEXTS, *(name for name in _NUMBERS if name in measured)):
        if name in _TEXTS:
            good, expected = measured[name].isin(_PHASES) if name == "phase" else measured[name].notna(), _TEXTS[name]
        else:
            found[name] = numbers = pd.to_numeric(measured[name], errors="coerce")
            above, expected = (numbers > 0, "above 0") if name in _POSITIVE else (numbers >= 0, "of at least 0")
            good, expected = above & (numbers < math.inf), f"a number {expected}"
            good |= measured[name].isna() & (name in _MAY_MISS)
        if not good.all():
            row = int(good.to_numpy().argmin())
            raise InvalidInput(
                f"{path}, row {measured.index[row] + 1}: {name} is {measured[name].iloc[row]}; expected {expected}. "
                "Correct the row, or remove it."
            )
    return found


def _campaign_on_gpu(folder: Path) -> bool | None:
    """Whether a campaign ran on a GPU: this host's, or a Jetson's as its recordings say; None where no file tells."""
    path = folder / "campaign.json"
    if not path.is_file():
        return None
    try:
        if json.loads(path.read_text(encoding="utf-8"))["host_gpu"]:
            return True
        for path in sorted((folder / "raw").glob("*.json.gz"))[:1]:
            with gzip.open(path) as stream:
                return state.is_jetson(json.load(stream)["recording"]["state_before"])
    except (ValueError, KeyError, TypeError, EOFError, OSError) as problem:
        raise InvalidInput(
            f"{path} cannot be read as a file of a campaign: {problem!r}. Restore it, or keep operations.csv alone."
        ) from None
    return None


def _one_gpu(name: str, other: str) -> bool:
    sheet = data_sheet(name)
    return sheet is not None and sheet == data_sheet(other)


def reduce_run(
    run: BlockRun, operation: Operation, *, device: str, plan: BlockPlan, set_clock_mhz: float | None = None
) -> OperationMeasurement:
    """The labels of one operation: means, and their standard errors."""
    phase = "training" if plan.training else "inference"
    if run.status != "ok" or not run.timings_ms:
        message = run.message or "it left no times"
        status = run.status if run.status != "ok" else "crashed"
        return OperationMeasurement(
            operation=operation,
            device=device,
            phase=phase,
            status=status,
            message=message,
            set_clock_mhz=set_clock_mhz,
        )
    latency, latency_error = filtered_mean(np.asarray(run.timings_ms))
    power, power_error = filtered_mean(np.asarray(run.powers_mw), quantum=run.power_quantum_mw or 0.0)
    clock, _ = filtered_mean(np.asarray(run.clocks_mhz))
    return OperationMeasurement(
        operation=operation,
        device=device,
        phase=phase,
        status="ok",
        latency_ms=latency if latency is not None else run.timings_ms[0],
        latency_error_ms=latency_error,
        power_mw=power,
        power_error_mw=power_error,
        energy_mj=None if power is None or latency is None else power * latency / 1e3,
        set_clock_mhz=set_clock_mhz,
        clock_mhz=clock,
        calls=run.calls,
    )


def filtered_mean(samples: Array, *, quantum: float = 0.0) -> tuple[float | None, float | None]:
    """Mean and standard error of the samples that are not far off; None where there are too few.

    Far off is beyond three standard deviations from the mean, for many samples. Among few, one sample far off widens
    the deviation so much that it never lies beyond three (at most 2.8 among ten), whence the limit is lower: the one
    that as few normally distributed samples exceed as rarely as many exceed three. Readings within three steps of a
    sensor, its `quantum`, always count: they are its rounding.

    Reference: Thompson 1935, On a criterion for the rejection of observations, Annals of Mathematical Statistics 6.

    >>> filtered_mean(np.array([1.0] * 9 + [1000.0]))
    (1.0, 0.0)
    >>> filtered_mean(np.array([1.0, 3.0]))
    (2.0, 1.0)
    """
    if len(samples) < 2:
        return None, None
    limit = max(_limit(len(samples)) * float(samples.std(ddof=1)), _SIGMAS * quantum)
    kept = samples[np.abs(samples - samples.mean()) <= limit] if limit else samples
    return float(kept.mean()), float(kept.std(ddof=1) / math.sqrt(len(kept)))


def _limit(count: int) -> float:
    """How many standard deviations from the mean of `count` normal samples correspond to three of many."""
    if count < 3:
        return _SIGMAS
    t = float(stats.t.isf(stats.norm.sf(_SIGMAS), count - 2))
    return t * (count - 1) / math.sqrt(count * (count - 2 + t * t))
