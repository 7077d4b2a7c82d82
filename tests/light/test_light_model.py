"""Light exports: the answers of the signature that a SavedModel has, and what is refused."""

import json
import shutil

import keras
import numpy as np
import pytest
import tensorflow as tf
from click.testing import CliRunner
from hard_texts import HARD_TEXTS
from openvino_engine import needs_int8, needs_openvino

import tf_adapt as ta
from hub_modules.manifest import write_manifest
from tf_adapt.commands.main import cli
from tf_adapt.data.packing.prepare import checked_limit
from tf_adapt.errors import ArtifactError, ConfigError, DataError
from tf_adapt.light.columns import checked
from tf_adapt.light.kinds import KINDS
from tf_adapt.light.layout import LIGHT, WEIGHTS
from tf_adapt.light.light_model import LightModel
from tf_adapt.models.combination import Combination, transitions_of
from tf_adapt.serving.exports.export import ServedModel
from tf_adapt.serving.exports.model_card import with_precision
from tf_adapt.serving.exports.served_ensemble import ServedEnsemble
from tf_adapt.serving.exports.shared_export import ServedTask
from tf_adapt.serving.kinds import KINDS as SIGNATURES
from tf_adapt.serving.light_exports.export import export_light, export_light_ensemble
from tf_adapt.tasks.span_search import SpanSearch
from tf_adapt.training.finished.run_export import export_run

pytestmark = [pytest.mark.slow, needs_openvino]

LABELS = ["x", "y", "z"]
TAGS = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]
TAGGING = ta.Task("tagging", labels=TAGS)
LONG = "the red-old bridge was, built in 1931 by Ann Ő. (Oslo) 日本 " * 8
SENTENCES = [text.split(" ") for text in HARD_TEXTS if text.strip()] + [[], ["a", "", "b"]]
COLUMNS = {
    "text": HARD_TEXTS,
    "text_a": HARD_TEXTS,
    "text_b": HARD_TEXTS[::-1],
    "tokens": [row + [""] * (99 - len(row)) for row in SENTENCES],
    "question": ["who built it?", "when ,", "x", "", "ann"],
    "context": [LONG, "", f"{LONG} end.", " one . two", "built in 1931"],
}
SPANS = SpanSearch(stride=7, no_answer_threshold=0.3)
CASES = [
    (
        "bert",
        ta.Task("multilabel_classification", labels=LABELS, thresholds=(0.4, 0.5, 0.6)),
        "linear",
    ),
    ("bert", TAGGING, "crf"),
    ("bert", ta.Task("span_extraction", spans=SPANS), "span_extractor"),
    ("elmo", ta.Task("pair_regression", label_range=(0, 5)), "cosine"),
    ("elmo", TAGGING, "bilstm_crf"),
    ("causal", ta.Task("classification", labels=LABELS, temperature=1.7), "linear"),
    ("modern_bert", ta.Task("pair_classification", labels=LABELS), "linear"),
]
MORE_CASES = [
    ("bert", ta.Task("classification", labels=LABELS), "bcn"),
    ("bert", ta.Task("regression"), "linear"),
    ("mpnet", ta.Task("pair_classification", labels=LABELS), "linear"),
    ("elmo", ta.Task("classification", labels=LABELS), "bcn"),
    ("elmo", ta.Task("span_extraction", spans=SPANS), "span_extractor"),
    ("causal", TAGGING, "linear_tagger"),
    ("modern_bert", TAGGING, "linear_tagger"),
    ("modern_bert", ta.Task("span_extraction", spans=SPANS), "span_extractor"),
]


def model_of(module, task, head="linear", **arguments):
    """A model of random weights, whose answers differ from text to text."""
    keras.utils.set_random_seed(1)
    model = ta.build_model(task, ta.HubEncoder(str(module), trainable=False, **arguments), head)
    random = np.random.default_rng(2)
    for weight in model.head.weights:
        weight.assign(weight + random.normal(0, 0.3, weight.shape))
    return model


def signature(model, limit=40, may_cut=True, context=False):
    """What a SavedModel of the model computes."""
    return ServedModel(model, checked_limit(limit, model.encoder), may_cut, context).signature()


