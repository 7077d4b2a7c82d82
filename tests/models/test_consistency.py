"""A consistency loss in a model: what is compared, what learns from it, what cannot have one."""

import shutil

import keras
import numpy as np
import pytest
import tensorflow as tf
from language_models import without_dropout

import tf_adapt as ta
from hub_modules.native.given_states import PERTURBATION
from tf_adapt.data.consistency_batches import PERTURBED, UNLABELLED, WORDS
from tf_adapt.errors import ConfigError
from tf_adapt.models.signals.consistency import Consistency
from tf_adapt.training.resolving.compiled_model import precision

TASK = ta.Task("classification", labels=["no", "yes"])
PAIRS = ta.Task("pair_classification", labels=["no", "yes"])
SETS = ta.Task("multilabel_classification", labels=["new", "old", "good"])
TAGS = ta.Task("tagging", labels=["O", "B-A", "I-A"])
TEXTS = [("a good film", "yes"), ("b", "no"), ("what is the time", "yes")]
QUIET = {"verbose": 0, "return_dict": True}
MORE = ["who is the man", "the man", "is it", "what a day it is"]


@pytest.fixture(scope="module")
def calm(shallow_bert, tmp_path_factory):
    """A BERT without dropout."""
    module = tmp_path_factory.mktemp("calm") / "bert"
    shutil.copytree(shallow_bert, module)
    return without_dropout(module)


def examples(task):
    """Labelled ones and unlabelled ones of a kind of task."""
    texts, more = TEXTS, MORE
    match task.kind:
        case "pair_classification":
            return [(text, "the man", label) for text, label in texts], [(one, "b") for one in more]
        case "multilabel_classification":
            return [(text, ["new", "good"]) for text, _ in texts], more
        case "tagging":
            tagged = [(text.split(), ["O"] * len(text.split())) for text, _ in texts]
            return tagged, [one.split() for one in more]
    return texts, more


def made(
    module,
    perturbation,
    task=TASK,
    weight=1.0,
    head_dropout=0.0,
    adaptation=None,
    eager=False,
    **more,
):
    keras.utils.set_random_seed(4)
    encoder = ta.HubEncoder(module, trainable=adaptation != "feature_extraction")
    objective = ta.consistency_objective(task, encoder, perturbation, **more)
    head = "linear_tagger" if task.kind == "tagging" else "linear"
    model = ta.build_model(
        task,
        encoder,
        head,
        adaptation,
        head_dropout=head_dropout,
        auxiliaries=[ta.AuxiliaryLoss(objective, weight)],
    )
    random = np.random.default_rng(0)
    for variable in model.head.trainable_weights:
        variable.assign(random.normal(0, 1, variable.shape))
    compiled = {"metrics": task.metrics, "jit_compile": False, "run_eagerly": eager}
    model.compile(keras.optimizers.SGD(0.0), task.loss, **compiled)
    return model


def batches(model, perturbation, **more):
    records, unlabelled = examples(model.task)
    given = (records, unlabelled, model.task, model.encoder)
    return ta.consistency_batches(*given, batch_size=3, perturbation=perturbation, **more)


def first(dataset):
    return next(iter(dataset))


def numpy_divergence(wanted, given):
    wanted, given = (tf.nn.log_softmax(one).numpy() for one in (wanted, given))
    return (np.exp(wanted) * (wanted - given)).sum(-1)


@pytest.mark.slow
def test_the_loss_of_other_words_by_hand(calm):
    """Weight times the mean over all unlabelled texts, those below the threshold too."""
    model = made(calm, "words", weight=0.5, temperature=0.7, confidence=0.6)
    inputs, targets = first(batches(model, "words", rate=0.9))
    logits = model(inputs[UNLABELLED]).numpy()
    other = model(inputs[PERTURBED]).numpy()
    above = tf.nn.softmax(logits).numpy().max(-1) > 0.6
    losses = above * numpy_divergence(logits / 0.7, other)
    assert above.any() and losses.max() > 1e-4
    alone = float(TASK.loss(targets, model(inputs)))
    found = model.train_on_batch(inputs, targets, return_dict=True)
    assert found["loss"] == pytest.approx(alone + 0.5 * losses.mean(), rel=1e-4)
    assert found["consistency_loss"] == pytest.approx(losses.mean(), rel=1e-4)
    assert found["confident"] == pytest.approx(above.mean())


