"""Stands in for nvprof: runs what it is given, and writes a summary in which the kernels took 3 ms per inference."""

import json
import subprocess
import sys
from pathlib import Path


def main() -> int:
    log = Path(sys.argv[sys.argv.index("--log-file") + 1])
    child = sys.argv[sys.argv.index("--log-file") + 2 :]
    status = subprocess.run(child, check=False).returncode
    runs = json.loads(Path(child[-1]).read_text())["timed_runs"]
    log.write_text(
        "==1== NVPROF is profiling process 1\n==1== Profiling result:\n"
        '"Type","Time(%)","Time","Calls","Avg","Min","Max","Name"\n,%,us,,us,us,us,\n'
        f'"GPU activities",90,{3000 * runs},{runs},1,1,1,"conv"\n'
        '"GPU activities",10,777,1,1,1,1,"[CUDA memcpy HtoD]"\n'
    )
    return status


if __name__ == "__main__":
    sys.exit(main())