def assert_equal_answers(found: dict, expected: dict) -> None:
    assert found.keys() == expected.keys()
    for name, values in expected.items():
        if values.dtype == tf.string:
            as_text = np.vectorize(bytes.decode, otypes=[object])
            assert as_text(values.numpy()).tolist() == list(map(_plain, found[name]))
        else:
            np.testing.assert_allclose(found[name], values, atol=1e-5)


def _plain(value):
    return list(value) if isinstance(value, (list, tuple)) else value


def written(folder, model, limit=40, may_cut=True, context=False, precision=None) -> LightModel:
    task = ServedTask(model, limit, may_cut, None, context)
    return LightModel(
        export_light({"serving_default": task}, folder / "1", "A SavedModel:", precision)
    )


@pytest.fixture(scope="module")
def asked(tiny_bert):
    """A classifier that puts a prompt before texts."""
    return model_of(tiny_bert, ta.Task("classification", labels=LABELS), prompts=["query: "])


@pytest.fixture(scope="module")
def whole(asked, tmp_path_factory):
    """Its export."""
    folder = tmp_path_factory.mktemp("light") / "whole"
    written(folder, asked, 32, False)
    return folder / "1"


@pytest.fixture
def copied(whole, tmp_path):
    """The export, to be damaged."""
    return shutil.copytree(whole, tmp_path / "1")


def test_the_inputs_are_the_signatures():
    assert {kind: row.inputs for kind, row in KINDS.items()} == {
        kind: SIGNATURES[kind].inputs for kind in KINDS
    }


@pytest.mark.parametrize(
    "case",
    [*CASES, *(pytest.param(case, marks=pytest.mark.large) for case in MORE_CASES)],
    ids=lambda case: f"{case[0]}-{case[1].kind}-{case[2]}",
)
def test_answers_are_the_saved_models(case, request, tmp_path):
    family, task, head = case
    size = "shallow" if family in ("bert", "causal") else "tiny"
    model = model_of(request.getfixturevalue(f"{size}_{family}"), task, head)
    settings = {"limit": 40, "context": task is TAGGING and family == "bert"}
    light = written(tmp_path, model, **settings)
    serve, inputs = signature(model, **settings), KINDS[task.kind].inputs
    empty = {1: ["", ""], 2: [[""], [""]]}
    for columns in (
        {name: COLUMNS[name] for name in inputs},
        {name: empty[rank] for name, rank in inputs.items()},
    ):
        expected = serve(*map(tf.constant, columns.values()))
        assert_equal_answers(light.answer(columns), expected)


def test_prompts_and_refused_texts(asked, whole):
    light, serve = LightModel(whole), signature(asked, 32, False)
    texts = ["Ann lives here .", ""]
    assert_equal_answers(light.answer({"text": texts}), serve(tf.constant(texts)))
    for text, words in (
        ("a " * 30, "an input is longer than the 30 tokens"),
        ("\0", r"text: expected UTF-8 without NUL, got other bytes at \[1\]"),
        ("\ud800", r"text: expected UTF-8 without NUL, got other bytes at \[1\]"),
    ):
        with pytest.raises(DataError, match=words):
            light.answer({"text": ["fine", text]})
    for columns, words in (
        ({"text": "abc"}, r"text: expected \[batch\] string, got str"),
        ({"text": [5]}, r"text: expected \[batch\] string, got int at \[0\]"),
        ({"text": ["a", b"b"]}, r"got bytes at \[1\]"),
        ({"text": [["a", "b"]]}, r"got list at \[0\]"),
        ({"text": []}, r"\[batch\] string of one row or more, got none"),
        ({"texts": ["a"]}, "columns: expected text, got texts"),
    ):
        with pytest.raises(DataError, match=words):
            light.answer(columns)
    for words in ("a b", ["a", None]):
        with pytest.raises(DataError, match=r"tokens: expected \[batch, words\] string, got .* at"):
            checked({"tokens": [["a"], words]}, {"tokens": 2})
    with pytest.raises(ConfigError, match="expected one of serving_default, got 'x'"):
        light.answer({"text": ["a"]}, "x")


