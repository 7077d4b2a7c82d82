"""Programs of strangers: refused without trust, tried in a process of their own (finding 7, A4).

A manifest proves that files are whole, not who made them: each of these has a valid one.
"""

import os
import shutil
import signal
import stat
import time
from pathlib import Path

import pytest
import tensorflow as tf
from click.testing import CliRunner
from made_runs import make_run

import tf_adapt as ta
from hub_modules.export import native_encoder, write_module
from hub_modules.load import load_module
from hub_modules.manifest import module_hash, read_manifest, write_manifest
from hub_modules.programs import saved_model, trusted
from hub_modules.shipped import PRETRAINED
from hub_modules.sources import ModuleSource
from tf_adapt.commands.main import cli
from tf_adapt.errors import ArtifactError, ConfigError
from tf_adapt.training.finished.load_run import load_run
from tf_adapt.training.finished.run_export import export_run
from tf_adapt.training.finished.trained_run import evaluate_file, predict_file

ELMO = {
    "filters": [[1, 4], [2, 4]],
    "character_width": 4,
    "num_highway": 1,
    "projection_width": 6,
    "lstm_width": 5,
    "num_layers": 1,
}
WORD = tf.TensorSpec([None, None], tf.string, name="tokens")
LENGTH = tf.TensorSpec([None], tf.int32, name="sequence_len")
REFUSED = "a program that would run with your rights.*proves that it is whole, not who made it"


class Stranger(tf.__internal__.tracking.AutoTrackable):
    """A module with the interface of ELMo that notes in a file that it ran."""

    def __init__(self, marker: Path):
        self.marker = str(marker)
        self.weight = tf.Variable(1.0)
        self.variables = self.trainable_variables = [self.weight]

    @tf.function(
        input_signature=[{"tokens": WORD, "sequence_len": LENGTH}, tf.TensorSpec([], bool)]
    )
    def __call__(self, inputs, training):
        tf.io.write_file(self.marker, "it ran")
        words = tf.zeros(tf.concat([tf.shape(inputs["tokens"]), [6]], 0)) + self.weight
        wide = tf.concat([words, words], axis=-1)
        return {"word_emb": words, "lstm_outputs1": wide}


class Endless(Stranger):
    """Its initializer, which runs while it is loaded, never ends."""

    class Resource(tf.saved_model.experimental.TrackableResource):
        def _create_resource(self):
            return tf.raw_ops.MutableHashTableV2(key_dtype=tf.string, value_dtype=tf.int64)

        def _initialize(self):
            # Something random, for a loop without effects would be optimized away.
            tf.while_loop(
                lambda count: count >= 0.0,
                lambda count: count + tf.random.uniform([]) * 0.0,
                [tf.constant(0.0)],
            )

    def __init__(self, marker: Path):
        super().__init__(marker)
        self.endless = Endless.Resource()


def write_stranger(folder: Path, kind=Stranger, manifest: bool = True) -> Path:
    """A module whose maker sealed it."""
    marker = folder.parent / f"{folder.name}_ran"
    tf.saved_model.save(kind(marker), str(folder / "encoder"))
    if manifest:
        contract = {"kind": "elmo", "config": ELMO, "lower_case": None}
        write_manifest(folder, contract | {"groups": [], "weights": {}})
    return marker


@pytest.fixture
def quick(monkeypatch):
    """No trial in a child process: what is tested is who may run."""
    tried = []
    monkeypatch.setattr(saved_model, "try_out", lambda folder, kind: tried.append((folder, kind)))
    return tried


@pytest.mark.parametrize("manifest", [True, False])
def test_a_program_needs_trust_once(tmp_path, nothing_trusted, quick, manifest):
    marker = write_stranger(tmp_path / "module", manifest=manifest)
    message = REFUSED if manifest else "no manifest.*trust=True"
    with pytest.raises(ArtifactError, match=message):
        load_module(tmp_path / "module", execution="saved_model")
    assert not marker.exists() and not quick and not nothing_trusted.exists()
    module = load_module(tmp_path / "module", execution="saved_model", trust=True)
    module.encoder.example_layers()
    assert marker.exists()
    assert quick == [(tmp_path / "module" / "encoder", "encoder")]
    assert nothing_trusted.read_text() == f"{module.hash}\n"
    assert stat.S_IMODE(nothing_trusted.stat().st_mode) == 0o600
    assert stat.S_IMODE(nothing_trusted.parent.stat().st_mode) == 0o700
    trusted._here.clear()  # as in another process
    shutil.copytree(tmp_path / "module", tmp_path / "copy")
    load_module(tmp_path / "copy", execution="saved_model")
    assert len(quick) == 1
    weights = next((tmp_path / "copy/encoder/variables").glob("*.data-*"))
    weights.write_bytes(weights.read_bytes() + b"x")
    if manifest:
        contract = read_manifest(tmp_path / "copy").model_dump(exclude={"format", "files"})
        write_manifest(tmp_path / "copy", contract)
    with pytest.raises(ArtifactError, match=message):
        load_module(tmp_path / "copy", execution="saved_model")


