"""Reports of comparisons without what they measure of the machine."""

import json

TIMES = ("training_seconds", "choosing_seconds", "peak_memory_mb", "serving_seconds_per_1000")


def without_times(content: dict) -> dict:
    """What must not depend on how often a comparison was interrupted."""
    content = json.loads(json.dumps(content))
    for cell in content["cells"]:
        for name in TIMES:
            del cell["costs"][name]
        del cell["commands"]
    del content["verdict"]["evidence"], content["verdict"]["first"]
    del content["command"]
    return content
