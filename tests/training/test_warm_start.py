"""A run that starts from another: whose weights it has, what it refuses, and what it remembers.

(Cut off and resumed without its start: test_resuming.py.)
"""

import json
import shutil

import keras
import numpy as np
import pytest
import yaml
from language_models import with_output_layer
from made_runs import make_run

import tf_adapt as ta
from hub_modules.native.added.lora import merged
from tf_adapt.comparison.plan.settings import load_comparison
from tf_adapt.config.reading import config_from
from tf_adapt.encoder.starting_point import pretrained_weights
from tf_adapt.errors import ArtifactError, ConfigError
from tf_adapt.runs import checkpoints, run_folder
from tf_adapt.runs.finished_run import chain_in_words
from tf_adapt.training.dry_run import dry_run
from tf_adapt.training.finished.load_run import load_run
from tf_adapt.training.finished.run_cards import run_card
from tf_adapt.training.resolving.build import build_parts
from tf_adapt.training.resolving.session import Session
from tf_adapt.training.resolving.warm_start import in_metrics, starting_run
from tf_adapt.training.steps import Steps
from tf_adapt.training.train import train

# Nearly every one builds several models.
pytestmark = pytest.mark.slow

LORA = {"name": "lora", "rank": 2}


@pytest.fixture(scope="module")
def make_config(shallow_bert):
    def make(
        start=None,
        adaptation="fine_tuning",
        dataset="sample_classification",
        encoder=None,
        training=None,
        **more,
    ):
        content = {
            "data": {"dataset": dataset, "source": "sample", "train_examples": 48},
            "encoder": {"handle": str(shallow_bert)} | (encoder or {}),
            "adaptation": adaptation,
            "training": {"epochs": 1, "batch_size": 16, "learning_rate": 1e-2} | (training or {}),
        }
        if start is not None:
            content["start"] = start if isinstance(start, dict) else {"run": str(start)}
        return config_from(content | more, "test")

    return make


@pytest.fixture(scope="module")
def finished(shallow_bert, tmp_path_factory):
    """Adaptation → a finished run on the sample of classification."""
    made = {}

    def finish(adaptation="fine_tuning"):
        name = adaptation if isinstance(adaptation, str) else adaptation["name"]
        if name not in made:
            folder = tmp_path_factory.mktemp("starts") / name
            made[name] = make_run(folder, shallow_bert, "classification", adaptation=adaptation)
        return made[name]

    return finish


def started(config):
    """The model of a run before its first step."""
    return build_parts(config, starting_run(config)).model


def best_arrays(run):
    (best,) = (run / "checkpoint").glob("best_*")
    return checkpoints.read(best).arrays["model"]


def assert_equal(weights, arrays):
    for weight, array in zip(weights, arrays, strict=True):
        np.testing.assert_array_equal(weight.numpy(), array)


def values(model):
    return [weight.numpy() for weight in model.weights]


@pytest.mark.parametrize("adaptation", ["fine_tuning", LORA], ids=["fine_tuning", "lora"])
def test_equal_models_begin_with_the_best_weights_bit_by_bit(make_config, finished, adaptation):
    run = finished(adaptation)
    model, best = started(make_config(run, adaptation)), best_arrays(run)
    assert_equal(model.weights, [best[str(number)] for number in range(len(best))])
    module = build_parts(make_config(adaptation=adaptation)).model
    assert any((one != two).any() for one, two in zip(values(model), values(module), strict=True))


def test_another_task_gets_the_encoder_and_a_new_head(make_config, finished):
    run = finished()
    config = make_config(run, dataset="sample_pair_classification")
    model, new = started(config), build_parts(make_config(dataset="sample_pair_classification"))
    best = best_arrays(run)
    inside = len(model.encoder.weights)
    assert_equal(model.encoder.weights, [best[str(number)] for number in range(inside)])
    for weight, other in zip(model.head.weights, new.model.head.weights, strict=True):
        assert weight.shape == other.shape
    # `head: false` for the same task: the weights that a new head has with this seed.
    found = []
    for start in ({"run": str(run), "head": False}, None):
        keras.utils.set_random_seed(3)
        found.append([w.numpy() for w in started(make_config(start)).head.weights])
    for one, two in zip(*found, strict=True):
        np.testing.assert_array_equal(one, two)


