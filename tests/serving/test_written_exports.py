"""Exports that write texts, in a process that knows TensorFlow alone, against the models."""

import numpy as np
import pytest
import tensorflow as tf

pytest.importorskip("starlette", reason="the extra [serve] is not installed")

from servers import running, server_of  # noqa: E402
from stranger import told  # noqa: E402

import tf_adapt as ta  # noqa: E402
from tf_adapt.data.batches import prepare  # noqa: E402
from tf_adapt.data.formats.dialogues import Exchange  # noqa: E402
from tf_adapt.data.packing.dialog import prompts_of  # noqa: E402
from tf_adapt.encoder.encoder_decoder import EncoderDecoder  # noqa: E402
from tf_adapt.errors import ConfigError  # noqa: E402
from tf_adapt.generation.decoding import Decoding  # noqa: E402
from tf_adapt.generation.generator import TokenGenerator  # noqa: E402
from tf_adapt.models.dialog.dialog_model import build_dialog_model  # noqa: E402
from tf_adapt.models.text_generation.encoder_decoder_model import build_encoder_decoder  # noqa: E402
from tf_adapt.runs.export_files import DEFAULT  # noqa: E402
from tf_adapt.serving.exports.shared_export import ServedTask, check_shared  # noqa: E402
from tf_adapt.serving.light_exports.export import export_light  # noqa: E402
from tf_adapt.tasks.by_kind.dialog import NEW_TOKENS, SEGMENTS  # noqa: E402

pytestmark = pytest.mark.slow
LONG = "the end of it " * 12
EXCHANGES = [
    Exchange(("I am in", "the mat"), ("hi",), where="d:1"),
    Exchange(("x",), ("a", "b", "thin end"), where="d:2"),
    # One exchange is left out, for more than `EXCHANGES`; two, for more than there is room.
    Exchange(("the mat",), ("1", "2", "3", "4", "5", "6", "7"), where="d:3"),
    Exchange(("y y y", "z", "the"), (LONG, "b", LONG, "d", "now\u2028so"), where="d:4"),
    Exchange(("z",), ("a", "b", "c", "d"), where="d:5"),
]
SOURCES = ["the dog sat", "a", "", "on the mat na\u00efve \u5317"]
SETTINGS = {"max_new_tokens": 5, "temperature": 1.5, "seed": 7}
STRANGER = """
import json, sys
import tensorflow as tf
import tensorflow_text
answers, programs = [], {}
for folder, signature, given in json.load(sys.stdin):
    if folder not in programs:
        programs[folder] = tf.saved_model.load(folder)
    serve = programs[folder].signatures[signature]
    tensors = {name: tf.constant(value) for name, value in given.items()}
    (texts,) = serve(**tensors).values()
    answers.append([text.decode("utf-8") for text in texts.numpy().tolist()])
foreign = [name for name in sys.modules if name.split(".")[0] in ("tf_adapt", "hub_modules")]
assert not foreign, foreign
print(json.dumps(answers))
"""


def shuffled(model, weights):
    """Random values, so that texts vary."""
    random = np.random.default_rng(3)
    for weight in weights:
        weight.assign(random.normal(0, 0.5, weight.shape))
    return model


@pytest.fixture(scope="module")
def dialog(tiny_causal):
    encoder = ta.HubEncoder(tiny_causal, new_tokens=NEW_TOKENS, segments=SEGMENTS)
    model = build_dialog_model(ta.Task("dialog"), encoder, "fine_tuning")
    shuffled(model, encoder.native.embeddings.new.weights)
    # Of the delimiters: little, or they would be all that is written.
    tokens = next(w for w in encoder.native.embeddings.new.weights if w.shape[0] == NEW_TOKENS)
    tokens.assign(0.02 * tokens.numpy())
    return model


@pytest.fixture(scope="module")
def writer(shallow_bert, shallow_causal):
    encoder = EncoderDecoder(shallow_bert, decoder=ta.HubEncoder(shallow_causal))
    model = build_encoder_decoder(ta.Task("text_generation"), encoder, "lora", beams=2)
    return shuffled(model, model.head.weights)


