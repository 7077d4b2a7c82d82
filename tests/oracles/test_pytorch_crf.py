"""The CRF against pytorch-crf, run beside it on random cases (requirements/oracles.txt)."""

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from tf_adapt.layers.crf import CRF

SIZES = [(1, 1, 2), (3, 7, 5), (8, 40, 9), (16, 25, 41), (2, 150, 3)]  # batch, time, tags


def case(batch: int, time: int, num_tags: int) -> dict[str, np.ndarray]:
    random = np.random.default_rng(batch * time * num_tags)
    lengths = random.integers(1, time + 1, size=batch)
    lengths[0] = time
    arrays = {
        "logits": random.normal(size=(batch, time, num_tags), scale=2),
        "transitions": random.normal(size=(num_tags, num_tags)),
        "start": random.normal(size=num_tags),
        "end": random.normal(size=num_tags),
    }
    return {name: array.astype("float32") for name, array in arrays.items()} | {
        "tags": random.integers(0, num_tags, size=(batch, time)),
        "mask": np.arange(time) < lengths[:, None],
    }


@pytest.fixture(scope="module")
def theirs(tmp_path_factory) -> list[dict]:
    python = os.environ.get("TF_ADAPT_ORACLES_PYTHON")
    if not python:
        pytest.skip("TF_ADAPT_ORACLES_PYTHON does not name an interpreter with pytorch-crf")
    folder = tmp_path_factory.mktemp("pytorch_crf")
    arrays = {
        f"{number}:{name}": array
        for number, size in enumerate(SIZES)
        for name, array in case(*size).items()
    }
    np.savez(folder / "cases.npz", **arrays)
    child = Path(__file__).parents[1] / "children" / "pytorch_crf.py"
    command = [python, str(child), folder / "cases.npz", folder / "results.npz"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    results: list[dict] = [{} for _ in SIZES]
    with np.load(folder / "results.npz", allow_pickle=False) as recorded:
        for key, array in recorded.items():
            number, name = key.split(":")
            results[int(number)][name] = array
    return results


@pytest.mark.oracle
@pytest.mark.parametrize("number", range(len(SIZES)))
def test_likelihoods_gradients_and_best_paths(theirs, number):
    expected, given = theirs[number], case(*SIZES[number])
    crf = CRF(SIZES[number][-1])
    crf.build()
    for weight, name in zip(crf.weights, ("transitions", "start", "end"), strict=True):
        weight.assign(given[name])
    with tf.GradientTape() as tape:
        tape.watch(logits := tf.convert_to_tensor(given["logits"]))
        log_likelihoods = crf.log_likelihood(logits, given["tags"], given["mask"])
    sources = [logits, *(weight.value for weight in crf.weights)]
    gradients = tape.gradient(log_likelihoods, sources)
    wanted = expected.pop("log_likelihoods")
    np.testing.assert_allclose(log_likelihoods, wanted, rtol=1e-6, atol=1e-6)
    tags, _ = crf.decode(logits, given["mask"])
    np.testing.assert_array_equal(tags, expected.pop("best"))
    names = ("of_logits", "of_transitions", "of_start", "of_end")
    for name, gradient in zip(names, gradients, strict=True):
        wanted = expected.pop(name)
        tolerance = 1e-6 * max(1, np.abs(wanted).max())
        np.testing.assert_allclose(gradient, wanted, atol=tolerance, err_msg=name)
    assert not expected
