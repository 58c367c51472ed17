from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeperf.errors import InvalidInput
from edgeperf.profilers import kernels, nsys, nvpmodel, nvprof, trtexec

NVPROF = """==77== NVPROF is profiling process 77, command: python3
==77== Warning: 3 records have invalid timestamps.
==77== Profiling result:
"Type","Time(%)","Time","Calls","Avg","Min","Max","Name"
,%,{unit},,{unit},{unit},{unit},
"GPU activities",60.0,{a},100,1,1,1,"conv(float const*, int)"
"GPU activities",30.0,{b},200,1,1,1,"bias"
"GPU activities",10.0,999,3,1,1,1,"[CUDA memcpy HtoD]"
"GPU activities",10.0,999,3,1,1,1,"[CUDA memset]"
"API calls",78.0,7570567,11,1,1,1,"cudaMemcpyAsync"
"""
NSYS = """Processing [trace.sqlite] with [reports/cuda_gpu_kern_sum.py]...
Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name
75.5,3000000,300,1.0,1.0,1,1,1.0,sgemm
24.5,1000000,100,1.0,1.0,1,1,1.0,"void f<int, (int)4>(int, T2)"

Processing [trace.sqlite] with [reports/cuda_gpu_mem_time_sum.py]...
Time (%),Total Time (ns),Count,Operation
"""
NSYS_PRINTED = """
 ** NVTX Range Summary (nvtx_sum):

 Time (%)  Total Time (ns)  Instances  Range
 --------  ---------------  ---------  -----
     98.1        814610688          1  all

 ** CUDA GPU Kernel Summary (cuda_gpu_kern_sum):

 Time (%)  Total Time (ns)  Instances  Avg (ns)   Name
 --------  ---------------  ---------  --------  ------------
     75.5          3000000        300       1.0  sgemm
     24.5          1000000        100       1.0  void f<int,

 ** CUDA GPU MemOps Summary (by Time) (cuda_gpu_mem_time_sum):
"""
TRTEXEC = """[11/21/2026-10:00:00] [I] === Performance summary ===
[11/21/2026-10:00:00] [I] Latency: min = 9 ms, max = 9 ms, mean = 9 ms, median = 9 ms, percentile(99%) = 9 ms
[11/21/2026-10:00:00] [I] GPU Compute Time: min = 1.25 ms, max = 1.75 ms, mean = 1.5 ms, percentile(90%) = 1.7 ms
[11/21/2026-10:00:00] [W] * GPU compute time is unstable, with coefficient of variance = 2.1%.
[11/21/2026-10:00:00] [W]   Locking the clock may help.
&&&& PASSED TensorRT.trtexec [TensorRT v8401] # trtexec
"""


@pytest.mark.parametrize(("unit", "a", "b"), [("us", "1500.0", "500"), ("ms", "1.5", "0.5"), ("s", "0.0015", "5e-4")])
def test_nvprof_sums_kernels_alone_in_whatever_unit(unit: str, a: str, b: str) -> None:
    found = nvprof.parse_kernels(NVPROF.format(unit=unit, a=a, b=b))
    assert [(kernel.name, kernel.calls) for kernel in found] == [("conv(float const*, int)", 100), ("bias", 200)]
    assert kernels.total_ms(found) == pytest.approx(2.0)


def test_old_nvprof_puts_units_in_cells_and_does_not_quote_names() -> None:
    text = (
        "Time(%),Time,Calls,Avg,Min,Max,Name\n"
        "40%,1.5ms,10,1us,1us,1us,[CUDA memcpy HtoD]\n"
        "60%,2.5ms,10,1us,1us,1us,conv(float*, float*, int)\n"
        "10%,500us,10,1us,1us,1us,bias\n"
    )
    found = nvprof.parse_kernels(text)
    assert found[0].name == "conv(float*, float*, int)"
    assert kernels.total_ms(found) == pytest.approx(3.0)


def test_nvprof_traces_have_a_row_per_call() -> None:
    text = (
        '"Start","Duration","Size","Name","Correlation_ID"\ns,ms,KB,,\n'
        '0.1,1.5,,"conv",1\n0.2,0.5,,"conv",2\n0.3,9,4,"[CUDA memcpy HtoD]",3\n'
    )
    assert kernels.total_ms(nvprof.parse_kernels(text)) == pytest.approx(2.0)


def test_what_nvprof_lost_is_told() -> None:
    assert nvprof.remarks(NVPROF) == ("3 records have invalid timestamps.",)


def test_a_refusal_says_what_to_use_instead() -> None:
    refused = "======== Warning: nvprof is not supported on devices with compute capability 8.0 and higher.\n"
    with pytest.raises(InvalidInput, match="nsys"):
        nvprof.parse_kernels(refused)


@pytest.mark.parametrize("text", ["", "no table", NVPROF.partition('"GPU')[0], NSYS])
def test_a_table_without_gpu_activities_is_an_error_and_never_0_ms(text: str) -> None:
    with pytest.raises(InvalidInput):
        kernels.total_ms(nvprof.parse_kernels(text))