@pytest.fixture(scope="module")
def folders(dialog, writer, tmp_path_factory):
    folder = tmp_path_factory.mktemp("exports")
    dialog_folder = ta.export(dialog, folder / "dialog" / "1", max_length=160)
    return {"dialog": dialog_folder, "writer": ta.export(writer, folder / "writer" / "1")}


def padded(name: str, exchanges=EXCHANGES) -> list[list[str]]:
    rows = [list(getattr(exchange, name)) for exchange in exchanges]
    return [[*row, *[""] * (max(map(len, rows)) - len(row))] for row in rows]


def dialogues(exchanges=EXCHANGES) -> dict:
    return {name: padded(name, exchanges) for name in ("persona", "history")}


@pytest.fixture(scope="module")
def answers(folders):
    """The texts as trained, as drawn, and those of one row alone, of each kind."""
    given = {
        "dialog": (dialogues(), dialogues(EXCHANGES[1:2])),
        "writer": ({"text": SOURCES}, {"text": SOURCES[1:2]}),
    }
    requests = [
        request
        for name, (rows, one) in given.items()
        for request in (
            (str(folders[name]), "serving_default", rows),
            (str(folders[name]), "generate", rows | SETTINGS),
            (str(folders[name]), "generate", one | SETTINGS),
        )
    ]
    found = told(STRANGER, requests)
    return {"dialog": found[:3], "writer": found[3:]}


def rows_of(dialog, number: int) -> dict:
    prepared = prepare([EXCHANGES[number]], dialog.task, dialog.encoder, 160)
    return prompts_of(prepared.packed_inputs(tf.constant([0]))["a"])


def test_replies_are_those_of_the_model(dialog, answers):
    expected = ta.predict(dialog, EXCHANGES, max_length=160)
    assert answers["dialog"][0] == [one.label for one in expected]
    assert len(set(answers["dialog"][0])) > 2


def test_texts_are_those_of_the_model(writer, answers):
    sources = [text for text in SOURCES if text]
    expected = iter(one.label for one in ta.predict(writer, sources))
    pairs = zip(SOURCES, answers["writer"][0], strict=True)
    assert all(text == next(expected) for source, text in pairs if source)


def test_drawn_replies_are_those_of_the_generator(dialog, answers):
    write, settings = TokenGenerator(dialog.encoder.native), Decoding(5, temperature=1.5)
    for number, reply in enumerate(answers["dialog"][1]):
        tokens = write(rows_of(dialog, number), [dialog.end], settings, seed=7)
        (text,) = dialog.writer.detokenize(tokens).numpy()
        assert reply == text.decode(errors="replace").strip(), number
    assert answers["dialog"][2] == answers["dialog"][1][1:2]


def test_drawn_texts_are_those_of_the_generator(writer, answers):
    def begun(given):
        return writer.begun(writer.read(given))

    write, settings = TokenGenerator(writer, begun), Decoding(5, temperature=1.5)
    prepared = prepare(SOURCES[:2], writer.task, writer.encoder)
    for number, reply in enumerate(answers["writer"][1][:2]):
        given = prepared.packed_inputs(tf.constant([number], tf.int64))["a"]
        inputs = {name: given[name] for name in given if name.startswith("input")}
        (text,) = writer.writer.detokenize(write(inputs, [writer.end], settings, seed=7)).numpy()
        assert reply == text.decode(errors="replace").strip(), number
    assert answers["writer"][2] == answers["writer"][1][1:2]


