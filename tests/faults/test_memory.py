"""Memory is given back: what a model held is freed with it (P1)."""

import ctypes
import gc
import re
from pathlib import Path

import keras
import pytest
import tensorflow as tf
from small_data import RECORDS, TASKS

import tf_adapt as ta

# Module, task, whether states are computed again, adaptation.
MODELS = {
    "BERT": ("shallow_bert", "pair_classification", False, "fine_tuning"),
    "BERT, recomputed": ("tiny_bert", "classification", True, "gradual_unfreezing"),
    "BERT, its own program": ("tiny_program", "classification", False, "freeze"),
    "ELMo and a CRF": ("tiny_elmo", "tagging", False, "fine_tuning"),
    "GPT-2": ("shallow_causal", "classification", False, "fine_tuning"),
    "AWD-LSTM": ("tiny_lstm", "classification", False, "fine_tuning"),
}


# As above, of what ships.
SHIPPED = {
    "bert_small": ("classification", False, "fine_tuning"),
    "bert_small, recomputed": ("classification", True, "fine_tuning"),
    "elmo_small and a CRF": ("tagging", False, "fine_tuning"),
    "lm_small": ("classification", False, "fine_tuning"),
    "lstm_small": ("classification", False, "fine_tuning"),
}


def handles() -> int:
    """The variables and other resources that TensorFlow holds."""
    keras.utils.clear_session()
    gc.collect()
    tensors = [one for one in gc.get_objects() if type(one).__name__ == "EagerTensor"]
    return sum(one.dtype == tf.resource for one in tensors)


def resident_mb() -> float:
    ctypes.CDLL(None).malloc_trim(0)
    return int(Path("/proc/self/statm").read_text("utf-8").split()[1]) * 4096 / 1e6


def build_fit_predict(module, kind, checkpointing, adaptation, execution="native") -> None:
    task, records = TASKS[kind], RECORDS[kind]
    encoder = ta.HubEncoder(
        str(module),
        trainable=adaptation != "freeze",
        gradient_checkpointing=checkpointing,
        execution=execution,
    )
    model = ta.build_model(task, encoder, adaptation=adaptation)
    model.compile(keras.optimizers.AdamW(1e-3), loss=task.loss)
    model.fit(ta.batches(records, task, encoder, batch_size=2), epochs=1, verbose=0)
    ta.predict(model, [record[:-1] for record in records] if kind != "tagging" else records)


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_p1_a_model_leaves_nothing_behind(name, request):
    fixture, *how = MODELS[name]
    execution = "saved_model" if fixture == "tiny_program" else "native"
    module, before = request.getfixturevalue(fixture), handles()
    build_fit_predict(module, *how, execution)
    assert handles() == before


@pytest.mark.large
@pytest.mark.parametrize("name", SHIPPED)
def test_p1_twenty_models_take_the_memory_of_three(name):
    before, resident = handles(), []
    for _ in range(20):
        build_fit_predict(re.split("[ ,]", name)[0], *SHIPPED[name])
        assert handles() == before
        resident.append(resident_mb())
    print(name, [round(one) for one in resident])
    assert resident[-1] < 1.05 * resident[2]