def test_native_weights_with_a_manifest_need_no_trust(nothing_trusted, tmp_path, tiny_bert):
    assert load_module(tiny_bert).execution == "native"
    assert load_module("bert_small").execution == "native"
    assert not nothing_trusted.exists()


def test_a_module_that_ships_may_run(nothing_trusted, quick, tmp_path):
    copied = shutil.copytree(PRETRAINED / "elmo_small", tmp_path / "copy")
    assert load_module(copied, execution="saved_model").execution == "saved_model"
    assert not quick and not nothing_trusted.exists()


@pytest.mark.slow
def test_what_one_wrote_may_run(nothing_trusted, quick, tmp_path):
    encoder = native_encoder("elmo", ELMO)
    weights = {name: weight.numpy() for name, weight in encoder.weights_by_name().items()}
    write_module(ModuleSource("elmo", ELMO, weights), tmp_path / "module")
    load_module(tmp_path / "module", execution="saved_model")
    assert not quick
    nothing_trusted.unlink()
    trusted._here.clear()
    with pytest.raises(ArtifactError, match=REFUSED):
        load_module(tmp_path / "module", execution="saved_model")


def test_the_hash_covers_what_links_lead_to(tmp_path):
    """Else whoever changes what a link leads to changes a trusted program."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "saved_model.pb").write_bytes(b"one")
    (tmp_path / "module").mkdir()
    (tmp_path / "module" / "encoder").symlink_to(tmp_path / "elsewhere")
    before = module_hash(tmp_path / "module")
    (tmp_path / "elsewhere" / "saved_model.pb").write_bytes(b"two")
    assert module_hash(tmp_path / "module") != before
    (tmp_path / "elsewhere" / "again").symlink_to(tmp_path / "module")
    with pytest.raises(ArtifactError, match="second link"):
        module_hash(tmp_path / "module")


def test_a_record_that_cannot_be_written_is_a_warning(
    tmp_path, nothing_trusted, quick, monkeypatch, caplog
):
    def load_twice(name: str) -> None:
        write_stranger(tmp_path / name)
        load_module(tmp_path / name, execution="saved_model", trust=True)
        assert "will ask again for trust" in caplog.text
        caplog.clear()
        load_module(tmp_path / name, execution="saved_model")  # this process remembers

    (tmp_path / "state").write_text("")
    load_twice("a file")
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    load_twice("no home")


@pytest.mark.slow
def test_a_runs_config_is_not_the_users_word(tmp_path, nothing_trusted, quick):
    write_stranger(tmp_path / "module")
    (tmp_path / "pairs.tsv").write_text("text_a\ttext_b\tscore\nIt rains .\tSun .\t1\n", "utf-8")
    settings = {"execution": "saved_model", "trust": True}
    arguments = {"adaptation": "feature_extraction", "encoder": settings}
    make_run(tmp_path / "run", tmp_path / "module", "pair_regression", **arguments)
    assert load_run(tmp_path / "run").encoder.execution == "saved_model"  # a run of one's own
    nothing_trusted.unlink()
    trusted._here.clear()
    pairs, out = tmp_path / "pairs.tsv", tmp_path / "out.tsv"
    uses = {
        "load": lambda **trust: load_run(tmp_path / "run", **trust),
        "evaluate": lambda **trust: evaluate_file(tmp_path / "run", pairs, **trust),
        "predict": lambda **trust: predict_file(tmp_path / "run", pairs, out, **trust),
        "export": lambda **trust: export_run(tmp_path / "run", tmp_path / "versions", **trust),
    }
    for use in uses.values():
        with pytest.raises(ArtifactError, match=REFUSED):
            use()
    uses["load"](trust=True)
    uses["predict"]()


def test_a_saved_layer_is_not_the_users_word(tmp_path, nothing_trusted, quick):
    write_stranger(tmp_path / "module")
    arguments = {"trainable": False, "execution": "saved_model"}
    encoder = ta.HubEncoder(tmp_path / "module", trust=True, **arguments)
    ta.HubEncoder.from_config(encoder.get_config())
    nothing_trusted.unlink()
    trusted._here.clear()
    with pytest.raises(ArtifactError, match=REFUSED):
        ta.HubEncoder.from_config(encoder.get_config())


def predicted(folder: Path, tmp_path: Path, *options: str):
    (tmp_path / "texts.tsv").write_text("text_a\nA warm film .\n", "utf-8")
    places = ["--input", str(tmp_path / "texts.tsv"), "--output", str(tmp_path / "out.tsv")]
    return CliRunner().invoke(cli, ["predict", str(folder), *places, *options])


@pytest.mark.slow
def test_an_export_of_ones_own_is_predicted_with_and_one_from_elsewhere_needs_trust_once(
    shallow_bert, tmp_path, nothing_trusted
):
    encoder = ta.HubEncoder(shallow_bert, trainable=False)
    model = ta.build_model(ta.Task("classification", labels=["no", "yes"]), encoder, "linear")
    folder = ta.export(model, tmp_path / "1")
    assert predicted(folder, tmp_path).exit_code == 0
    (tmp_path / "out.tsv").unlink()
    nothing_trusted.unlink()
    trusted._here.clear()
    done = predicted(folder, tmp_path)
    assert done.exit_code == 4, done.output
    assert "neither ships with this project nor was written or trusted by you" in done.output
    assert "--trust" in done.output and not (tmp_path / "out.tsv").exists()
    assert predicted(folder, tmp_path, "--trust").exit_code == 0
    trusted._here.clear()
    assert predicted(folder, tmp_path).exit_code == 0


@pytest.mark.slow
def test_a4_a_module_that_hangs_on_load(tmp_path, nothing_trusted, monkeypatch):
    write_stranger(tmp_path / "module", Endless)
    monkeypatch.setenv("TF_ADAPT_LOAD_TIMEOUT", "10")
    start = time.monotonic()
    with pytest.raises(ArtifactError, match="within 10 seconds.*TF_ADAPT_LOAD_TIMEOUT"):
        load_module(tmp_path / "module", execution="saved_model", trust=True)
    assert time.monotonic() - start < 25
    assert not nothing_trusted.exists()


def test_a4_a_module_that_crashes_on_load(tmp_path, nothing_trusted, monkeypatch):
    """The child is a program that kills itself, in place of a graph that would."""
    write_stranger(tmp_path / "module")
    program = tmp_path / "python"
    program.write_text(f"#!/bin/sh\nkill -{signal.SIGSEGV.value} $$\n")
    program.chmod(0o700)
    monkeypatch.setattr(saved_model.sys, "executable", str(program))
    with pytest.raises(ArtifactError, match="crashes the process that loads it.*SIGSEGV"):
        load_module(tmp_path / "module", execution="saved_model", trust=True)
    assert not nothing_trusted.exists()


@pytest.mark.slow
def test_a4_a_module_that_fails_in_its_trial_which_imports_nothing_from_the_current_folder(
    tmp_path, nothing_trusted, monkeypatch
):
    class Failing(Stranger):
        @tf.function(
            input_signature=[{"tokens": WORD, "sequence_len": LENGTH}, tf.TensorSpec([], bool)]
        )
        def __call__(self, inputs, training):
            check = tf.debugging.Assert(training, ["out of order"])
            with tf.control_dependencies([check]):
                return {"word_emb": tf.identity(self.weight)}

    write_stranger(tmp_path / "module", Failing)
    for name in ("click", "pydantic", "numpy", "hub_modules"):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'imported')!r}, 'w')")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ArtifactError, match="it loads, but fails when it is called"):
        load_module(tmp_path / "module", execution="saved_model", trust=True)
    assert not (tmp_path / "imported").exists()
    assert not nothing_trusted.exists()


def test_a4_a_limit_that_is_none(tmp_path, nothing_trusted, monkeypatch):
    write_stranger(tmp_path / "module")
    for value in ("0", "-3", "nan", "long"):
        monkeypatch.setenv("TF_ADAPT_LOAD_TIMEOUT", value)
        with pytest.raises(ConfigError, match="TF_ADAPT_LOAD_TIMEOUT: expected a number of sec"):
            load_module(tmp_path / "module", execution="saved_model", trust=True)
