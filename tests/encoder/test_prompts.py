"""Prompts: an encoder with them is one without that reads the texts with them."""

import re

import numpy as np
import pytest
import tensorflow as tf
from small_data import TASKS, TEXTS

import tf_adapt as ta
from tf_adapt.comparison.plan.cells import cell_name, encoder_in_words
from tf_adapt.config.reading import config_from
from tf_adapt.data.formats import Record
from tf_adapt.errors import ConfigError

OTHERS = list(reversed(TEXTS))


def states(encoder, texts):
    encoded = encoder(texts)
    return [layer.numpy() for layer in encoded["layers"]]


@pytest.mark.parametrize("handle", ["tiny_bert", "tiny_elmo"])
def test_it_is_put_before_each_text(handle, request):
    handle = request.getfixturevalue(handle)
    encoder, plain = ta.HubEncoder(handle, prompts="the man : "), ta.HubEncoder(handle)
    expected = states(plain, ["the man : " + text for text in TEXTS])
    for one, other in zip(states(encoder, TEXTS), expected, strict=True):
        np.testing.assert_array_equal(one, other)
    assert ta.HubEncoder.from_config(encoder.get_config()).prompts == ("the man : ",)
    (features, *_) = ta.encode(encoder, TEXTS[:1])
    (wanted, *_) = ta.encode(plain, ["the man : " + TEXTS[0]])
    np.testing.assert_allclose(features, wanted, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("pairs", ["joint", pytest.param("separate", marks=pytest.mark.large)])
def test_each_text_of_a_pair_has_its_own_in_a_model_and_its_export(pairs, shallow_bert, tmp_path):
    prompts = ["who : ", "the dog "]
    task = TASKS["pair_classification"]
    encoder = ta.HubEncoder(shallow_bert, pairs=pairs, prompts=prompts)
    plain = ta.HubEncoder(shallow_bert, pairs=pairs)
    models = [ta.build_model(task, one, "linear", "feature_extraction") for one in (encoder, plain)]
    for weight, other in zip(*(model.weights for model in models), strict=True):
        other.assign(weight)
    given = [Record(a, b, label=task.labels[0]) for a, b in zip(TEXTS, OTHERS, strict=True)]
    changed = [Record(prompts[0] + r.text_a, prompts[1] + r.text_b, label=r.label) for r in given]
    found = [answer.scores for answer in ta.predict(models[0], given)]
    expected = [answer.scores for answer in ta.predict(models[1], changed)]
    np.testing.assert_allclose(found, expected, atol=1e-6)
    ta.export(models[0], tmp_path / "export")
    serve = tf.saved_model.load(tmp_path / "export").signatures["serving_default"]
    served = serve(text_a=tf.constant(TEXTS), text_b=tf.constant(OTHERS))["scores"]
    np.testing.assert_allclose(served, expected, atol=1e-5)


def test_what_does_not_fit_is_refused(tiny_bert):
    for prompts, message in [
        (["a", "b", "c"], "a list of two for the texts of a pair, got"),
        ([""], "expected a text that is put before"),
        (3, "expected a text that is put before"),
    ]:
        with pytest.raises(ConfigError, match=message):
            ta.HubEncoder(tiny_bert, prompts=prompts)
    with pytest.raises(ConfigError, match="none together with long"):
        ta.HubEncoder(tiny_bert, prompts="a", long=ta.LongTexts(8, 3))
    encoder = ta.HubEncoder(tiny_bert, prompts="a")
    with pytest.raises(ConfigError, match="expected none for a task on the words of a text"):
        ta.build_model(TASKS["tagging"], encoder)


def config(**changes):
    return config_from(
        {
            "data": {"dataset": "sample_classification", "source": "sample"},
            "encoder": {"handle": "bert_small", "prompts": "query: "},
            "adaptation": "fine_tuning",
        }
        | changes,
        "config",
    )


def test_in_a_config_and_the_names_of_cells():
    one = config()
    assert cell_name(one, "default", None) == "bert_small-query__-fine_tuning"
    long = [f"{'query ' * 100}{end}" for end in "ab"]
    named = [
        cell_name(config(encoder={"handle": "bert_small", "prompts": text}), "default", None)
        for text in long
    ]
    assert len(set(named)) == 2 and all(
        re.fullmatch("bert_small-(query_){5}_[0-9a-f]{8}-fine_tuning", name) for name in named
    )
    assert encoder_in_words(one.encoder) == 'bert_small "query: "'
    for encoder, data, message in [
        ({"prompts": [""]}, "classification", "encoder.prompts.*: expected a text"),
        ({"prompts": "a", "long": {}}, "classification", "null together with encoder.long"),
        ({"prompts": ["a"]}, "tagging", "expected null for tagging, which reads words"),
        ({"prompts": ["a", "b"]}, "regression", "encoder.prompts: expected one text.*got 2"),
    ]:
        with pytest.raises(ConfigError, match=message):
            config(
                encoder={"handle": "bert_small"} | encoder,
                data={"dataset": f"sample_{data}", "source": "sample"},
            )
