"""Loaded by every Python on the simulated board: a full disk and a jumping clock, where a test asks for them."""

import os
import shutil
import time
from collections import namedtuple

_STATE = os.environ.get("FAKE_STATE", "")

if _STATE and os.path.exists(os.path.join(_STATE, "disk_full")):
    _Usage = namedtuple("_Usage", "total used free")
    shutil.disk_usage = lambda path: _Usage(10, 10, 0)

if _STATE and os.path.exists(os.path.join(_STATE, "jumping_clock")):
    _real = time.time
    time.time = lambda: _real() + 1e6 * (int(time.monotonic() * 20) % 7 - 3)
