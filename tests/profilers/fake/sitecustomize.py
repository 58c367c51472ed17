"""Loaded by every Python on the simulated board: a full disk and a jumping clock, where a test asks for them."""

import os
import shutil
import time
from collections import namedtuple
from pathlib import Path

_STATE = Path(os.environ.get("FAKE_STATE") or "/nonexistent")

if (_STATE / "disk_full").exists():
    _Usage = namedtuple("_Usage", "total used free")
    shutil.disk_usage = lambda _path: _Usage(10, 10, 0)

if (_STATE / "jumping_clock").exists():
    _real = time.time
    time.time = lambda: _real() + 1e6 * (int(time.monotonic() * 20) % 7 - 3)
