"""Run by test_cache.py: processes that want one cache at once. Prints one JSON object.

Imports TensorFlow once and forks for every process, before TensorFlow has started anything.

Usage: caching.py MODULE CACHE PROCESSES HOW, where HOW is `whole`, or `killed`: the first process
dies while it holds the lock and has written a part.
"""

import hashlib
import json
import os
import signal
import sys
import time
from pathlib import Path

import tensorflow as tf  # noqa: F401  # imported before the fork
import tensorflow_text  # noqa: F401

import tf_adapt as ta
from tf_adapt.data.packing.prepare import prepare
from tf_adapt.encoder import feature_cache as features

TEXTS = ["a man sang", "the cat is here", "what is the time ?", "who"] * 8
PATIENCE_SECONDS = 60


def build(module: str, cache: str, result: Path, dies: bool) -> None:
    """Asks for the features once and writes what it got, and whether it computed them."""
    compute, computed = features.computed_shards, []

    def counted(prepared, number, graph, parts, orders, *more):
        if orders:
            computed.append(number)
        for shard in compute(prepared, number, graph, parts, orders, *more):
            yield dying(shard) if dies else shard

    features.computed_shards = counted
    encoder = ta.HubEncoder(module, trainable=False)
    task = ta.Task("classification", labels=["no", "yes"])
    data = features.with_features(prepare(TEXTS, task, encoder), encoder, cache=cache)
    kept = [part.rows(example).tobytes() for part in data.features[0] for example in range(32)]
    states = hashlib.sha256(b"".join(kept)).hexdigest()
    result.write_text(json.dumps({"states": states, "computed": len(computed)}))


def dying(shard):
    """The first batch of a shard, then death while the others wait for the lock."""
    yield next(shard)
    time.sleep(2)
    os.kill(os.getpid(), signal.SIGKILL)


def start(module: str, cache: str, number: int, dies: bool) -> int:
    """Forks a process; returns its pid."""
    child = os.fork()
    if child:
        return child
    try:
        build(module, cache, Path(f"{cache}.{number}.json"), dies)
    except BaseException as error:
        print(repr(error), file=sys.stderr)
        os._exit(1)
    os._exit(0)


def main() -> None:
    module, cache, processes, how = sys.argv[1:]
    first = start(module, cache, 0, how == "killed")
    end = time.monotonic() + PATIENCE_SECONDS
    while how == "killed" and not list(Path(cache).rglob("*.partial")) and time.monotonic() < end:
        time.sleep(0.01)
    others = [start(module, cache, number, False) for number in range(1, int(processes))]
    codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in (first, *others)]
    paths = sorted(Path(cache).parent.glob(f"{Path(cache).name}.*.json"))
    print(json.dumps({"codes": codes, "found": [json.loads(path.read_text()) for path in paths]}))


if __name__ == "__main__":
    main()