def test_a_table_cut_short_by_a_full_disk_is_an_error() -> None:
    text = NVPROF.format(unit="us", a="1500", b="500")
    with pytest.raises(InvalidInput, match=r"disk|CSV"):
        nvprof.parse_kernels(text[: text.index(",100,")])


@pytest.mark.parametrize("text", [NSYS, NSYS_PRINTED])
def test_nsys_sums_kernels_of_csv_and_of_the_printed_report(text: str) -> None:
    found = nsys.parse_kernels(text)
    assert [kernel.calls for kernel in found] == [300, 100]
    assert kernels.total_ms(found) == pytest.approx(4.0)


def test_trtexec_times_need_compute_ms_alone() -> None:
    text = '[{"computeMs": 1.5, "endToEndMs": 9}, {"computeMs": 2, "startInMs": 0}]'
    assert trtexec.parse_times(text) == (1.5, 2.0)


NO_TIMES = ("", "[]", "{}", "null", '[{"latencyMs": 1}]', '[{"computeMs": true}]', '[{"computeMs": 1e999}]')


@pytest.mark.parametrize(
    "text", [*NO_TIMES, '[{"computeMs": -1}]', '[{"computeMs": 1.0}, {"computeMs":', "[" * 100_000]
)
def test_other_times_are_an_error(text: str) -> None:
    with pytest.raises(InvalidInput, match="exportTimes"):
        trtexec.parse_times(text)


def test_trtexec_summary() -> None:
    found = trtexec.parse_summary(TRTEXEC)
    assert found.compute_ms == {"min": 1.25, "max": 1.75, "mean": 1.5, "percentile(90%)": 1.7}
    assert found.tensorrt == "8401"
    assert found.warnings == (
        "GPU compute time is unstable, with coefficient of variance = 2.1%. Locking the clock may help.",
    )


def test_power_modes_are_found_by_name() -> None:
    assert nvpmodel.parse_query("NVPM WARN: fan mode is not set!\nNV Power Mode: MODE_15W_6CORE\n2\n").id == 2
    modes = nvpmodel.parse_modes(
        "< POWER_MODEL ID=0 NAME=15W >\nCPU_ONLINE CORE_0 1\n< POWER_MODEL ID=2 NAME=MAXN_SUPER >"
    )
    fastest = nvpmodel.fastest(modes)
    assert fastest is not None
    assert (fastest.name, fastest.id) == ("MAXN_SUPER", 2)
    assert nvpmodel.fastest(modes[:1]) is None
    with pytest.raises(InvalidInput, match="power mode"):
        nvpmodel.parse_query("nvpmodel: command not found")


@given(st.text(max_size=200), st.integers(0, 5))
@settings(max_examples=200, deadline=None)
def test_damaged_output_gives_our_error_or_a_result(noise: str, which: int) -> None:
    texts = (
        NVPROF.format(unit="us", a=1, b=2),
        NSYS,
        NSYS_PRINTED,
        TRTEXEC,
        '[{"computeMs": 1}]',
        "NV Power Mode: A\n0\n",
    )
    text = texts[which]
    at = len(noise) * 37 % len(text)
    for parse in (
        nvprof.parse_kernels,
        nsys.parse_kernels,
        trtexec.parse_summary,
        trtexec.parse_times,
        nvpmodel.parse_query,
    ):
        for damaged in (noise, text[:at] + noise + text[at:], text[:at]):
            try:
                parse(damaged)
            except InvalidInput:
                continue


@pytest.mark.data
class TestRecordings:
    """Output of real boards, where it is at hand."""

    def read(self, logs: Path, name: str) -> str:
        return (logs / "latency" / name).read_text()

    def test_both_forms_of_one_nsys_report_agree(self, logs: Path) -> None:
        table = nsys.parse_kernels(self.read(logs, "nsys2024.5-orinnano-jp6.2-cuda_gpu_kern_sum.csv"))
        printed = nsys.parse_kernels(self.read(logs, "nsys2024.5-orinnano-jp6.2-stats_stdout.txt"))
        assert len(table) == len(printed) == 25
        assert kernels.total_ms(table) == kernels.total_ms(printed) == pytest.approx(862.896384)

    def test_nvprof(self, logs: Path) -> None:
        old = nvprof.parse_kernels(self.read(logs, "nvprof-old-summary-unitsincells.csv"))
        assert kernels.total_ms(old) == pytest.approx(237.43 + 237.26)
        assert nvprof.parse_kernels(self.read(logs, "nvprof10-gpu-trace-us.csv")) == ()
        for name in ("nvprof10-api-summary-us.csv", "nvprof-cc80-refusal.txt"):
            with pytest.raises(InvalidInput):
                nvprof.parse_kernels(self.read(logs, name))

    def test_trtexec(self, logs: Path) -> None:
        means = [
            trtexec.parse_summary(path.read_text()).compute_ms["mean"]
            for path in sorted((logs / "latency").glob("trt*"))
        ]
        assert means == [7.58404, 1.38629, 42.0431]

    def test_nvpmodel(self, logs: Path) -> None:
        reports = self.read(logs, "nvpmodel-q-samples.txt").split("--\n")
        assert [nvpmodel.parse_query(report).name for report in reports] == ["MAXN", "15W", "MODE_15W_6CORE"]
