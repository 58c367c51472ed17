"""ONNX files → `Network`; needs nothing but the standard library."""

from edgeperf.network.onnx.reader import network_from_onnx

__all__ = ["network_from_onnx"]