def test_no_gradient_through_the_original(calm):
    """With the second pass held fixed the gradient is exactly zero; through it, it is not."""
    model = made(calm, "words")
    inputs, _ = first(batches(model, "words", rate=0.9))
    objective = model.auxiliaries[0].objective
    for fixed in (UNLABELLED, PERTURBED):

        def outputs_of(texts, training, fixed=fixed):
            outputs = model(texts, training=training)
            return tf.stop_gradient(outputs) if texts is inputs[fixed] else outputs

        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(objective.call(inputs, outputs_of=outputs_of, training=True))
        found = tape.gradient(loss, model.trainable_weights)
        if fixed == PERTURBED:
            assert all(one is None for one in found)
        else:
            assert max(float(tf.reduce_max(tf.abs(one))) for one in found if one is not None) > 1e-4


def test_without_dropout_nothing_differs_between_the_passes(
    calm, tiny_elmo, shallow_bert, tmp_path
):
    words = tmp_path / "vectors.txt"
    words.write_text("the 0.1 0.2\nman 0.3 0.4\n", "utf-8")
    for module, head in ((calm, "linear"), (tiny_elmo, "linear"), (words, "max_pooling")):
        task = PAIRS if head == "max_pooling" else TASK
        encoder = ta.HubEncoder(str(module))
        loss = ta.AuxiliaryLoss(ta.consistency_objective(task, encoder, "dropout"))
        given = {"adaptation": "fine_tuning", "auxiliaries": [loss]}
        with pytest.raises(ConfigError, match="expected dropout in head or encoder .*has none: bo"):
            ta.build_model(task, encoder, head, head_dropout=0.0, **given)
        ta.build_model(task, encoder, head, head_dropout=0.1, **given)
    with pytest.raises(
        ConfigError, match=r"family bert\), which is frozen: both predictions would"
    ):
        made(shallow_bert, "dropout", adaptation="feature_extraction")


@pytest.mark.slow
def test_masked_pieces_change_from_step_to_step(calm):
    model = made(calm, "mask", masked=0.5, eager=True)
    inputs, targets = first(batches(model, "mask"))
    found = []
    for _ in range(3):
        model.reset_metrics()
        found.append(model.train_on_batch(inputs, targets, return_dict=True)["consistency_loss"])
    assert min(found) > 0 and len(set(found)) == 3


