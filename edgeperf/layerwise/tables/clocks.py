"""Published clock sweeps of Jetson boards → (workload, clock, latency, power) rows.

Power is that of the whole board: AGX Xavier and Nano at 1 Hz, TX2 as VDD_IN. Latency is the time per inference or
product at full load, the reciprocal of throughput.

Sources: github.com/emwjacobson/JetsonEfficiencyTesting (AGX Xavier, Nano); github.com/thynics/jetson_dvfs (TX2).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

_BOARDS = {"agx": "jetson-agx-xavier", "nano": "jetson-nano"}
_COLUMNS = ["device", "workload", "clock_mhz", "latency_ms", "power_mw"]


def read_triton_clocks(folder: Path) -> pd.DataFrame:
    """MobileNet under Triton by batch size, and square FP32 matrix products, at every GPU clock."""
    import pandas as pd

    sweeps = pd.read_csv(folder / "triton_mobilenet.csv")
    sweeps = sweeps[sweeps["sweep"].str.startswith("batch_") & ~sweeps["dla"]]
    served = pd.DataFrame(
        {
            "device": sweeps["board"].map(_BOARDS),
            "workload": "MobileNet, batch " + sweeps["batch"].astype(str),
            "clock_mhz": sweeps["gpu_Hz"] / 1e6,
            "latency_ms": 1e3 / sweeps["ips"],
            "power_mw": 1e3 * sweeps["power_W"],
        }
    )
    products = pd.read_csv(folder / "gemm.csv.gz")
    multiplied = pd.DataFrame(
        {
            "device": products["board"].str.lower().map(_BOARDS),
            "workload": "matrix product " + products["rows"].astype(str),
            "clock_mhz": products["gpu_Hz"] / 1e6,
            "latency_ms": products["time_us"] / 1e3,
            "power_mw": 1e3 * products["power_W"],
        }
    )
    return _sorted(pd.concat([served, multiplied]))


def read_tx2_clocks(folder: Path) -> pd.DataFrame:
    """VGG-19 at every GPU clock of a TX2, the one sweep of that source with power."""
    import pandas as pd

    sweep = pd.read_csv(folder / "tx2_dvfs.csv")
    sweep = sweep[sweep["VDD_IN"].notna()]
    return _sorted(
        pd.DataFrame(
            {
                "device": "jetson-tx2",
                "workload": "VGG-19",
                "clock_mhz": sweep["gpu_Hz"] / 1e6,
                "latency_ms": 1e3 / sweep["fps"],
                "power_mw": sweep["VDD_IN"],
            }
        )
    )


def _sorted(rows: pd.DataFrame) -> pd.DataFrame:
    kept = rows.drop_duplicates(["device", "workload", "clock_mhz"])
    return kept.sort_values(["device", "workload", "clock_mhz"])[_COLUMNS].reset_index(drop=True)