@pytest.mark.parametrize("votes", [False, pytest.param(True, marks=pytest.mark.large)])
def test_an_ensemble_of_taggers(votes, shallow_bert, shallow_causal, tmp_path):
    models = [
        model_of(shallow_bert, TAGGING, "crf"),
        model_of(shallow_causal, TAGGING, "linear_tagger"),
    ]
    combination = Combination(TAGGING, list(map(transitions_of, models)), votes, (0.7, 0.3))
    members = [ServedModel(model, 12, True) for model in models]
    ensemble = ServedEnsemble(members, combination)
    served = [ServedTask(model, 12, True) for model in models]
    folder = export_light_ensemble(served, combination, tmp_path / "1", None, "A SavedModel:")
    columns = {"tokens": COLUMNS["tokens"]}
    expected = ensemble.signature()(tf.constant(columns["tokens"]))
    assert_equal_answers(LightModel(folder).answer(columns), expected)


def test_several_tasks_have_the_encoder_once(shallow_bert, tmp_path):
    tasks = {
        "films": model_of(shallow_bert, ta.Task("classification", labels=LABELS)),
        "names": model_of(shallow_bert, TAGGING, "linear_tagger"),
    }
    served = {name: ServedTask(model, 40, True) for name, model in tasks.items()}
    both = export_light(served, tmp_path / "2", "A SavedModel:")
    encoder = tasks["films"].encoder.encoder
    size = sum(weight.numpy().nbytes for weight in encoder.weights)
    assert (both / WEIGHTS).stat().st_size < 1.8 * size
    light = LightModel(both)
    for name, model in tasks.items():
        columns = {column: COLUMNS[column] for column in KINDS[model.task.kind].inputs}
        expected = signature(model)(*map(tf.constant, columns.values()))
        assert_equal_answers(light.answer(columns, name), expected)


@needs_int8
def test_several_tasks_have_the_encoder_in_8_bits_once(shallow_bert, tmp_path):
    model = model_of(shallow_bert, ta.Task("classification", labels=LABELS))
    sizes = []
    for names in (["one"], ["one", "two"]):
        served = {
            name if len(names) > 1 else "serving_default": ServedTask(model) for name in names
        }
        folder = export_light(served, tmp_path / str(len(names)), "A SavedModel:", "int8")
        sizes.append((folder / WEIGHTS).stat().st_size)
    assert sizes[1] < 1.05 * sizes[0]


@pytest.mark.parametrize("precision", ["bfloat16", pytest.param("int8", marks=needs_int8)])
def test_lower_precisions_are_near(precision, asked, whole, tiny_bert, tmp_path):
    texts = ["Ann lives here .", "what is it"]
    expected = LightModel(whole).answer({"text": texts})["scores"]
    keras.config.set_dtype_policy("mixed_bfloat16" if precision == "bfloat16" else "float32")
    try:
        model = model_of(tiny_bert, asked.task, prompts=asked.encoder.prompts)
    finally:
        keras.config.set_dtype_policy("float32")
    said = with_precision("A SavedModel:", precision if precision == "bfloat16" else None)
    served = {"serving_default": ServedTask(model, 32)}
    folder = export_light(served, tmp_path / "1", said, precision)
    found = LightModel(folder).answer({"text": texts})["scores"]
    np.testing.assert_allclose(found, expected, atol=0.05)
    card = (folder / "README.md").read_text("utf-8")
    assert card.count("## Precision") == 1 and f" in {precision};" in card
    assert json.loads((folder / LIGHT).read_text("utf-8"))["models"][0]["precision"] == precision
    if precision == "int8":
        sizes = [(one / WEIGHTS).stat().st_size for one in (folder, whole)]
        assert sizes[0] < 0.7 * sizes[1]


def test_what_is_too_long_in_tagging_and_spans(shallow_bert, tmp_path):
    lights = {}
    for task in (TAGGING, ta.Task("span_extraction", spans=SPANS)):
        model = model_of(shallow_bert, task, "default")
        lights[task.kind] = written(tmp_path / task.kind, model, 32, False)
    long = "a-" * 40
    for kind, columns, words in (
        ("tagging", {"tokens": [[long]]}, "a single word is longer than the 30 tokens"),
        ("span_extraction", {"question": [long], "context": ["a"]}, "a question is longer than"),
        ("span_extraction", {"question": ["a"], "context": ["x" * 99]}, "a single word is longer"),
    ):
        with pytest.raises(DataError, match=words):
            lights[kind].answer(columns)