@pytest.mark.slow
def test_adversarial_embeddings_change_more_than_random_ones(calm):
    model = made(calm, "adversarial", epsilon=0.3)
    inputs, _ = first(batches(model, "adversarial"))
    texts, seen = inputs[UNLABELLED], []

    def outputs_of(given, training):
        seen.append(given["a"].get(PERTURBATION))
        return model(given, training=training)

    objective = model.auxiliaries[0].objective
    given = {"encoder": model.encoder, "outputs_of": outputs_of, "training": True}
    losses = objective.call(inputs, **given).numpy()
    noise = seen[-1].numpy()
    encoded = model.encoder(texts["a"])
    mask = encoded["mask"].numpy()[..., None]
    norms = np.sqrt(((encoded["layers"][0].numpy() * mask) ** 2).sum((1, 2)))
    np.testing.assert_allclose(np.sqrt((noise**2).sum((1, 2))), 0.3 * norms, rtol=1e-4)
    assert (noise * ~mask == 0).all()
    random = np.random.default_rng(3)
    logits = model(texts)
    for _ in range(5):
        other = random.normal(0, 1, noise.shape) * mask
        other *= 0.3 * (norms / np.sqrt((other**2).sum((1, 2))))[:, None, None]
        perturbed = {"a": texts["a"] | {PERTURBATION: tf.constant(other, tf.float32)}}
        assert numpy_divergence(logits, model(perturbed)).sum() < losses.sum()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("task", "perturbation", "family"),
    [
        (PAIRS, "adversarial", "elmo"),
        (TAGS, "noise", "bert"),
        pytest.param(SETS, "mask", "bert", marks=pytest.mark.large),
        pytest.param(TAGS, "dropout", "elmo", marks=pytest.mark.large),  # in the head alone
        (TASK, "adversarial", "causal"),
    ],
)
def test_kinds_and_families(task, perturbation, family, shallow_bert, tiny_elmo, shallow_causal):
    module = {"bert": shallow_bert, "elmo": tiny_elmo, "causal": shallow_causal}[family]
    options = {"head_dropout": 0.2, "confidence": 0.34, "eager": True}
    model = made(module, perturbation, task, **options)
    found = model.train_on_batch(*first(batches(model, perturbation)), return_dict=True)
    assert found["consistency_loss"] > 1e-6 and 0 < found["confident"] <= 1
    found = model.evaluate(ta.batches(examples(task)[0], task, model.encoder), **QUIET)
    assert not {"consistency_loss", "confident"} & set(found)


@pytest.mark.slow
def test_a_head_on_a_frozen_encoder(shallow_bert):
    options = {"head_dropout": 0.5, "adaptation": "feature_extraction", "eager": True}
    model = made(shallow_bert, "adversarial", **options)
    before = [weight.numpy() for weight in model.encoder.weights]
    model.optimizer.learning_rate = 0.1
    found = model.train_on_batch(*first(batches(model, "adversarial")), return_dict=True)
    assert found["consistency_loss"] > 0
    for weight, old in zip(model.encoder.weights, before, strict=True):
        np.testing.assert_array_equal(weight.numpy(), old)


def test_words_of_a_sentence_count_and_padding_does_not(calm):
    model = made(calm, "mask", TAGS, masked=0.5)
    inputs, _ = first(batches(model, "mask"))
    objective = model.auxiliaries[0].objective
    given = {"outputs_of": lambda texts, training: model(texts), "training": True}
    losses = objective.call(inputs, **given).numpy()
    lengths = (inputs[UNLABELLED]["a"]["first_piece"].numpy() >= 0).sum(1)
    assert lengths.min() < lengths.max()
    np.testing.assert_array_equal((losses >= 0).sum(1), lengths)


def test_four_views_of_each_word(tiny_elmo):
    """By hand: each view reads one direction, of the word or of its neighbour; the words beyond a
    view's reach change nothing, and the head learns nothing from them."""
    model = made(tiny_elmo, "views", TAGS, adaptation="fine_tuning")
    inputs, _ = first(batches(model, "views"))
    objective, texts = model.auxiliaries[0].objective, inputs[UNLABELLED]["a"]
    states = model.encoder(texts)["layers"][-1].numpy()
    half = states.shape[-1] // 2
    zeros = np.zeros_like(states[:, :1, :half])
    views = [
        states[..., :half],
        states[..., half:],
        np.concatenate([zeros, states[:, :-1, :half]], 1),
        np.concatenate([states[:, 1:, half:], zeros], 1),
    ]
    wanted, real = model({"a": texts}).numpy(), inputs[WORDS].numpy()
    expected = np.zeros(real.shape)
    layers = zip(views, objective.views.hidden, objective.views.output_layers, strict=True)
    for view, hidden, output in layers:
        values = np.maximum(view @ hidden.kernel.numpy() + hidden.bias.numpy(), 0)
        logits = values @ output.kernel.numpy() + output.bias.numpy()
        expected += numpy_divergence(wanted, logits)
    given = {
        "encoder": model.encoder,
        "outputs_of": lambda given, training: model(given, training=training),
        "training": True,
    }
    with tf.GradientTape() as tape:
        losses = objective.call(inputs, **given)
        total = tf.reduce_sum(losses)
    np.testing.assert_allclose(losses, np.where(real, expected, -1), atol=1e-5)
    weights = [*model.head.trainable_weights, *objective.trainable_weights]
    found = tape.gradient(total, weights + model.encoder.trainable_weights)
    of_head, of_views = found[:2], found[2:18]
    assert of_head == [None, None] and len(objective.trainable_weights) == 16
    assert all(float(tf.reduce_max(tf.abs(one))) > 0 for one in of_views[::2])
    assert any(one is not None for one in found[18:])
    again = Consistency.from_config(objective.get_config())
    assert [one.shape for one in again.weights] == [one.shape for one in objective.weights]


