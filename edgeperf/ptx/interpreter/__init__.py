"""Every instruction of every thread, one after another: the judge of the analyzer.

Shares with the analyzer the parser and the order of basic blocks, and nothing else: its own arithmetic on Python
integers, its own registers, memory, warps and barriers.
"""

from edgeperf.ptx.interpreter.machine import Executed, TooLong, interpret
from edgeperf.ptx.interpreter.operands import Unsupported

__all__ = ["Executed", "TooLong", "Unsupported", "interpret"]