def test_lora_is_added_to_the_kernels_of_an_encoder_without(make_config, finished):
    run = finished(LORA)
    source = load_run(run)
    model = started(make_config(run, "top_layers"))
    own, theirs = pretrained_weights(model.encoder), pretrained_weights(source.encoder)
    alone = {name: weight.numpy() for name, weight in theirs.items()}
    with merged(source.encoder.native):
        for name, weight in theirs.items():
            np.testing.assert_array_equal(own[name].numpy(), weight.numpy())
    name = "layer_0/attention/query/kernel"
    assert (own[name].numpy() != alone[name]).any()
    texts = ["what is it", "who was that man"]
    one, two = (ta.encode(encoder, texts) for encoder in (model.encoder, source.encoder))
    for a, b in zip(one, two, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-5)


@pytest.mark.parametrize("adaptation", ["adapters", LORA], ids=str)
def test_every_adaptation_begins_with_a_tuned_encoder(make_config, finished, adaptation):
    run = finished()
    config = make_config({"run": str(run), "head": False}, adaptation)
    own = pretrained_weights(started(config).encoder)
    for name, weight in pretrained_weights(load_run(run).encoder).items():
        np.testing.assert_array_equal(own[name].numpy(), weight.numpy())


def test_a_language_model_is_a_start(make_config, shallow_bert, tmp_path):
    """Tuned on text first (ULMFiT's second step): for a task, and for a language model."""
    module = with_output_layer(shallow_bert, tmp_path / "bert")
    text = tmp_path / "text.txt"
    text.write_text("what is the time\nwho is the man\n" * 8, "utf-8")
    files = {"format": "text", "kind": "language_model", "train": str(text), "dev": str(text)}
    language = {"data": files, "objective": "language_model", "encoder": {"handle": str(module)}}
    run = tmp_path / "language"
    train(make_config(**language), run)
    best = best_arrays(run)
    arrays = [best[str(number)] for number in range(len(best))]
    assert_equal(started(make_config(run, **language)).weights, arrays)
    model = started(make_config(run, encoder={"handle": str(module)}))
    inside = len(model.encoder.weights)
    assert_equal(model.encoder.weights, arrays[:inside])


def test_an_elmo_is_a_start(make_config, tiny_elmo, tmp_path):
    elmo = {"encoder": {"handle": str(tiny_elmo)}, "head": "linear"}
    make_run(tmp_path / "run", tiny_elmo, "classification", head="linear")
    known = pretrained_weights(load_run(tmp_path / "run").encoder)
    for adaptation in ("adapters", "fine_tuning"):
        own = pretrained_weights(started(make_config(tmp_path / "run", adaptation, **elmo)).encoder)
        assert own.keys() == known.keys()
        for name, weight in known.items():
            np.testing.assert_array_equal(own[name].numpy(), weight.numpy())


def test_penalties_pull_towards_the_start(make_config, finished):
    run = finished()
    config = make_config(run, penalties={"l2_sp": {"alpha": 0.1, "beta": 0.0}})
    parts = build_parts(config, starting_run(config))
    weights = load_run(run).encoder.weights
    for weight, other in zip(parts.model.encoder.weights, weights, strict=True):
        if any(weight is known for _, group in parts.start.groups for known in group):
            np.testing.assert_array_equal(parts.start.value_of(weight).numpy(), other.numpy())
    assert set(parts.start.distances().values()) == {0.0}
    assert float(sum(parts.model.losses)) == 0.0
    kernel = pretrained_weights(parts.model.encoder)["layer_0/attention/query/kernel"]
    kernel.assign_add(np.full(kernel.shape, 0.5))
    # ½ · α · Σ (w − w⁰)²
    expected = 0.5 * 0.1 * 0.25 * kernel.numpy().size
    assert float(sum(parts.model.losses)) == pytest.approx(expected, rel=1e-5)


def test_features_are_those_of_the_started_weights(make_config, finished, tmp_path, monkeypatch):
    def end(self, batch, logs=None):
        raise InterruptedError

    run, cache = finished(), tmp_path / "cache"
    features = {"features": {"cache": str(cache)}, "head": "linear"}
    frozen = {"adaptation": "feature_extraction", **features}
    with monkeypatch.context() as patch:
        # Before the first step, which is not traced then; the features are computed by then.
        patch.setattr(Steps, "on_train_batch_begin", end)
        with pytest.raises(InterruptedError):
            train(make_config(**frozen), tmp_path / "module")
    entries = {path.name for path in cache.iterdir()}
    train(make_config({"run": str(run), "head": False}, **frozen), tmp_path / "started")
    new = {path.name for path in cache.iterdir()} - entries
    assert len(new) == len(entries) > 0
    records = [record for name in new for record in (cache / name).rglob("record.json")]
    assert len(records) >= len(new)
    assert all(json.loads(record.read_text())["key"]["weights"] for record in records)
    model = load_run(tmp_path / "started")
    inside = len(model.encoder.weights)
    best = best_arrays(run)
    assert_equal(model.encoder.weights, [best[str(number)] for number in range(inside)])


