"""Stands in for tegrastats on a Nano: prints what the INA3221 filter makes of the load, at the asked interval."""

import math
import os
import sys
import time
from pathlib import Path

STATE = Path(os.environ.get("FAKE_STATE", ""))
TIME_CONSTANT_S, QUANTUM_MW, IDLE_MW = 0.054, 40, 80
LINE = (
    "RAM {ram}/3964MB (lfb 300x4MB) SWAP 0/1982MB (cached 0MB) IRAM 0/252kB(lfb 252kB) CPU [12%@1479,3%@1479,off,off] "
    "EMC_FREQ 1%@1600 GR3D_FREQ {load}%@921 APE 25 PLL@31C CPU@33.5C PMIC@50C GPU@32C AO@39.5C thermal@32.75C "
    "POM_5V_IN {total}/{total} POM_5V_GPU {gpu}/{gpu} POM_5V_CPU 240/240"
)


def true_power() -> float:
    try:
        return float((STATE / "load").read_text())
    except (OSError, ValueError):
        return IDLE_MW


def main() -> None:
    interval_s = int(sys.argv[sys.argv.index("--interval") + 1]) / 1000
    filtered, before = float(IDLE_MW), time.monotonic()
    while True:
        now, power = time.monotonic(), true_power()
        filtered = power + (filtered - power) * math.exp(-(now - before) / TIME_CONSTANT_S)
        before, gpu = now, round(filtered / QUANTUM_MW) * QUANTUM_MW
        loaded = power > IDLE_MW
        line = LINE.format(ram=1500 if loaded else 900, load=99 if loaded else 0, total=gpu + 1800, gpu=gpu)
        if (STATE / "jumping_clock").exists():
            line = f"0{int(now * 10) % 9 + 1}-11-20{int(now * 7) % 30 + 10} 0{int(now * 3) % 9}:00:00 {line}"
        sys.stdout.write(line + "\n")
        sys.stdout.flush()
        time.sleep(max(interval_s, 0.005))


if __name__ == "__main__":
    main()
