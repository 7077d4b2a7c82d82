"""What `linear` reads of a frozen encoder, standardised once, over the training texts alone."""

import keras
import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

import tf_adapt as ta
from tf_adapt.config.reading import config_from
from tf_adapt.data.splits.read_splits import load_splits
from tf_adapt.errors import ConfigError
from tf_adapt.models.standardising import standardise
from tf_adapt.training.finished.load_run import load_run
from tf_adapt.training.resolving.session import Session
from tf_adapt.training.train import train

TASK = ta.Task("classification", labels=["no", "yes"])
TEXTS = ["ab cd", "e f", "the what", "cd cd e", "who is the man", "a city"]
LABELS = ["no", "yes", "no", "yes", "yes", "no"]


def made(handle, **options):
    encoder = ta.HubEncoder(handle, trainable=False)
    return ta.build_model(TASK, encoder, "linear", **options)


def means_of(encoder, texts) -> np.ndarray:
    """Of each layer, the mean state of the words: `[texts, layers · width]`."""
    rows = []
    for text in texts:
        encoded = encoder([text])
        rows.append(np.concatenate([layer[0, 1:-1].numpy().mean(0) for layer in encoded["layers"]]))
    return np.stack(rows)


def fitted(model, texts=TEXTS, labels=LABELS, **options):
    model.compile(keras.optimizers.Adam(0.05), loss=TASK.loss, run_eagerly=True)
    model.fit(ta.batches((texts, labels), TASK, model.encoder, batch_size=4), verbose=0, **options)
    return model


@pytest.mark.slow
def test_fit_takes_the_texts_of_the_first_training(shallow_bert, tmp_path):
    model = fitted(made(shallow_bert))
    scaler = StandardScaler().fit(means_of(model.encoder, TEXTS))
    scaling = model.head.scaling
    np.testing.assert_allclose(scaling.mean.numpy().ravel(), scaler.mean_, atol=1e-5)
    np.testing.assert_allclose(scaling.deviation.numpy().ravel(), scaler.scale_, atol=1e-5)
    before = [weight.numpy() for weight in scaling.weights]
    model.save(tmp_path / "model.keras")
    loaded = fitted(keras.saving.load_model(tmp_path / "model.keras"), TEXTS[:3], LABELS[:3])
    for weight, value in zip(loaded.head.scaling.weights, before, strict=True):
        np.testing.assert_array_equal(weight.numpy(), value)


@pytest.mark.slow
def test_an_endless_dataset_is_read_for_the_steps_of_an_epoch(shallow_bert):
    model = made(shallow_bert)
    model.compile(keras.optimizers.Adam(0.05), loss=TASK.loss, run_eagerly=True)
    batches = ta.batches((TEXTS, LABELS), TASK, model.encoder, batch_size=2, shuffle=False)
    model.fit(batches.repeat(), steps_per_epoch=2, verbose=0)
    assert model.head.scaling.texts.numpy() == 4


def test_a_pass_over_batches_is_no_epoch(shallow_bert):
    model = made(shallow_bert)
    model.compile(keras.optimizers.Adam(0.05), loss=TASK.loss, run_eagerly=True)
    batches = [
        ta.batches((TEXTS, LABELS), TASK, model.encoder, batch_size=2, skip=skip) for skip in (0, 2)
    ]
    once = (batch for batch in batches[0])
    with pytest.raises(ConfigError, match=r"read twice.* got generator; write model.fit\(ta.batc"):
        model.fit(once, verbose=0)
    standardise(model, batches[1])
    assert model.head.scaling.texts.numpy() == len(TEXTS)
    epochs = [[labels.numpy().tolist() for _, labels in one] for one in batches for _ in range(2)]
    assert epochs[2] == epochs[0][2:] and epochs[3] == epochs[1] != epochs[0]


@pytest.mark.slow
def test_the_texts_of_a_validation_split_are_not_read(shallow_bert):
    model = made(shallow_bert)
    model.compile(keras.optimizers.Adam(0.05), loss=TASK.loss, run_eagerly=True)
    whole = ta.batches((TEXTS, LABELS), TASK, model.encoder, batch_size=6, shuffle=False)
    x, y = next(iter(whole))
    model.fit(x, y, validation_split=0.5, batch_size=3, verbose=0)
    expected = means_of(model.encoder, TEXTS[:3]).mean(0)
    np.testing.assert_allclose(model.head.scaling.mean.numpy().ravel(), expected, atol=1e-5)
    assert model.head.scaling.texts.numpy() == 3


def test_what_is_given_wins(shallow_bert):
    expected = {
        "mean mixed scaled": {},
        "None": {"head_scaled": False},
        "max mixed": {"head_pooling": "max", "head_scaled": False},
        "mean scaled": {"head_mixed": False},
        "first mixed scaled": {"head_pooling": "first"},
    }
    for words, options in expected.items():
        head = made(shallow_bert, **options).head
        on = [name for name in ("mixed", "scaled") if getattr(head, name)]
        assert " ".join([str(head.pooling), *on]) == words
    tuned = ta.HubEncoder(shallow_bert)
    assert ta.build_model(TASK, tuned, "linear").head.pooling is None
    assert ta.build_model(TASK, tuned, "linear", head_pooling="mean", head_mixed=True).head.mixed
    with pytest.raises(ConfigError, match="head_scaled: expected null or false on an encoder that"):
        ta.build_model(TASK, tuned, "linear", head_scaled=True)
    with pytest.raises(ConfigError, match="head_scaled: expected null or false for the head bcn"):
        made_of = ta.HubEncoder(shallow_bert, trainable=False)
        ta.build_model(TASK, made_of, "bcn", head_scaled=True)
    with pytest.raises(ConfigError, match="head_mixed: expected null for the head linear, which"):
        ta.build_model(TASK, tuned, "linear", head_mixed=True)


@pytest.mark.slow
def test_each_fold_has_its_own_training_texts(shallow_bert, tmp_path):
    rows = "".join(f"text {n} of {n % 7} cd\t{'ab'[n % 2]}\n" for n in range(50))
    (tmp_path / "all.tsv").write_text("t\tl\n" + rows, "utf-8")
    session = Session()
    for number in range(2):
        data = {"format": "tsv", "kind": "classification", "train": str(tmp_path / "all.tsv")}
        data |= {"columns": {"text": "t", "label": "l"}}
        data |= {"fold": {"of": 2, "leave_out": number, "seed": 4}}
        content = {
            "data": data,
            "encoder": {"handle": str(shallow_bert)},
            "head": "linear",
            "adaptation": "feature_extraction",
            "training": {"epochs": 1, "batch_size": 4, "learning_rate": 0.01},
        }
        config = config_from(content, "test")
        metrics = train(config, tmp_path / str(number), session)
        assert metrics["reads"] == (
            "the mean of the states of all layers in a learned mix, standardised"
        )
        model = load_run(tmp_path / str(number))
        texts = [record.text_a for record in load_splits(config.data).examples["train"]]
        expected = means_of(model.encoder, texts)
        assert model.head.scaling.texts.numpy() == len(texts) < 25
        found = model.head.scaling.mean.numpy().ravel()
        np.testing.assert_allclose(found, expected.mean(0), atol=1e-5)
