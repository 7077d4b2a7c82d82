"""An export answers raw text as `predict` does, in a process that knows TensorFlow alone."""

import functools
import shutil
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from adapted_encoders import adapted
from stranger import told

import tf_adapt as ta
from hub_modules.shipped import PRETRAINED
from hub_modules.storage import files
from tf_adapt.errors import ArtifactError, ConfigError, DataError
from tf_adapt.serving.exports import export as serving
from tf_adapt.serving.exports.export import next_version
from tf_adapt.training.finished.trained_run import evaluate_file, predict_file

TAGS = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]
TEXTS = [
    "A warm , funny film .",
    "dull",
    "one line\u2028and another",
    "no\u00a0break",
    "\u3000",
    "\U0001f600 \U0001f469\u200d\U0001f4bb",
    "na\u00efve caf\u00e9 \u5317\u4eac",
    "tab\tand\nline feed",
]
PAIRS = list(zip(TEXTS, reversed(TEXTS), strict=True))
SENTENCES = [
    ["Ann", "Lee", "met", "a\u2028b", "in", "Paris", "\u3000"],
    ["rain"],
    ["word"] * 700,
    ["\U0001f600", "caf\u00e9", "O'Neill-Smith"],
]
# Encoder, task, longest input and whether it is cut.
MODELS = {
    "classification": ("elmo_small", {"labels": ["bad", "so-so", "gut \u00fc"]}, 4, True),
    "pair_classification": ("bert_small", {"labels": ["no", "yes"]}, None, False),
    "pair_regression": ("elmo_small", {}, None, False),
    "tagging": ("bert_small", {"labels": TAGS}, None, False),
}
DATA = {
    "classification": TEXTS,
    "pair_classification": PAIRS,
    "pair_regression": PAIRS,
    "tagging": SENTENCES,
}

# Runs in a process that must not see this project.
STRANGER = """
import json, sys
import tensorflow as tf
import tensorflow_text
requests = json.load(sys.stdin)
answers = {}
for folder, batches in requests.items():
    serve = tf.saved_model.load(folder).signatures["serving_default"]
    answers[folder] = []
    for batch in batches:
        found = serve(**{name: tf.constant(texts) for name, texts in batch.items()})
        found = {name: value.numpy().tolist() for name, value in found.items()}
        answers[folder].append(found)
foreign = [name for name in sys.modules if name.split(".")[0] in ("tf_adapt", "hub_modules")]
assert not foreign, foreign
decoded = json.dumps(answers, default=lambda text: text.decode("utf-8"))
print(decoded)
"""


class Exported:
    """A model with a head of random weights, so that labels vary, and its export."""

    def __init__(self, kind: str, folder: Path):
        handle, settings, self.max_length, self.truncate = MODELS[kind]
        encoder = ta.HubEncoder(handle, trainable=False)
        head = "linear_tagger" if kind == "tagging" else "linear"
        self.model = ta.build_model(ta.Task(kind, **settings), encoder, head)
        kernel = self.model.head.dense.kernel
        kernel.assign(np.random.default_rng(0).normal(0, 0.5, kernel.shape))
        made = ta.export(self.model, folder / "made" / "1", self.max_length, self.truncate)
        self.folder = folder / "moved" / "1"
        self.folder.parent.mkdir()
        made.rename(self.folder)

    def predict(self, data):
        return ta.predict(self.model, data, 3, self.max_length, self.truncate)

    @functools.cached_property
    def signature(self):
        return tf.saved_model.load(str(self.folder)).signatures["serving_default"]

    def serve(self, **inputs):
        return self.signature(**{name: tf.constant(values) for name, values in inputs.items()})


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    made = {}

    def make(kind: str) -> Exported:
        if kind not in made:
            made[kind] = Exported(kind, tmp_path_factory.mktemp(kind))
        return made[kind]

    return make


def request(data: list) -> dict:
    """The inputs of the signature, for texts, pairs or sentences."""
    if isinstance(data[0], str):
        return {"text": data}
    if isinstance(data[0], tuple):
        return {"text_a": [a for a, _ in data], "text_b": [b for _, b in data]}
    width = max(map(len, data))
    return {"tokens": [[*words, *[""] * (width - len(words))] for words in data]}


@pytest.fixture(scope="module")
def answers(exported):
    """What a stranger gets: for each kind all examples in one batch, then the first one alone."""
    folders = {kind: str(exported(kind).folder) for kind in MODELS}
    requests = {folders[kind]: [request(DATA[kind]), request(DATA[kind][:1])] for kind in MODELS}
    found = told(STRANGER, requests)
    return {kind: found[folder] for kind, folder in folders.items()}


@pytest.mark.slow
def test_a_stranger_gets_the_labels_of_predict(exported, answers):
    for kind in ["classification", "pair_classification"]:
        together, alone = answers[kind]
        expected = exported(kind).predict(DATA[kind])
        assert len({one.label for one in expected}) > 1
        assert together["label"] == [one.label for one in expected]
        assert alone["label"] == together["label"][:1]
        np.testing.assert_allclose(together["scores"], [one.scores for one in expected], atol=1e-5)
        np.testing.assert_allclose(alone["scores"], together["scores"][:1], atol=1e-5)