@pytest.fixture(scope="module")
def program(folders):
    return {name: tf.saved_model.load(str(folder)) for name, folder in folders.items()}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"max_new_tokens": 0}, "max_new_tokens: expected at least 1, got 0"),
        ({"temperature": -1.0}, r"temperature: expected a number from 0 .* got -1"),
        ({"temperature": float("nan")}, "temperature: .* got -?nan"),
        ({"persona": [["", ""]]}, "persona: expected at least one text in each row, got none"),
        ({"history": [["a", "", "b"]]}, "history: expected empty texts, of padding, at the"),
        (
            {"history": [["the " * 200]]},
            r"persona and last turn of at most 120 tokens.* got \d+; shorten",
        ),
        ({"max_new_tokens": 158}, "persona and last turn of at most 2 tokens"),
    ],
)
def test_what_a_call_may_not_have(program, changes, message):
    given = dialogues(EXCHANGES[:1]) | SETTINGS | changes
    tensors = {name: tf.constant(value) for name, value in given.items()}
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        program["dialog"].signatures["generate"](**tensors)


def test_no_more_tokens_than_positions(program):
    given = {"text": tf.constant(["a"])} | {
        "max_new_tokens": tf.constant(257),
        "temperature": tf.constant(0.0),
        "seed": tf.constant(0),
    }
    with pytest.raises(tf.errors.InvalidArgumentError, match="at most 256, the positions of the"):
        program["writer"].signatures["generate"](**given)


def test_a_call_of_no_rows(program):
    none = tf.zeros([0, 1], tf.string)
    given = {"dialog": {"persona": none, "history": none}, "writer": {"text": none[:, 0]}}
    for name, rows in given.items():
        signatures = program[name].signatures
        settings = {key: tf.constant(value) for key, value in SETTINGS.items()}
        answers = signatures["serving_default"](**rows), signatures["generate"](**rows, **settings)
        assert [tuple(text.shape) for one in answers for text in one.values()] == [(0,), (0,)]


@pytest.fixture(scope="module")
def served(folders):
    with running(server_of({name: folder.parent for name, folder in folders.items()})) as found:
        yield found


def test_a_server_gives_the_texts_of_the_exports(served, answers):
    client = ta.Client(f"http://127.0.0.1:{served.port}", batch_size=3)
    dialogues = [(one.persona, one.history) for one in EXCHANGES]
    for name, rows in (("dialog", dialogues), ("writer", SOURCES)):
        assert client.predict(rows, name) == answers[name][0]
        assert client.predict(rows, name, settings=SETTINGS) == answers[name][1]
    shown = served.get("/page/models.json").json["models"]
    assert [one["signature"] for one in shown] == ["serving_default"] * 2


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"instances": [{"persona": [""], "history": ["a"]}]}, "persona: expected at least one"),
        ({"instances": [{"persona": ["a"], "history": []}]}, "history: expected at least one text"),
        ({"instances": [{"persona": "a", "history": ["a"]}]}, "persona[0]: expected a list of te"),
        ({"instances": [{"persona": ["a"], "history": ["a", 1]}]}, "history[0][1]: expected a te"),
        ({"instances": [{"persona": ["the " * 200], "history": ["a"]}]}, "of at most 120 tokens"),
        (
            {"signature_name": "generate", "inputs": {"persona": [["a"]], "history": [["a"]]}},
            "expected the keys persona, history, max_new_tokens, temperature, seed",
        ),
        (
            {
                "signature_name": "generate",
                "inputs": {"persona": [["a"]], "history": [["a"]]} | SETTINGS | {"temperature": -1},
            },
            "temperature: expected a number from 0 (no draw) to 100, got -1",
        ),
    ],
)
def test_s1_what_a_served_model_refuses(served, content, message):
    answer = served.predict("dialog", **content)
    assert answer.status == 400
    assert message in answer.error


def test_what_writes_is_exported_alone_and_as_a_saved_model(dialog, tmp_path):
    served = ServedTask(dialog)
    with pytest.raises(ConfigError, match="writes texts is exported alone"):
        check_shared({"a": served, "b": served})
    with pytest.raises(ConfigError, match="as a SavedModel, not .* for OpenVINO"):
        export_light({DEFAULT: served}, tmp_path / "light", "")
