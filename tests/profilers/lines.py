"""Lines of tegrastats in the grammar of every generation, with numbers of our own."""

from __future__ import annotations

NANO = (
    "RAM 900/3964MB (lfb 366x4MB) SWAP 0/4096MB (cached 0MB) IRAM 0/252kB(lfb 252kB) CPU [10%@102,3%@102,0%@102,off] "
    "EMC_FREQ 0%@204 GR3D_FREQ 41%@921 APE 25 PLL@24C CPU@27.5C PMIC@50C GPU@28C AO@29.5C thermal@28C "
    "POM_5V_IN 4010/3900 POM_5V_GPU 1520/1200 POM_5V_CPU 240/230"
)
TX1_EARLY = (
    "RAM 1100/3983MB (lfb 12x4MB) cpu [0%,5%,off,off]@408 EMC 7%@408 AVP 0%@80 VDE 0 GR3D 3%@76 "
    "VDD_IN 2500/2600 VDD_CPU 80/178 VDD_GPU 19/20"
)
TX2_JETPACK_3 = (
    "RAM 1600/7854MB (lfb 1044x4MB) SWAP 278/8192MB (cached 23MB) CPU [0%@1303,0%@345,0%@345,0%@1419,0%@1420,0%@1421] "
    "EMC_FREQ 0%@1866 GR3D_FREQ 0%@140 APE 150 MTS fg 1% bg 8% BCPU@41C MCPU@41C GPU@39C PLL@41C Tboard@37C "
    "Tdiode@37.25C PMIC@100C thermal@39.9C VDD_IN 1931/1935 VDD_CPU 231/231 VDD_GPU 154/150 VDD_SOC 385/385 "
    "VDD_WIFI 38/38 VDD_DDR 326/326"
)
TX2_JETPACK_4 = (
    "RAM 2300/7852MB (lfb 1154x4MB) SWAP 0/3926MB (cached 0MB) CPU [1%@345,off,off,1%@345,0%@345,2%@345] "
    "EMC_FREQ 4%@1600 GR3D_FREQ 0%@624 APE 150 PLL@37.5C MCPU@37.5C PMIC@100C Tboard@32C GPU@35C BCPU@37.5C "
    "thermal@36.5C Tdiode@34.25C VDD_SYS_GPU 152/140 VDD_SYS_SOC 687/687 VDD_4V0_WIFI 0/0 VDD_IN 3056/3050 "
    "VDD_SYS_CPU 152/152 VDD_SYS_DDR 883/883"
)
AGX_XAVIER = (
    "RAM 721/31927MB (lfb 7291x4MB) SWAP 0/15963MB (cached 0MB) CPU [2%@1190,0%@1190,0%@1190,0%@1190,off,off,off,off] "
    "EMC_FREQ 0%@665 GR3D_FREQ 0%@318 APE 150 MTS fg 0% bg 0% AO@37.5C GPU@37.5C Tdiode@40C PMIC@100C AUX@36C "
    "CPU@37.5C thermal@36.9C Tboard@37C GPU 310/0 CPU 311/311 SOC 932/932 CV 0/0 VDDRQ 621/621 SYS5V 1482/1482"
)
ORIN_NX = (
    "11-21-2026 10:15:30 RAM 6300/15388MB (lfb 1770x4MB) SWAP 491/7694MB (cached 0MB) CPU [6%@729,9%@729,off,off] "
    "EMC_FREQ 0%@2133 GR3D_FREQ 0%@[611] VIC_FREQ 729 APE 174 CV0@-256C CPU@47.937C tj@48.875C "
    "VDD_IN 5299mW/5200mW VDD_CPU_GPU_CV 773mW/770mW VDD_SOC 1424mW/1400mW"
)
AGX_ORIN = (
    "11-21-2026 10:15:30 RAM 10688/30587MB (lfb 691x4MB) SWAP 0/15294MB (cached 0MB) CPU [21%@2201,off] "
    "EMC_FREQ 42%@3199 GR3D_FREQ 7%@[1300,1300] GR3D2_FREQ 0%@1300 VIC off APE 174 CV0@-256C CPU@56.218C tj@56.218C "
    "VDD_GPU_SOC 9565mW/9565mW VDD_CPU_CV 4780mW/4780mW VIN_SYS_5V0 6067mW/6067mW NC 0mW/0mW "
    "VDDQ_VDD2_1V8AO 2221mW/2221mW NC 0mW/0mW"
)
JETPACK_7 = (
    "11-21-2026 10:15:30 RAM 3000/125000MB (lfb 9x4MB) CPU [1%@972] GR3D_FREQ @[1386,1386,1386] cpu@40.1C/41.5C "
    "tj@44C/45C VDD_GPU 3100mW/3000mW/5000mW VDD_CPU_SOC_MSS 4100mW/4000mW/6000mW VIN 21000mW/20000mW/30000mW"
)
NO_RAILS = (
    "RAM 1758/3956MB (lfb 12x4MB) SWAP 440/1978MB (cached 9MB) CPU [28%@921,19%@921,off,off] EMC_FREQ 0% "
    "GR3D_FREQ 0% PLL@41C CPU@42.5C PMIC@50C GPU@40.5C AO@50C thermal@41.75C"
)
ALL_WITH_RAILS = (NANO, TX1_EARLY, TX2_JETPACK_3, TX2_JETPACK_4, AGX_XAVIER, ORIN_NX, AGX_ORIN, JETPACK_7)


def session(*milliwatts: int) -> str:
    """A run of tegrastats on a Nano whose GPU rail reads `milliwatts`, with the running means that it would print."""
    lines = []
    for count, value in enumerate(milliwatts, start=1):
        mean = sum(milliwatts[:count]) // count
        total_mean = sum(each + 2000 for each in milliwatts[:count]) // count
        lines.append(
            f"RAM 900/3964MB (lfb 3x4MB) CPU [1%@102] POM_5V_IN {value + 2000}/{total_mean} POM_5V_GPU {value}/{mean} "
            "POM_5V_CPU 200/200"
        )
    return "\n".join(lines)