def test_a_stranger_gets_the_numbers_of_predict(exported, answers):
    together, alone = answers["pair_regression"]
    expected = [one.label for one in exported("pair_regression").predict(PAIRS)]
    assert np.std(expected) > 0.1
    np.testing.assert_allclose(together["score"], expected, atol=1e-5)
    np.testing.assert_allclose(alone["score"], together["score"][:1], atol=1e-5)


def test_a_stranger_gets_the_tags_of_predict(exported, answers):
    together, alone = answers["tagging"]
    expected = exported("tagging").predict(SENTENCES)
    assert len({tag for one in expected for tag in one.label}) > 1
    for words, one, tags, scores in zip(
        SENTENCES, expected, together["tags"], together["scores"], strict=True
    ):
        count = len(words)
        assert tags == [*one.label, *[""] * (700 - count)]
        np.testing.assert_allclose(np.max(scores, axis=-1)[:count], one.scores, atol=1e-5)
        np.testing.assert_allclose(np.sum(scores, axis=-1)[:count], 1, atol=1e-5)
        assert not np.any(scores[count:])
    assert alone["tags"] == [list(expected[0].label)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("handle", "adapters"),
    [
        ("tiny_bert", "bottleneck"),
        pytest.param("tiny_bert", "projected_attention", marks=pytest.mark.large),
        pytest.param("tiny_elmo", "bottleneck", marks=pytest.mark.large),
    ],
)
def test_an_export_keeps_the_adapters(handle, adapters, request, tmp_path):
    handle = request.getfixturevalue(handle)
    encoder = adapted(ta.adapters(adapters, 4), handle, trainable=False)
    model = ta.build_model(ta.Task("classification", labels=["no", "yes"]), encoder, "linear")
    random = np.random.default_rng(3)
    model.head.dense.kernel.assign(random.normal(0, 2, model.head.dense.kernel.shape))
    before = [one.scores for one in ta.predict(model, TEXTS)]
    for weight in dict(encoder.layer_groups)["adapters"]:
        weight.assign_add(random.normal(0, 0.3, weight.shape))
    folder = ta.export(model, tmp_path / "export")
    expected = [one.scores for one in ta.predict(model, TEXTS)]
    served = tf.saved_model.load(str(folder)).signatures["serving_default"](text=tf.constant(TEXTS))
    np.testing.assert_allclose(served["scores"], expected, atol=1e-5)
    assert np.abs(np.subtract(expected, before)).max() > 0.01


@pytest.mark.slow
def test_a_session_answers(exported):
    """As servers in C++ do, it reads and initialises the graph alone."""
    made = exported("pair_classification")
    pairs = [("It rains .", "The sun shines ."), ("a", "b"), ("caf\u00e9", "\u5317\u4eac")]
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        program = tf.compat.v1.saved_model.load(session, ["serve"], str(made.folder))
        signature = program.signature_def["serving_default"]
        given = {signature.inputs[name].name: texts for name, texts in request(pairs).items()}
        found = session.run({key: one.name for key, one in signature.outputs.items()}, given)
    expected = made.predict(pairs)
    assert found["label"].tolist() == [one.label.encode() for one in expected]
    np.testing.assert_allclose(found["scores"], [one.scores for one in expected], atol=1e-5)


def test_a_text_without_content_does_not_spoil_its_batch(exported):
    for kind in ("classification", "pair_classification", "pair_regression"):
        made, data = exported(kind), DATA[kind][:2]
        empty = ("", " ") if kind.startswith("pair_") else ""
        output = "score" if kind == "pair_regression" else "scores"
        found = made.serve(**request([data[0], empty, data[1]]))[output].numpy()
        assert np.isfinite(found).all()
        expected = made.predict(data)
        expected = [one.scores or one.label for one in expected]
        np.testing.assert_allclose(found[[0, 2]], expected, atol=1e-5)
        assert np.isfinite(made.serve(**request([empty]))[output]).all()


def test_rows_of_padding_and_words_without_content(exported):
    found = exported("tagging").serve(tokens=[["a", "", "b"], ["c", "", ""], ["", "", ""]])["tags"]
    assert [[tag != b"" for tag in row] for row in found.numpy()] == [
        [True, True, True],
        [True, False, False],
        [False, False, False],
    ]
    assert exported("tagging").serve(tokens=[["", ""]])["tags"].numpy().tolist() == [[b"", b""]]


def test_too_long_is_an_error_that_names_the_limit(exported):
    with pytest.raises(tf.errors.InvalidArgumentError, match="longer than the 509 tokens"):
        exported("pair_classification").serve(text_a=["a " * 200], text_b=["b " * 310])
    fits = exported("pair_classification").serve(text_a=["a " * 200], text_b=["b " * 309])
    assert fits["scores"].shape == (1, 2)
    with pytest.raises(tf.errors.InvalidArgumentError, match="longer than the 1000 tokens"):
        exported("pair_regression").serve(text_a=["a"], text_b=["b " * 1001])
    with pytest.raises(tf.errors.InvalidArgumentError, match="single word is longer than the 510"):
        exported("tagging").serve(tokens=[["-" * 600, "a"]])


