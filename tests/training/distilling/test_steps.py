"""One step of a distillation: its loss by NumPy, the layers that match, a cut vocabulary."""

from dataclasses import replace

import numpy as np
import pytest
import tensorflow as tf

import tf_adapt as ta
from hub_modules.preprocess import BertPreprocessor
from tf_adapt.training.distilling.steps import DistillationSteps, matched_layers
from tf_adapt.training.distilling.student import build_encoders, read_teacher, student_source

TEXTS = ["who is the cat", "the man is what", "what is a cab"]


def rows(vocabulary, texts=TEXTS):
    """The ids of texts with equally many pieces, as rows without padding, and their segments."""
    preprocessor = BertPreprocessor(vocabulary, lower_case=True)
    packed = preprocessor(tf.constant(texts[:2]))
    assert packed["input_mask"].numpy().all()
    return packed["input_word_ids"], packed["input_type_ids"]


def test_the_layers_that_match():
    assert matched_layers([0, 2, 5], 6) == [1, 3, 5]
    assert matched_layers([0, 2, 4, 7, 9, 11], 12) == [1, 3, 5, 8, 10, 11]  # DistilBERT's
    assert matched_layers([0, 1, 2], 6) == [0, 1, 5]
    assert matched_layers([3], 6) == [5]
    assert matched_layers(range(4), 4) == [0, 1, 2, 3]


def share(student, teacher):
    student, teacher = student.reshape(-1, 16), teacher.reshape(-1, 16)
    return ((student - teacher) ** 2).sum() / ((teacher - teacher.mean(axis=0)) ** 2).sum()


def log_relations(below, weights, layer, part):
    """Of two heads, from the states below a layer and its weights."""
    name = f"layer_{layer}/attention/{part}"
    vectors = below @ weights[f"{name}/kernel"] + weights[f"{name}/bias"]
    split = vectors.reshape(*vectors.shape[:2], 2, 8).transpose(0, 2, 1, 3)
    scores = split @ split.transpose(0, 1, 3, 2) / np.sqrt(8)
    return scores - np.log(np.exp(scores).sum(axis=-1, keepdims=True))


@pytest.mark.slow
def test_the_loss_by_numpy(tiny_bert):
    teacher = read_teacher(tiny_bert, [1], trust=False)
    # Larger vectors: relations that are nearly even differ by little more than float32's rounding.
    larger = {n: 6 * w for n, w in teacher.weights.items() if "attention/" in n}
    teacher = replace(teacher, weights=teacher.weights | larger)
    kept = np.arange(len(teacher.vocabulary))
    whole, student = build_encoders(teacher, kept, [1], None)
    steps = DistillationSteps(whole, student, [1])
    ids, segments = rows(teacher.vocabulary)
    inputs = {"input_word_ids": ids, "input_mask": tf.ones_like(ids), "input_type_ids": segments}
    theirs, ours = (
        [np.float64(state) for state in encoder(inputs)["layers"]] for encoder in (whole, student)
    )
    states = share(ours[1], theirs[2])
    mean = share(ours[1].mean(axis=1), theirs[2].mean(axis=1))
    relations = 0.0
    for part in ("query", "key", "value"):
        wanted = log_relations(theirs[1], teacher.weights, 1, part)
        found = log_relations(ours[0], teacher.weights, 1, part)
        relations += (np.exp(wanted) * (wanted - found)).sum(axis=-1).mean()
    expected = [states + relations + mean, states, relations, mean]
    np.testing.assert_allclose(steps.losses(ids, segments), expected, rtol=1e-4)
    before = {name: weight.numpy() for name, weight in student.weights_by_name().items()}
    np.testing.assert_allclose(steps.update(ids, segments, 0.01), expected, rtol=1e-4)
    moved = {n for n, w in student.weights_by_name().items() if np.any(w.numpy() != before[n])}
    fixed = {"embeddings/position_embeddings", "pooler/kernel", "pooler/bias"}
    assert moved == before.keys() - fixed
    for name, weight in whole.weights_by_name().items():
        np.testing.assert_array_equal(weight, teacher.weights[name])


@pytest.mark.parametrize("precision", [None, "bfloat16"])
def test_a_student_with_all_layers_is_the_teacher(tiny_bert, precision):
    teacher = read_teacher(tiny_bert, [0, 1], trust=False)
    encoders = build_encoders(teacher, np.arange(len(teacher.vocabulary)), [0, 1], precision)
    losses = DistillationSteps(*encoders, [0, 1]).losses(*rows(teacher.vocabulary))
    np.testing.assert_allclose(losses, 0, atol=1e-6)


def test_a_cut_vocabulary_gives_the_same_ids_and_states(tiny_bert):
    teacher = read_teacher(tiny_bert, [0, 1], trust=False)
    unused = {"where", "0", "##0", "z", "%"}
    kept = [n for n, piece in enumerate(teacher.vocabulary) if piece not in unused]
    own = [teacher.vocabulary[number] for number in kept]
    (ids, segments), (whole_ids, _) = rows(own), rows(teacher.vocabulary)
    assert (ids.numpy() != whole_ids.numpy()).any()
    np.testing.assert_array_equal(np.array(kept)[ids.numpy()], whole_ids)
    expected = ta.HubEncoder(tiny_bert)(TEXTS[:2])["layers"]
    inputs = {"input_word_ids": ids, "input_mask": tf.ones_like(ids), "input_type_ids": segments}
    for encoder in build_encoders(teacher, np.array(kept), [0, 1], None):
        for one, other in zip(encoder(inputs)["layers"], expected, strict=True):
            np.testing.assert_allclose(one, other, atol=1e-6)
    source = student_source(teacher, np.array(kept), encoder)
    assert source.vocabulary == own and source.config["vocabulary_size"] == len(own)
