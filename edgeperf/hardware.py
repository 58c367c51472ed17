"""GPU name → what its data sheet says.

Standard library only. Figures are single-GPU figures of the reference card or module: boost clock (for Jetson modules
the highest GPU clock of the highest power mode), peak bandwidth of the fitted memory, the second-level cache as
`cudaDeviceProp.l2CacheSize` states it, and the power limit of the board.

How far to trust them: the table was written down from the named public documents, which are not part of the project.
`checked_against` names a second document that was compared figure by figure (see tests/test_hardware.py); it is None
where none was at hand. A figure that the named document does not hold is None, never a guess.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from edgeperf.errors import InvalidInput
from edgeperf.records import Gpu


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuSpec:
    """One GPU as its maker describes it; None where the source does not say.

    Attributes:
        name: short name, as datasets and flags use it.
        title: the maker's name.
        family: architecture name.
        compute_capability: e.g. ``"5.3"``.
        sms: streaming multiprocessors.
        cores: CUDA (FP32) cores.
        clock_mhz: boost clock, or highest clock of a Jetson module.
        memory_gib: as sold.
        memory_bandwidth_gb_s: peak, 10^9 bytes per second.
        l2_kib: second-level cache.
        registers_per_sm: 32-bit registers, by compute capability.
        power_limit_w: board power limit, or the highest power budget of a Jetson module.
        gpus_on_board: GPUs that share the power limit.
        default_clock_mhz: clock under load unless set otherwise; the boost clock but for boards that must be asked.
        source: the public document that holds the figures.
        checked_against: a second document with which they were compared; None where there was none.
        integrated: whether CPU and GPU share the memory.
    """

    name: str
    title: str
    family: str
    compute_capability: str
    sms: int
    cores: int
    clock_mhz: float
    memory_gib: float
    memory_bandwidth_gb_s: float
    l2_kib: int | None
    registers_per_sm: int
    power_limit_w: float
    source: str
    checked_against: str | None = None
    integrated: bool = False
    gpus_on_board: int = 1
    default_clock_mhz: float

    @property
    def architecture(self) -> str:
        """Compiler target, e.g. ``"sm_53"``."""
        return "sm_" + self.compute_capability.replace(".", "")

    @property
    def peak_gflops(self) -> float:
        """Peak FP32 rate in 10^9 operations per second: two per core and clock."""
        return 2 * self.cores * self.clock_mhz / 1000

    @property
    def sustained_lanes_per_sm(self) -> int:
        """FP32 cores per multiprocessor that its schedulers can feed: one warp of 32 lanes each per clock.

        Kepler has 192 cores and four schedulers; the other 64 cores work only where two instructions issue at once.
        """
        return min(self.cores // self.sms, 32 * _WARP_SCHEDULERS.get(self.compute_capability, 4))

    @property
    def sustained_gflops(self) -> float:
        """FP32 rate of the sustained lanes at the default clock, in 10^9 operations per second."""
        return 2 * self.sms * self.sustained_lanes_per_sm * self.default_clock_mhz / 1000

    @property
    def load_store_units_per_sm(self) -> int:
        """Threads per clock for which a multiprocessor computes addresses of loads and stores."""
        return 16 if self.compute_capability in _HALF_LOAD_STORE else 32

    @property
    def process_nm(self) -> int:
        """Name of the manufacturing process, in nm."""
        return _PROCESS_NM[self.compute_capability]

    def record(self) -> Gpu:
        """The part that travels with measurements.

        Raises:
            InvalidInput: the size of the second-level cache is not known.
        """
        if self.l2_kib is None:
            raise InvalidInput(f"The L2 cache of {self.name} is not in {self.source}. Give its size yourself.")
        return Gpu(
            cores=self.cores,
            clock_mhz=self.clock_mhz,
            memory_bandwidth_gb_s=self.memory_bandwidth_gb_s,
            l2_kib=self.l2_kib,
            compute_capability=self.compute_capability,
        )


_FAMILIES = {
    "3.5": "Kepler",
    "3.7": "Kepler",
    "5.2": "Maxwell",
    "5.3": "Maxwell",
    "6.0": "Pascal",
    "6.1": "Pascal",
    "6.2": "Pascal",
    "7.0": "Volta",
    "7.2": "Volta",
    "7.5": "Turing",
    "8.0": "Ampere",
    "8.6": "Ampere",
    "8.7": "Ampere",
    "8.9": "Ada Lovelace",
    "9.0": "Hopper",
    "12.0": "Blackwell",
}

_REGISTERS_PER_SM = 65_536
"""CUDA C++ Programming Guide, technical specifications per compute capability; 3.7 alone has twice as many."""

_WARP_SCHEDULERS = {"6.0": 2}
"""Where a multiprocessor has not four; CUDA C++ Programming Guide, architecture of each compute capability."""

_HALF_LOAD_STORE = frozenset({"6.0", "7.5", "8.6", "8.7", "8.9", "12.0"})
"""16 load/store units per multiprocessor, where others have 32; block diagrams of the SM in NVIDIA's white papers on
Kepler GK110, GeForce GTX 980, Tesla P100, GTX 1080, Tesla V100, Turing, A100, Ampere GA102, Ada and H100. 8.7 and 12.0
were not looked up; they are taken to be as 8.6 and 8.9."""

_PROCESS_NM = {
    "3.5": 28, "3.7": 28, "5.2": 28, "5.3": 20, "6.0": 16, "6.1": 16, "6.2": 16, "7.0": 12, "7.2": 12,
    "7.5": 12, "8.0": 7, "8.6": 8, "8.7": 8, "8.9": 4, "9.0": 4, "12.0": 4,
}  # fmt: skip
"""TSMC 28HP, 20SoC, 16FF, 12FFN, N7, 4N and Samsung 8N; the same white papers."""

_GPUS_ON_BOARD = {"k80": 2, "m60": 2}
"""Tesla K80 board specification, Tesla M60 product brief; their power limit is the board's."""