def test_a_chain_is_in_metrics_and_card(make_config, finished, shallow_bert, tmp_path):
    first, pairs, known = finished(), "pair_classification", {}
    chain = [first, tmp_path / "second", tmp_path / "third"]
    for start, run in zip(chain, chain[1:], strict=False):
        config = make_config(start, dataset=f"sample_{pairs}")
        make_run(run, shallow_bert, pairs)
        found = starting_run(config)
        known[run.name] = in_metrics(config, build_parts(config, found).model, found)
        metrics = json.loads((run / "metrics.json").read_text()) | {"start": known[run.name]}
        run_folder.write_metrics(run, metrics | {"dataset": f"sample_{pairs}"})
    second, third = known.values()
    assert second["dataset"] == "classification" and not second["head"]
    assert third["start"] == second and third["head"]
    assert (third["split"], third["score"]) == ("dev", 0.5)
    said = chain_in_words(third)
    assert said.startswith(f"{chain[1]}: sample_pair_classification, f")
    assert f" 50.0 on dev, which started from {first}: " in said
    assert f"- starts from {said}" in run_card(chain[2])


def test_a_run_of_other_weights_by_now_is_refused(make_config, finished, shallow_bert, tmp_path):
    start, run = tmp_path / "start", tmp_path / "run"
    shutil.copytree(finished(), start)
    config = make_config(start)
    starting_run(config).copy_to(run / run_folder.START)
    shutil.rmtree(start)
    make_run(start, shallow_bert, "classification", seed=1)
    with pytest.raises(ArtifactError, match="start.run: .* has other weights than when this run"):
        starting_run(config, run)


def test_a_session_gives_the_weights_of_a_process_of_its_own(make_config, finished):
    session, found = Session(), []
    for seed, parts_of in ((0, session.parts), (1, session.parts), (1, build_parts)):
        config = make_config({"run": str(finished()), "head": False}, training={"seed": seed})
        keras.utils.set_random_seed(seed)
        model = parts_of(config, starting_run(config)).model
        found.append((model, values(model)))
        for weight in model.weights:
            weight.assign_add(np.ones(weight.shape, weight.dtype))
    first, second, alone = found
    assert first[0] is second[0]
    for one, two in zip(second[1], alone[1], strict=True):
        np.testing.assert_array_equal(one, two)


def test_what_cannot_be_a_start(make_config, finished, tiny_elmo, tmp_path):
    run = finished()
    with pytest.raises(ConfigError, match="start: expected null with encoder.pretrained: false"):
        make_config(run, encoder={"pretrained": False})
    with pytest.raises(ConfigError, match="start.run: expected the folder of a finished run, got"):
        dry_run(make_config(tmp_path / "nowhere"))
    with pytest.raises(ConfigError, match="expected a run on the module of encoder.handle .*hash"):
        dry_run(make_config(run, encoder={"handle": str(tiny_elmo)}))
    unfinished = tmp_path / "unfinished"
    shutil.copytree(run, unfinished)
    (unfinished / "metrics.json").unlink()
    with pytest.raises(ConfigError, match="expected a finished run, got .*which has no metrics"):
        dry_run(make_config(unfinished))
    with pytest.raises(ConfigError, match="head: expected that of .*start.head: false"):
        dry_run(make_config(run, head="bcn"))
    with pytest.raises(ConfigError, match="Set head_pooling: null, head_scaled: false, or set st"):
        dry_run(make_config(run, "feature_extraction", head="linear"))
    dry_run(make_config(run, "feature_extraction", head="linear", head_scaled=False))
    with pytest.raises(ConfigError, match="adaptation: expected the adapters of .*'size': 64"):
        dry_run(make_config(finished("adapters")))
    with pytest.raises(ConfigError, match="adaptation: expected the adapters"):
        dry_run(make_config(finished("adapters"), {"name": "adapters", "size": 3}))
    best = next((run / "checkpoint").glob("best_*"))
    damaged = tmp_path / "damaged"
    shutil.copytree(run, damaged)
    (damaged / "checkpoint" / best.name / "model.npz").write_bytes(b"no")
    with pytest.raises(ArtifactError, match="model.npz: size or SHA-256"):
        dry_run(make_config(damaged))
    assert dry_run(make_config(run))["plan"]


