"""What children tell OpenVINO: the precision, and as many threads as everybody has."""

import os

_PRECISIONS = {None: "f32", "bfloat16": "bf16"}


def settings_of(job: dict) -> dict[str, str]:
    """As `hub_modules/engines/openvino_graph.py` has them, for a job's `precision`."""
    return {
        "INFERENCE_PRECISION_HINT": _PRECISIONS[job["precision"]],
        "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_NUM_THREADS": os.environ["OMP_NUM_THREADS"],
    }