_DEFAULT_CLOCKS = {"k40": 745}
"""MHz. Tesla K40 board specification: it runs at its base clock; both boost clocks must be selected."""

_NEUSIGHT = "device table of Lee et al., NeuSight, ASPLOS 2025"

# name, title, compute capability, SMs, cores, MHz, GiB, GB/s, L2 KiB, W, source
_Row = tuple[str, str, str, int, int, float, float, float, int | None, float, str]

_JETSONS: tuple[_Row, ...] = (
    ("jetson-nano", "Jetson Nano", "5.3", 1, 128, 921.6, 4, 25.6, 256, 10, "Jetson Nano module data sheet"),
    ("jetson-tx1", "Jetson TX1", "5.3", 2, 256, 998.4, 4, 25.6, 256, 15, "Jetson TX1 module data sheet"),
    ("jetson-tx2", "Jetson TX2", "6.2", 2, 256, 1300.5, 8, 59.7, 512, 15, "Jetson TX2 module data sheet"),
    ("jetson-agx-xavier", "Jetson AGX Xavier", "7.2", 8, 512, 1377, 32, 136.5, 512, 30, "AGX Xavier module data sheet"),
    ("jetson-xavier-nx", "Jetson Xavier NX", "7.2", 6, 384, 1100, 8, 59.7, 512, 20, "Xavier NX module data sheet"),
    ("jetson-orin-nano-4gb", "Jetson Orin Nano 4GB", "8.7", 4, 512, 625, 4, 34, None, 10, "Orin Nano data sheet"),
    ("jetson-orin-nano", "Jetson Orin Nano 8GB", "8.7", 8, 1024, 625, 8, 68, None, 15, "Orin Nano data sheet"),
    ("jetson-orin-nano-super", "Orin Nano Super", "8.7", 8, 1024, 1020, 8, 102, None, 25, "Orin Nano Super data sheet"),
    ("jetson-orin-nx-8gb", "Jetson Orin NX 8GB", "8.7", 8, 1024, 765, 8, 102.4, None, 20, "Orin NX data sheet"),
    ("jetson-orin-nx", "Jetson Orin NX 16GB", "8.7", 8, 1024, 918, 16, 102.4, None, 25, "Orin NX data sheet"),
    ("jetson-agx-orin-32gb", "AGX Orin 32GB", "8.7", 14, 1792, 930, 32, 204.8, 4096, 40, "AGX Orin technical brief"),
    ("jetson-agx-orin", "AGX Orin 64GB", "8.7", 16, 2048, 1300, 64, 204.8, 4096, 60, "AGX Orin technical brief"),
)