def test_what_cannot_be_held_is_refused_by_name(tiny_lstm, tmp_path):
    task = ta.Task("classification", labels=LABELS)
    with pytest.raises(ConfigError, match="of the family lstm"):
        written(tmp_path, model_of(tiny_lstm, task))
    assert not list(tmp_path.iterdir())


def test_a_bad_folder(copied, finished_export):
    weights = copied / WEIGHTS
    content = bytearray(weights.read_bytes())
    content[100] ^= 1
    weights.write_bytes(content)
    with pytest.raises(ArtifactError, match="does not have the SHA-256 of the manifest"):
        LightModel(copied)
    weights.unlink()
    with pytest.raises(ArtifactError, match="weights.bin is missing"):
        LightModel(copied)
    with pytest.raises(ArtifactError, match="expected a light export, got a export"):
        LightModel(finished_export())


CHAIN = {"transitions": [[0.0]]}


@pytest.mark.parametrize(
    ("of_file", "of_model", "of_reader", "words"),
    [
        ({"format": 2, "new": 1}, {}, {}, "expected format 1, got 2; install the version"),
        ({}, {"max_length": 0}, {}, "max_length"),
        ({}, {}, {"longest": -5}, "longest"),
        ({}, {}, {"end": 10**9}, "expected a token for each of the ids"),
        ({"tasks": {"serving_default": {"models": [0, 0], "weights": [0.5, 0.5]}}}, {}, {}, "once"),
        ({"tasks": {"serving_default": {"models": [0], "weights": [2.0]}}}, {}, {}, "the sum 1"),
        ({}, {"chain": CHAIN}, {}, "serving_default: expected chains of 3 tags, got others"),
        ({}, {"chain": CHAIN | {"allowed": [[True]]}}, {}, "allowed should have 3 rows of 3"),
    ],
)
def test_a_changed_light_json(of_file, of_model, of_reader, words, copied):
    """The manifest vouches for it."""
    file = copied / LIGHT
    content = json.loads(file.read_text("utf-8"))
    content["models"][0] |= of_model
    content["models"][0]["reader"] |= of_reader
    file.write_text(json.dumps(content | of_file))
    write_manifest(copied, {"kind": "light_export"})
    with pytest.raises(ArtifactError, match=words):
        LightModel(copied).answer({"text": ["a"]})


def test_other_labels_than_the_graphs(copied):
    file = copied / "task.json"
    content = json.loads(file.read_text("utf-8"))
    content["task"]["labels"] = ["x", "y"]
    file.write_text(json.dumps(content))
    write_manifest(copied, {"kind": "light_export"})
    with pytest.raises(ArtifactError, match="expected logits of 2 labels, as the task has, got 3"):
        LightModel(copied).answer({"text": ["a"]})


def test_the_command_exports_a_run(finished_run, finished_export, tmp_path):
    run = str(finished_run())
    options = ["--format", "openvino", "--precision", "float32"]
    done = CliRunner().invoke(
        cli, ["export", run, "--out", str(tmp_path), *options], catch_exceptions=False
    )
    assert done.exit_code == 0, done.output
    light = LightModel(tmp_path / "1")
    expected = tf.saved_model.load(str(finished_export())).signatures["serving_default"]
    texts = ["Who designed the old bridge ?", ""]
    assert_equal_answers(light.answer({"text": texts}), expected(text=tf.constant(texts)))
    card = (tmp_path / "1" / "README.md").read_text("utf-8")
    assert "LightModel" in card and "SavedModel" not in card and "tensorflow" not in card


def test_8_bits_are_for_openvino_alone(finished_run, tmp_path):
    with pytest.raises(ConfigError, match="expected bfloat16 or float16, or none, for the format"):
        export_run(finished_run(), tmp_path, precision="int8")
