"""``python -m edgeperf`` → the command line."""

from edgeperf.cli import main

main()