def test_a_comparison_starts_all_cells_of_one_encoder(finished, shallow_bert, tiny_elmo, tmp_path):
    content = {
        "data": {"dataset": "sample_classification", "source": "sample"},
        "start": {"run": str(finished()), "head": False},
        "compare": {
            "encoders": [str(shallow_bert)],
            "adaptations": ["feature_extraction", "fine_tuning"],
            "learning_rates": [1.0e-2],
        },
        "training": {"epochs": 1, "batch_size": 16},
    }
    path = tmp_path / "compare.yaml"
    path.write_text(yaml.safe_dump(content), "utf-8")
    cells = load_comparison(path).cells
    assert {cell.config.start.run for cell in cells} == {str(finished())}
    content["compare"]["encoders"] = [{"handle": str(shallow_bert), "keep_layers": [0]}]
    path.write_text(yaml.safe_dump(content), "utf-8")
    with pytest.raises(
        ConfigError, match=r"start.run: .*shallow_bert, while cell .*keep_layers 0\)"
    ):
        load_comparison(path)
    content["compare"]["encoders"] = [str(shallow_bert), str(tiny_elmo)]
    path.write_text(yaml.safe_dump(content), "utf-8")
    with pytest.raises(ConfigError, match="compare.yaml:.*start.run: expected a run on the enc"):
        load_comparison(path)


@pytest.mark.parametrize("kept", [[0], [0, 1]])
def test_a_comparison_starts_cells_of_the_layers_that_the_run_kept(tiny_bert, tmp_path, kept):
    """With equal settings; all layers, named one by one, are settings of their own."""
    encoder = {"handle": str(tiny_bert), "keep_layers": kept}
    run = make_run(tmp_path / "run", tiny_bert, "classification", encoder=encoder)
    content = {
        "data": {"dataset": "sample_classification", "source": "sample"},
        "start": {"run": str(run), "head": False},
        "compare": {
            "encoders": [encoder],
            "adaptations": ["fine_tuning", "top_layers"],
            "learning_rates": [1.0e-2],
        },
        "training": {"epochs": 1, "batch_size": 16},
    }
    path = tmp_path / "compare.yaml"
    path.write_text(yaml.safe_dump(content), "utf-8")
    comparison = load_comparison(path)
    assert {cell.config.start.run for cell in comparison.cells} == {str(run)}
    model = started(comparison.cells[0].config)  # which is what a cell's run asks
    assert model.encoder.num_layers == len(kept) + 1
    content["compare"]["encoders"] = [str(tiny_bert)]
    path.write_text(yaml.safe_dump(content), "utf-8")
    with pytest.raises(ConfigError, match=r"got .*run on .*\(keep_layers 0.*, while cell tiny_b"):
        load_comparison(path)


def test_execution_is_what_runs_not_what_was_written(
    make_config, finished, shallow_bert, tiny_program, tmp_path
):
    """null is native for a module that is recognised."""
    run = finished()
    assert started(make_config(run, encoder={"execution": "native"})).encoder.execution == "native"
    named = make_run(
        tmp_path / "named", shallow_bert, "classification", encoder={"execution": "native"}
    )
    assert started(make_config({"run": str(named), "head": False})).encoder.execution == "native"
    small = make_run(tmp_path / "small", tiny_program, "classification")
    program = {"handle": str(tiny_program), "execution": "saved_model"}
    with pytest.raises(ConfigError, match="execution: expected native as in .*got saved_model"):
        dry_run(make_config({"run": str(small), "head": False}, encoder=program))


@pytest.mark.parametrize(
    "adaptation", ["fine_tuning", pytest.param(LORA, marks=pytest.mark.large)], ids=str
)
def test_the_classification_token_is_carried(make_config, shallow_causal, tmp_path, adaptation):
    encoder = {"handle": str(shallow_causal), "classification_token": True}
    folder = tmp_path / "run"
    run = make_run(folder, shallow_causal, "classification", encoder=encoder, adaptation=LORA)
    source = load_run(run).encoder
    head = {"head": False, "run": str(run)}
    model = started(make_config(head, adaptation, encoder=encoder))
    name = "embeddings/new/words"
    own, expected = (one.native.weights_by_name()[name] for one in (model.encoder, source))
    np.testing.assert_array_equal(own.numpy(), expected.numpy())
    texts = ["what is it", "who was that man"]
    one, two = (ta.encode(encoder, texts) for encoder in (model.encoder, source))
    for a, b in zip(one, two, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-4)
    without = make_config(head, adaptation, encoder={"handle": str(shallow_causal)})
    with pytest.raises(ConfigError, match="encoder.classification_token: expected true .*to true"):
        dry_run(without)
