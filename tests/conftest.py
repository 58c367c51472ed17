"""What all tests share: where the measured tables lie, and a quiet TensorFlow."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

# Stand-ins for a board's programs and libraries; collected for doctests they would shadow the real ones.
collect_ignore = ["profilers/fake"]

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")


def measured_tables() -> Path | None:
    """Folder of the measured tables, or None: EDGEPERF_DATA, else ../shared/data beside the repository."""
    named = os.environ.get("EDGEPERF_DATA")
    folder = Path(named) if named else Path(__file__).resolve().parents[2] / "shared" / "data"
    return folder if folder.is_dir() else None


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Folder of the measured tables; the test is skipped where there is none."""
    folder = measured_tables()
    if folder is None:
        pytest.skip("needs the measured tables: set EDGEPERF_DATA, or put them at ../shared/data")
    return folder