def test_with_truncation_the_beginning_counts(exported):
    made = exported("classification")
    found = made.serve(text=["one two three four five six", "one two three four"])
    np.testing.assert_array_equal(found["scores"][0], found["scores"][1])
    assert len(TEXTS[0].split()) > made.max_length  # the stranger's texts were cut too


def test_a_limit_that_the_encoder_cannot_take_is_refused(exported, tmp_path):
    with pytest.raises(ConfigError, match="at most 512"):
        ta.export(exported("tagging").model, tmp_path / "1", max_length=513)
    assert not list(tmp_path.iterdir())


def test_an_existing_folder_is_not_overwritten(exported):
    made = exported("classification")
    before = sorted(path.stat().st_mtime_ns for path in made.folder.rglob("*"))
    with pytest.raises(ArtifactError, match="does not exist yet"):
        ta.export(made.model, made.folder)
    assert sorted(path.stat().st_mtime_ns for path in made.folder.rglob("*")) == before


def test_versions_count_up(tmp_path):
    assert next_version(tmp_path / "new").name == "1"
    for name in ("1", "2", "10", "notes", "\u00b2", ".11.0123.partial"):
        (tmp_path / name).mkdir()
    assert next_version(tmp_path) == tmp_path / "11"


def test_a_killed_export_leaves_no_version(exported, tmp_path, monkeypatch):
    target = tmp_path / "1"

    def killed(source: Path, destination: Path):
        if destination == target:
            assert (source / "saved_model.pb").is_file() and (source / "manifest.json").is_file()
            raise KeyboardInterrupt
        source.replace(destination)

    monkeypatch.setattr(files, "rename", killed)
    with pytest.raises(KeyboardInterrupt):
        ta.export(exported("pair_regression").model, target)
    assert not list(tmp_path.iterdir())
    assert next_version(tmp_path) == target


def test_a_full_disk_is_an_artifact_error(exported, tmp_path, monkeypatch):
    def full(*arguments, **options):
        raise tf.errors.ResourceExhaustedError(None, None, "No space left on device")

    monkeypatch.setattr(serving.tf.saved_model, "save", full)
    with pytest.raises(ArtifactError, match="/1: .*No space left on device"):
        ta.export(exported("pair_regression").model, tmp_path / "1")
    assert not list(tmp_path.iterdir())


@pytest.fixture
def copy(exported, tmp_path):
    """A copy of an export, to be damaged, and a file to predict."""
    (tmp_path / "texts.tsv").write_text("text_a\nA warm film .\ndull\n", "utf-8")
    return Path(shutil.copytree(exported("classification").folder, tmp_path / "1"))


def test_an_export_predicts_a_plain_file(exported, copy, tmp_path):
    assert predict_file(copy, tmp_path / "texts.tsv", tmp_path / "out.tsv") == 2
    rows = [line.split("\t") for line in (tmp_path / "out.tsv").read_text("utf-8").splitlines()]
    expected = exported("classification").predict(["A warm film .", "dull"])
    assert rows[0] == ["prediction", "bad", "so-so", "gut \u00fc"]
    assert [row[0] for row in rows[1:]] == [one.label for one in expected]
    labelled = [f"{text}\t{one.label}" for text, one in zip(("a", "b"), expected, strict=True)]
    (tmp_path / "dev.tsv").write_text("\n".join(["text_a\tlabel", *labelled]) + "\n", "utf-8")
    said = exported("classification").predict(["a", "b"])
    right = [one.label == other.label for one, other in zip(said, expected, strict=True)]
    assert evaluate_file(copy, tmp_path / "dev.tsv")["accuracy"] == np.mean(right)
    with pytest.raises(DataError, match="expected one column 'label'"):
        evaluate_file(copy, tmp_path / "texts.tsv")


def test_a_damaged_export_is_refused_by_name(copy, tmp_path):
    for name in ("saved_model.pb", "task.json", "variables/variables.index"):
        path = copy / name
        content = path.read_bytes()
        middle = len(content) // 2
        for damaged in (
            content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :],
            None,
        ):
            path.unlink()
            if damaged is not None:
                path.write_bytes(damaged)
            with pytest.raises(ArtifactError, match=name):
                predict_file(copy, tmp_path / "texts.tsv", tmp_path / "out.tsv")
            path.write_bytes(content)
    assert not (tmp_path / "out.tsv").exists()


def test_what_is_no_export_is_refused(copy, tmp_path):
    output = tmp_path / "out.tsv"
    with pytest.raises(ArtifactError, match="expected an export, got a bert"):
        predict_file(PRETRAINED / "bert_small", tmp_path / "texts.tsv", output)
    with pytest.raises(ArtifactError, match="neither config.yaml nor manifest.json"):
        predict_file(copy.parent, tmp_path / "texts.tsv", output)
    for name in ("manifest.json", "manifest.sha256"):
        (copy / name).unlink()
    with pytest.raises(ArtifactError, match="a SavedModel without manifest"):
        predict_file(copy, tmp_path / "texts.tsv", output)