_CARDS: tuple[_Row, ...] = (
    ("k40", "Tesla K40", "3.5", 15, 2880, 875, 12, 288, 1536, 235, "Tesla K40 board specification"),
    ("k80", "Tesla K80, one of two GPUs", "3.7", 13, 2496, 875, 12, 240, 1536, 300, "Tesla K80 board specification"),
    ("m60", "Tesla M60, one of two GPUs", "5.2", 16, 2048, 1178, 8, 160, 2048, 300, "Tesla M60 product brief"),
    ("gtx-980-ti", "GeForce GTX 980 Ti", "5.2", 22, 2816, 1075, 6, 336.5, 3072, 250, "GeForce product page"),
    ("titan-x-maxwell", "GTX Titan X", "5.2", 24, 3072, 1075, 12, 336.5, 3072, 250, "GeForce product page"),
    ("p100", "Tesla P100 PCIe 16GB", "6.0", 56, 3584, 1303, 16, 732, 4096, 250, "Pascal P100 white paper"),
    ("p100-sxm2", "Tesla P100 SXM2", "6.0", 56, 3584, 1480, 16, 732, 4096, 300, "Pascal P100 white paper"),
    ("p4", "Tesla P4", "6.1", 20, 2560, 1063, 8, 192, 2048, 75, "Tesla P4 data sheet"),
    ("p40", "Tesla P40", "6.1", 30, 3840, 1531, 24, 346, 3072, 250, "Tesla P40 data sheet"),
    ("gtx-1060", "GeForce GTX 1060 6GB", "6.1", 10, 1280, 1708, 6, 192, 1536, 120, "GeForce product page"),
    ("gtx-1070", "GeForce GTX 1070", "6.1", 15, 1920, 1683, 8, 256, 2048, 150, "GeForce product page"),
    ("gtx-1080", "GeForce GTX 1080", "6.1", 20, 2560, 1733, 8, 320, 2048, 180, "GeForce GTX 1080 white paper"),
    ("gtx-1080-ti", "GeForce GTX 1080 Ti", "6.1", 28, 3584, 1582, 11, 484, 2816, 250, "GeForce product page"),
    ("titan-x-pascal", "NVIDIA Titan X", "6.1", 28, 3584, 1531, 12, 480, 3072, 250, "GeForce product page"),
    ("titan-xp", "NVIDIA Titan Xp", "6.1", 30, 3840, 1582, 12, 547.7, 3072, 250, "GeForce product page"),
    ("v100", "Tesla V100 PCIe 32GB", "7.0", 80, 5120, 1380, 32, 900, 6144, 250, "Volta V100 white paper"),
    ("v100-sxm2", "Tesla V100 SXM2 16GB", "7.0", 80, 5120, 1530, 16, 900, 6144, 300, "Volta V100 white paper"),
    ("titan-v", "NVIDIA Titan V", "7.0", 80, 5120, 1455, 12, 652.8, 4608, 250, "Titan V product page"),
    ("t4", "Tesla T4", "7.5", 40, 2560, 1590, 16, 320, 4096, 70, "Turing white paper"),
    ("gtx-1650", "GeForce GTX 1650", "7.5", 14, 896, 1665, 4, 128, 1024, 75, "GeForce product page"),
    ("gtx-1660-ti", "GeForce GTX 1660 Ti", "7.5", 24, 1536, 1770, 6, 288, 1536, 120, "GeForce product page"),
    ("rtx-2060", "GeForce RTX 2060", "7.5", 30, 1920, 1680, 6, 336, 3072, 160, "Turing white paper"),
    ("rtx-2070", "GeForce RTX 2070", "7.5", 36, 2304, 1620, 8, 448, 4096, 175, "Turing white paper"),
    ("rtx-2080", "GeForce RTX 2080", "7.5", 46, 2944, 1710, 8, 448, 4096, 215, "Turing white paper"),
    ("rtx-2080-ti", "GeForce RTX 2080 Ti", "7.5", 68, 4352, 1545, 11, 616, 5632, 250, "Turing white paper"),
    ("titan-rtx", "NVIDIA Titan RTX", "7.5", 72, 4608, 1770, 24, 672, 6144, 280, "Turing white paper"),
    ("rtx-8000", "Quadro RTX 8000", "7.5", 72, 4608, 1770, 48, 672, 6144, 260, "Turing white paper"),
    ("a30", "NVIDIA A30", "8.0", 56, 3584, 1440, 24, 933, 24576, 165, "A30 data sheet"),
    ("a100-40gb", "A100 PCIe 40GB", "8.0", 108, 6912, 1410, 40, 1555, 40960, 250, "A100 data sheet"),
    ("a100-40gb-sxm4", "A100 SXM4 40GB", "8.0", 108, 6912, 1410, 40, 1555, 40960, 400, "A100 data sheet"),
    ("a100-80gb", "A100 PCIe 80GB", "8.0", 108, 6912, 1410, 80, 1935, 40960, 300, "A100 data sheet"),
    ("a100-80gb-sxm4", "A100 SXM4 80GB", "8.0", 108, 6912, 1410, 80, 2039, 40960, 400, "A100 data sheet"),
    ("a10", "NVIDIA A10", "8.6", 72, 9216, 1695, 24, 600, 6144, 150, "A10 data sheet"),
    ("a40", "NVIDIA A40", "8.6", 84, 10752, 1740, 48, 696, 6144, 300, "A40 data sheet"),
    ("rtx-a6000", "NVIDIA RTX A6000", "8.6", 84, 10752, 1800, 48, 768, 6144, 300, "RTX A6000 data sheet"),
    ("rtx-3060", "GeForce RTX 3060 12GB", "8.6", 28, 3584, 1777, 12, 360, 3072, 170, "GeForce product page"),
    ("rtx-3070", "GeForce RTX 3070", "8.6", 46, 5888, 1725, 8, 448, 4096, 220, "Ampere GA102 white paper"),
    ("rtx-3080", "GeForce RTX 3080 10GB", "8.6", 68, 8704, 1710, 10, 760, 5120, 320, "Ampere GA102 white paper"),
    ("rtx-3090", "GeForce RTX 3090", "8.6", 82, 10496, 1695, 24, 936, 6144, 350, "Ampere GA102 white paper"),
    ("l4", "NVIDIA L4", "8.9", 58, 7424, 2040, 24, 300, 49152, 72, "L4 data sheet"),
    ("l40", "NVIDIA L40", "8.9", 142, 18176, 2490, 48, 864, 98304, 300, "L40 data sheet"),
    ("l40s", "NVIDIA L40S", "8.9", 142, 18176, 2520, 48, 864, 98304, 350, "L40S data sheet"),
    ("rtx-4060", "GeForce RTX 4060", "8.9", 24, 3072, 2460, 8, 272, 24576, 115, "GeForce product page"),
    ("rtx-4070", "GeForce RTX 4070", "8.9", 46, 5888, 2475, 12, 504, 36864, 200, "GeForce product page"),
    ("rtx-4080", "GeForce RTX 4080", "8.9", 76, 9728, 2505, 16, 717, 65536, 320, "Ada white paper"),
    ("rtx-4090", "GeForce RTX 4090", "8.9", 128, 16384, 2520, 24, 1008, 73728, 450, "Ada white paper"),
    ("h100-pcie", "H100 PCIe 80GB", "9.0", 114, 14592, 1755, 80, 2039, 51200, 350, "H100 white paper"),
    ("h100", "H100 SXM5 80GB", "9.0", 132, 16896, 1980, 80, 3352, 51200, 700, "H100 white paper"),
    ("h200", "H200 SXM 141GB", "9.0", 132, 16896, 1980, 141, 4800, 51200, 700, "H200 data sheet"),
    ("rtx-5090", "GeForce RTX 5090", "12.0", 170, 21760, 2407, 32, 1792, 98304, 575, "Blackwell RTX white paper"),
)

