"""`fit` of a model with an adaptation in phases: it goes through them without being told."""

import keras
import numpy as np
import pytest
from language_models import with_output_layer

import tf_adapt as ta
from tf_adapt.adaptation.unfreezing import Unfreezing, with_unfreezing
from tf_adapt.training.plan import groups_with_weights

TEXTS = [("ab cd", "yes"), ("e", "no"), ("the who is", "yes"), ("what", "no")]
TASK = ta.Task("classification", labels=["no", "yes"])
GROUPS = ["char_cnn", "lstm_0", "lstm_1", "head"]
CHAIN = [{"head"}, {"char_cnn"}, {"lstm_0"}, {"lstm_1"}, set(GROUPS)]


class Moved(keras.callbacks.Callback):
    """Which groups' weights changed in each epoch."""

    def on_train_begin(self, logs=None):
        self.epochs, self.before = [], self._values()

    def on_epoch_end(self, epoch, logs=None):
        before, self.before = self.before, self._values()
        self.epochs.append(
            {
                name
                for name, values in self.before.items()
                if not all(map(np.array_equal, before[name], values))
            }
        )

    def _values(self):
        groups = groups_with_weights(self.model)
        return {name: [weight.numpy() for weight in weights] for name, weights in groups}


def make_model(handle, adaptation, optimizer=None):
    keras.utils.set_random_seed(3)
    encoder = ta.HubEncoder(handle)
    model = ta.build_model(TASK, encoder, "linear", adaptation, head_dropout=0.0)
    optimizer = optimizer or keras.optimizers.AdamW(1e-2)
    model.compile(optimizer, TASK.loss, metrics=TASK.metrics, run_eagerly=True)
    return model, ta.batches(TEXTS, TASK, encoder, batch_size=2, shuffle=False)


def moved(model, batches, epochs, callbacks=None, **options):
    watch = Moved()
    callbacks = [watch] if callbacks is None else [*callbacks, watch]
    model.fit(batches, epochs=epochs, callbacks=callbacks, verbose=0, **options)
    return watch.epochs


@pytest.mark.slow
def test_the_phases_are_trained_without_a_callback(tiny_elmo):
    model, batches = make_model(tiny_elmo, "chain_thaw")
    assert moved(model, batches, 5) == CHAIN
    # Again, from the beginning and from the middle, with a head that was frozen at times.
    assert moved(model, batches, 2) == CHAIN[:2]
    model.compile(keras.optimizers.AdamW(1e-2), TASK.loss, run_eagerly=True)
    assert moved(model, batches, 5, initial_epoch=3) == CHAIN[3:]
    assert moved(model, batches, 1) == CHAIN[:1]


@pytest.mark.slow
def test_what_the_user_changed_in_between_does_not_stay(tiny_elmo):
    model, batches = make_model(tiny_elmo, "two_stage")
    assert moved(model, batches, 1) == [{"head"}]
    model.encoder.trainable = True
    assert moved(model, batches, 1) == [{"head"}]


@pytest.mark.slow
def test_a_callback_of_the_user_is_the_only_one(tiny_elmo):
    model, batches = make_model(tiny_elmo, "chain_thaw")
    own = Unfreezing(model.encoder, ta.two_stage())
    assert moved(model, batches, 2, callbacks=[own]) == [{"head"}, set(GROUPS)]
    watch = Moved()
    callbacks = keras.callbacks.CallbackList([own, watch], add_history=True, model=model)
    model.fit(batches, epochs=2, verbose=0, callbacks=callbacks)
    assert watch.epochs == [{"head"}, set(GROUPS)]


def test_every_form_of_callbacks_gets_one_callback_more(tiny_elmo):
    model, _ = make_model(tiny_elmo, "two_stage")
    added, other = Unfreezing(model.encoder, "two_stage"), keras.callbacks.History()
    for_another = Unfreezing(ta.HubEncoder(tiny_elmo), "two_stage")
    assert with_unfreezing(None, added) == [added]
    assert with_unfreezing(other, added) == [added, other]
    assert with_unfreezing([(other,), for_another], added) == [added, other, for_another]
    assert with_unfreezing([other, added], Unfreezing(model.encoder, "two_stage")) == [other, added]
    callbacks = keras.callbacks.CallbackList([other], model=model)
    assert with_unfreezing(with_unfreezing(callbacks, added), added) is callbacks
    assert callbacks.callbacks == [added, other] and added.model is model


@pytest.mark.slow
def test_each_phase_is_said_once_unless_fit_is_silent(tiny_elmo, capsys):
    model, batches = make_model(tiny_elmo, ta.two_stage(head_epochs=2))
    model.fit(batches, epochs=3, verbose=2)
    said = [line for line in capsys.readouterr().out.splitlines() if "now training" in line]
    assert said == [
        "two_stage: now training: head",
        "two_stage: now training: char_cnn, lstm_0, lstm_1, head",
    ]
    model.fit(batches, epochs=1, verbose=0)
    assert "now training" not in capsys.readouterr().out


@pytest.mark.slow
def test_a_fit_from_the_first_epoch_forgets_the_patience_of_the_last(tiny_elmo):
    adaptation = ta.two_stage(patience=1)
    model, batches = make_model(tiny_elmo, adaptation)
    unfreezing = Unfreezing(model.encoder, adaptation, monitor="score")

    class Score(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            logs["score"] = 1.0 + epoch  # the first is the best

    for _ in range(2):
        epochs = moved(model, batches, 3, callbacks=[Score(), unfreezing])
        assert [set(GROUPS) == groups for groups in epochs] == [False, False, True]


@pytest.mark.slow
def test_a_saved_model_goes_on_by_itself_with_any_optimizer(tiny_elmo, tmp_path):
    saved_after = 2
    whole, batches = make_model(tiny_elmo, ta.chain_thaw())
    moved(whole, batches, 5)
    model, batches = make_model(tiny_elmo, ta.chain_thaw())
    moved(model, batches, saved_after)
    model.save(tmp_path / "x.keras")
    model = keras.saving.load_model(tmp_path / "x.keras")
    assert moved(model, batches, 5, initial_epoch=saved_after) == CHAIN[saved_after:]
    for one, two in zip(model.weights, whole.weights, strict=True):
        np.testing.assert_array_equal(one.numpy(), two.numpy(), err_msg=one.path)


def test_a_language_model_goes_through_its_phases(tiny_bert, tmp_path):
    encoder = ta.HubEncoder(with_output_layer(tiny_bert, tmp_path / "bert"))
    model = ta.build_language_model(ta.Task("language_model"), encoder, "two_stage")
    assert model.adaptation.name == "two_stage"
    copy = type(model).from_config(model.get_config())
    assert copy.adaptation.as_values(["a", "head"]) == model.adaptation.as_values(
        [*encoder.adaptable_groups, "head"]
    )
