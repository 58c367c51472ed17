"""Campaigns on this machine with real Keras, and what stays on disk."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from edgeperf.datasets import load
from edgeperf.errors import IncompatibleData, InvalidInput
from edgeperf.network import read_network
from edgeperf.profilers import profile
from edgeperf.profilers.campaign import rederive
from edgeperf.profilers.items import expand
from edgeperf.profilers.progress import Progress
from edgeperf.profilers.recipes import to_config
from edgeperf.profilers.store import Finished, Store, write_atomically
from edgeperf.records import Device, Measurement, Plan

MODEL = ["zoo:mobilenet-v1/MobileNet v1 0.25"]
KEY = "MobileNet-v1-0.25_32"
PLAN = Plan(timed_runs=120, warmup_runs=2, repeats=2, idle_s=0.1)


def ignore(_: Progress) -> None:
    return


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("campaign") / "host"
    profile(MODEL, device="host-cpu", out=out, plan=PLAN, input_sizes=[32], progress=ignore)
    return out


def test_a_network_is_measured_with_real_keras(campaign: Path) -> None:
    (done,) = Store(campaign).finished()
    found, kept = done.measurement, Store(campaign).recording(done.key)
    assert kept is not None
    lines = [
        line.removeprefix("EDGEPERF ") for _, line in kept[0]["steps"][0]["output"] if line.startswith("EDGEPERF ")
    ]
    times = [time for event in map(json.loads, lines) if event["event"] == "latency" for time in event["ms"]]
    assert found.status == "ok"
    assert len(times) == PLAN.timed_runs
    assert found.latency_ms == pytest.approx(np.mean(times))
    assert found.memory_mib is not None
    assert found.memory_before_mib is not None
    assert found.memory_mib > found.memory_before_mib > 10
    if found.power_mw is None:
        assert found.warnings[0].startswith("no power: ")


def test_the_campaign_is_a_dataset_whose_architectures_can_be_read(campaign: Path) -> None:
    dataset = load(campaign)
    row = dataset.target("host-cpu", "latency_ms").iloc[0]
    assert (row["model"], row["family"], row["input_size"]) == ("MobileNet v1 0.25", "mobilenet-v1", 32)
    assert dataset.provenance.label_origin == "measured"
    assert read_network(campaign / row["model_file"], 64).input_shape == (64, 64, 3)


def test_the_page_holds_each_network_and_needs_no_connection(campaign: Path) -> None:
    html = (campaign / "index.html").read_text()
    assert KEY in html
    assert "http://" not in html
    assert "https://" not in html
    charts = json.loads(html.partition('type="application/json">')[2].partition("</script>")[0])
    assert len(charts[KEY]["latency"]) == PLAN.timed_runs


def test_resume_measures_nothing_twice_and_refuses_another_plan(campaign: Path) -> None:
    path = campaign / "measurements" / f"{KEY}.json"
    before = path.read_bytes()
    seen: list[Progress] = []
    profile(MODEL, device="host-cpu", out=campaign, plan=PLAN, input_sizes=[32], resume=True, progress=seen.append)
    assert path.read_bytes() == before
    assert [(progress.done, progress.total) for progress in seen] == [(1, 1)]
    with pytest.raises(InvalidInput, match="--resume"):
        profile(MODEL, device="host-cpu", out=campaign, plan=PLAN, input_sizes=[32], progress=ignore)
    other = replace(PLAN, timed_runs=99)
    with pytest.raises(IncompatibleData, match="plan differs"):
        profile(MODEL, device="host-cpu", out=campaign, plan=other, input_sizes=[32], resume=True, progress=ignore)


def test_labels_follow_from_recordings_again(campaign: Path) -> None:
    store = Store(campaign)
    (done,) = store.finished()
    store.save(replace(done, measurement=replace(done.measurement, latency_ms=1.0)))
    rederive(campaign)
    assert list(store.finished()) == [done]


def test_this_machine_is_not_filed_under_the_name_of_a_board(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="--board user@host"):
        profile(MODEL, device="jetson-tx2", out=tmp_path, progress=ignore)


def test_two_campaigns_do_not_share_a_folder(tmp_path: Path) -> None:
    with Store(tmp_path).locked(), pytest.raises(InvalidInput, match="Another campaign"), Store(tmp_path).locked():
        pass


@pytest.mark.parametrize("umask", [0o022, 0o077, 0o002])
def test_files_may_be_read_by_whom_the_umask_lets(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        write_atomically(tmp_path / "rows.csv", b"a,b\n")
    finally:
        os.umask(before)
    (path,) = tmp_path.iterdir()
    assert (path.name, path.read_bytes()) == ("rows.csv", b"a,b\n")
    assert path.stat().st_mode & 0o777 == 0o666 & ~umask


def test_what_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "rows.csv" / "in the way").mkdir(parents=True)
    with pytest.raises(OSError, match=r"rows\.csv"):
        write_atomically(tmp_path / "rows.csv", b"a,b\n")
    assert [path.name for path in tmp_path.iterdir()] == ["rows.csv"]


def test_a_measurement_survives_its_file(campaign: Path, tmp_path: Path) -> None:
    (done,) = Store(campaign).finished()
    Store(tmp_path).save(done)
    assert list(Store(tmp_path).finished()) == [done]
    assert [path.name for path in (tmp_path / "measurements").iterdir()] == [f"{KEY}.json"]


@pytest.mark.parametrize("content", ["{", "", "[]", '{"format": 1}', "\0\xff"])
@pytest.mark.parametrize("name", ["measurements/{}.json", "raw/{}.json.gz"])
def test_a_damaged_file_is_named_and_its_removal_is_enough(
    campaign: Path, tmp_path: Path, name: str, content: str
) -> None:
    out = tmp_path / "copy"
    shutil.copytree(campaign, out)
    damaged = out / name.format(KEY)
    damaged.write_text(content)

    def again() -> None:
        profile(MODEL, device="host-cpu", out=out, plan=PLAN, input_sizes=[32], resume=True, progress=ignore)

    with pytest.raises(InvalidInput, match=rf"{KEY}.* cannot be read .*delete it"):
        again()
    if name.startswith("raw"):
        damaged.unlink()
        again()


@pytest.mark.parametrize("content", ["{", "", "[]"])
def test_a_damaged_note_of_what_was_asked_for_is_named(campaign: Path, tmp_path: Path, content: str) -> None:
    (done,) = Store(campaign).finished()
    store = Store(tmp_path)
    store.save(done)
    asked = {"device": "host-cpu"}
    (tmp_path / "campaign.json").write_text(content)
    with pytest.raises(InvalidInput, match=r"campaign\.json cannot be read .*delete it"):
        store.agree(asked, resume=True)
    (tmp_path / "campaign.json").unlink()
    store.agree(asked, resume=True)


def test_a_network_whose_layers_name_sizes_is_kept_once_per_size(tmp_path: Path) -> None:
    store = Store(tmp_path)
    for item in expand(["zoo:shufflenet-v2/ShuffleNet v2 0.5", "zoo:mobilenet-v1/MobileNet v1 0.25"], [64, 96]):
        store.keep_network(item, to_config(item.load()[1]))
        done = Finished(
            key=item.key,
            model=item.model,
            family=item.family,
            input_size=item.input_size or 0,
            measurement=Measurement(network=item.key, device=Device(name="host-cpu", board="this one"), plan=PLAN),
        )
        path = store.network_of(done)
        assert path is not None
        assert read_network(tmp_path / path, item.input_size).input_shape == (item.input_size, item.input_size, 3)
    assert len(list((tmp_path / "networks").iterdir())) == 3


def test_a_model_that_cannot_be_read_is_a_row_and_the_others_go_on(tmp_path: Path) -> None:
    broken = tmp_path / "broken.json"
    broken.write_text("{}")
    summary = profile([str(broken)], device="host-cpu", out=tmp_path / "out", plan=PLAN, progress=ignore)
    assert (summary.finished, summary.failed, summary.dataset) == (0, 1, None)
    (done,) = Store(tmp_path / "out").finished()
    assert "it was not measured" in done.measurement.warnings[0]


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["tensorflow", "jax", "torch"])
def test_every_backend_runs(backend: str, tmp_path: Path) -> None:
    pytest.importorskip(backend)
    env = {"KERAS_BACKEND": backend}
    summary = profile(MODEL, device="host-cpu", out=tmp_path, plan=PLAN, input_sizes=[32], env=env, progress=ignore)
    assert (summary.finished, summary.failed) == (1, 0)
    kept = Store(tmp_path).recording(KEY)
    assert kept is not None
    assert f'"backend": "{backend}"' in "".join(line for _, line in kept[0]["steps"][0]["output"])


@pytest.mark.slow
def test_the_onnx_file_of_a_recipe_is_opset_13_and_static(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("tf2onnx")
    from edgeperf.profilers import onnx_export
    from edgeperf.profilers.items import expand

    (item,) = expand(MODEL, (32,))
    (tmp_path / "recipe.json").write_text(json.dumps(item.load()[1]))
    onnx_export.export(tmp_path / "recipe.json", tmp_path / "model.onnx", batch_size=2)
    model = onnx.load(tmp_path / "model.onnx")
    assert {entry.version for entry in model.opset_import if entry.domain == ""} == {13}
    assert [each.dim_value for each in model.graph.input[0].type.tensor_type.shape.dim] == [2, 32, 32, 3]


@pytest.mark.slow
def test_memory_that_runs_out_is_a_status(tmp_path: Path) -> None:
    model = tmp_path / "huge.json"
    layers = [
        {"class_name": "InputLayer", "config": {"name": "image", "batch_shape": [None, 4096, 4096, 3]}},
        {"class_name": "Conv2D", "config": {"name": "conv", "filters": 4096, "kernel_size": [1, 1]}},
    ]
    model.write_text(json.dumps({"class_name": "Sequential", "config": {"name": "huge", "layers": layers}}))
    profile([str(model)], device="host-cpu", out=tmp_path / "out", plan=PLAN, progress=ignore)
    (done,) = Store(tmp_path / "out").finished()
    assert done.measurement.status == "oom", done.measurement.warnings


def test_the_library_is_loaded_on_first_use() -> None:
    code = "import sys, edgeperf.profilers; print({'pandas', 'keras', 'numpy'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "set()"