_CHECKED = {"a100-40gb", "a100-40gb-sxm4", "a100-80gb", "h100", "p100", "v100"}

ALIASES: dict[str, str] = {
    "1080ti": "gtx-1080-ti",
    "2080ti": "rtx-2080-ti",
    "agx-xavier": "jetson-agx-xavier",
    "nano": "jetson-nano",
    "nvidia a100 80gb pcie": "a100-80gb",
    "nvidia a100-pcie-40gb": "a100-40gb",
    "nvidia a100-sxm4-40gb": "a100-40gb-sxm4",
    "nvidia h100 80gb hbm3": "h100",
    "nvidia l4": "l4",
    "rtx2080ti": "rtx-2080-ti",
    "rtx8000": "rtx-8000",
    "tesla p100-pcie-16gb": "p100",
    "tesla p4": "p4",
    "tesla t4": "t4",
    "tesla v100-pcie-32gb": "v100",
    "titan_rtx": "titan-rtx",
    "titanxp": "titan-xp",
    "tx2": "jetson-tx2",
}
"""Names that drivers, public tables and people use (lower case) → ours."""


def _spec(row: _Row, integrated: bool) -> GpuSpec:
    name, title, capability, sms, cores, clock, memory, bandwidth, l2_kib, power, source = row
    return GpuSpec(
        name=name,
        title=title,
        family=_FAMILIES[capability],
        compute_capability=capability,
        sms=sms,
        cores=cores,
        clock_mhz=clock,
        memory_gib=memory,
        memory_bandwidth_gb_s=bandwidth,
        l2_kib=l2_kib,
        registers_per_sm=2 * _REGISTERS_PER_SM if capability == "3.7" else _REGISTERS_PER_SM,
        power_limit_w=power,
        source=f"NVIDIA, {source}",
        checked_against=_NEUSIGHT if name in _CHECKED else None,
        integrated=integrated,
        gpus_on_board=_GPUS_ON_BOARD.get(name, 1),
        default_clock_mhz=_DEFAULT_CLOCKS.get(name, clock),
    )


GPUS: dict[str, GpuSpec] = {row[0]: _spec(row, row in _JETSONS) for row in (*_JETSONS, *_CARDS)}
"""Name → data sheet; the Jetson modules first."""


def gpu(name: str) -> GpuSpec:
    """The data sheet of the GPU of that name; case and the names in `ALIASES` are understood.

    >>> gpu("jetson-nano").architecture
    'sm_53'
    >>> gpu("Tesla P4").name
    'p4'

    Raises:
        InvalidInput: there is none.
    """
    key = name.strip().lower()
    key = ALIASES.get(key, key)
    if key not in GPUS:
        close = difflib.get_close_matches(key, GPUS, n=3) or list(GPUS)[:3]
        raise InvalidInput(f"Unknown GPU {name!r}. Did you mean {', '.join(close)}? `edgeperf devices` lists all.")
    return GPUS[key]
