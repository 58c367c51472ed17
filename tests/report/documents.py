"""Made-up results of searches, as `front.json` holds them."""

from typing import Any


def point(number: int, **changes: Any) -> dict[str, Any]:
    """The point with that number; accuracy and cost both rise with it."""
    latency = 2.0 + 0.5 * number
    return {
        "network": f"net-{number}",
        "family": "mobilenet-v2",
        "family_title": "MobileNet v2",
        "genes": {"width": 0.5, "depth2": 1 + number % 3, "depth3": 2, "expansion": 6, "input_size": 96 + 32 * number},
        "params": 1_000_000 + number,
        "macs": 50_000_000 * (number + 1),
        "accuracy": 60.0 + number,
        "accuracy_low": 58.0 + number,
        "accuracy_high": 62.0 + number,
        "accuracy_provenance": "predicted",
        "in_range": True,
        "estimates": [
            {"network": f"net-{number}", "device": "jetson-tx2", "metric": "latency_ms", "value": latency,
             "low": 0.9 * latency, "high": 1.1 * latency, "unit": "ms", "predictor": "made up", "in_range": True,
             "out_of_range_reason": None},
        ],
        "misses": [],
        "dominated_by": [],
        **changes,
    }  # fmt: skip


def document(points: int = 9, **changes: Any) -> dict[str, Any]:
    """A finished search with so many points on its front."""
    question = {
        "spaces": ["mobilenet-v2"], "genes": {}, "devices": ["jetson-tx2"], "objectives": ["accuracy", "latency_ms"],
        "constraints": ["latency_ms<=30"], "algorithm": "auto", "population": 10, "seed": 1, "each_device": False,
        "allow_out_of_range": False, "warm_start": [], "accuracy": "ImageNet top-1, made up: 0.5 points error.",
    }  # fmt: skip
    return {
        "summary": {
            "question": question, "size": 1000, "evaluated": 120, "feasible": 80, "in_range": 100, "generations": 12,
            "stopped_by": "12 generations", "hypervolume": [0.5, 0.8, 1.0],
            "knee": f"net-{points // 2}" if points else None,
        },
        "points": [point(number) for number in range(points)],
        "nearest": [point(0, misses=["latency_ms<=1: 2"])] if not points else [],
        "references": [point(3, network="MobileNet v2 0.5", accuracy=58.0, dominated_by=["net-0", "net-1"])],
        "surrogates": [],
        **changes,
    }  # fmt: skip