def test_views_need_two_directions(calm, tiny_elmo):
    with pytest.raises(ConfigError, match="expected a native ELMo for perturbation views, .*bert"):
        made(calm, "views", TAGS)
    with pytest.raises(ConfigError, match="expected a tuned encoder for perturbation views"):
        made(tiny_elmo, "views", TAGS, adaptation="feature_extraction")
    with pytest.raises(ConfigError, match="mask, .* or paraphrases for classification, got views"):
        made(tiny_elmo, "views")


@pytest.mark.slow
def test_half_precision(shallow_bert):
    with precision("bfloat16"):
        model = made(shallow_bert, "mask", eager=True)
        found = model.train_on_batch(*first(batches(model, "mask")), return_dict=True)
        assert np.isfinite(found["loss"]) and found["consistency_loss"] > 0
        with pytest.raises(ConfigError, match="expected float32 for perturbation adversarial"):
            made(shallow_bert, "adversarial")


def test_a_saved_model_has_it_still(calm, tmp_path):
    model = made(calm, "mask", masked=0.4, temperature=0.5, confidence=0.7)
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    one, two = (each.auxiliaries[0].objective for each in (model, loaded))
    assert isinstance(two, Consistency)
    assert one.get_config() == two.get_config()


@pytest.mark.slow
def test_what_cannot_be_consistent(shallow_bert, tiny_elmo):
    encoder = ta.HubEncoder(shallow_bert)
    for task, perturbation, message in (
        (
            ta.Task("regression"),
            "dropout",
            "expected a classification or tagging, .*got regression",
        ),
        (ta.Task("language_model"), "dropout", "got language_model"),
        (
            TAGS,
            "words",
            "expected perturbation dropout, mask, noise, adversarial or views for tagging",
        ),
        (TASK, "shuffling", "perturbation: expected one of dropout, .*got 'shuffling'"),
    ):
        with pytest.raises(ConfigError, match=message):
            ta.consistency_objective(task, encoder, perturbation)
    for name, value in (("temperature", 0.0), ("confidence", 1.0), ("masked", 1), ("epsilon", -1)):
        with pytest.raises(ConfigError, match=f"consistency {name}: expected a number above 0"):
            ta.consistency_objective(TASK, encoder, "dropout", **{name: value})
    with pytest.raises(ConfigError, match="a mask piece for perturbation mask, .*family elmo"):
        ta.consistency_objective(TASK, ta.HubEncoder(tiny_elmo), "mask")
    loss = ta.AuxiliaryLoss(ta.consistency_objective(TAGS, encoder))
    with pytest.raises(ConfigError, match="head: expected one without a CRF together with consis"):
        ta.build_model(TAGS, encoder, "crf", auxiliaries=[loss])
    model = made(shallow_bert, "dropout")
    inputs, targets = first(ta.batches(TEXTS, TASK, model.encoder))
    with pytest.raises(ConfigError, match="expected batches with unlabelled texts, got some with"):
        model.train_on_batch(inputs, targets)


def test_batches_of_another_perturbation(calm):
    model = made(calm, "words", eager=True)
    inputs, targets = first(batches(model, "dropout"))
    with pytest.raises(ConfigError, match="others in their place, .*perturbation='words'"):
        model.train_on_batch(inputs, targets)
