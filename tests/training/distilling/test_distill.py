"""A module's distillation: from a command to a module, through kills, and what is refused."""

import csv
import itertools
import os
import random
import shutil
import signal
from types import SimpleNamespace

import numpy as np
import pytest
import tensorflow as tf
from click.testing import CliRunner

import tf_adapt as ta
from hub_modules.load import load_module
from hub_modules.storage.tf_checkpoint import read_variables
from tf_adapt.commands.main import cli
from tf_adapt.errors import ArtifactError, ConfigError, DataError, TrainingError
from tf_adapt.training.distilling import distill, loop
from tf_adapt.training.distilling.settings import DistillationSettings
from tf_adapt.training.distilling.steps import DistillationSteps

# Their fixtures distill.
pytestmark = pytest.mark.slow

SMALL = {"steps": 24, "batch_size": 2, "length": 32, "learning_rate": 0.003}


@pytest.fixture(scope="module", autouse=True)
def few_evaluations():
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(loop, "EVALUATIONS", 4)
        yield


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    chosen = random.Random(0)
    words = ["the", "what", "is", "who", "where", "dog", "cat", "man", "sings", "rain", "runs"]
    lines = [" ".join(chosen.choices(words, k=20)) for _ in range(60)]
    path = tmp_path_factory.mktemp("text") / "text.txt"
    path.write_text("\n".join(lines), "utf-8")
    return path


@pytest.fixture(scope="module")
def unbroken(tiny_bert, text, tmp_path_factory):
    """The module of a distillation that was never interrupted; beside it, in `work`, what it kept
    in between."""
    folder = tmp_path_factory.mktemp("unbroken")

    def kept(work):
        shutil.copytree(work, folder / "work")
        shutil.rmtree(work)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(distill, "shutil", SimpleNamespace(rmtree=kept))
        return ta.distill_module(tiny_bert, [1], [text], folder / "student", **SMALL)


def history(module):
    with open(module / "history.csv", newline="", encoding="utf-8") as file:
        return [{k: v for k, v in row.items() if k != "minutes"} for row in csv.DictReader(file)]


def assert_same(one, other):
    expected, found = (read_variables(module / "encoder") for module in (one, other))
    assert expected.keys() == found.keys()
    for name, value in expected.items():
        np.testing.assert_array_equal(found[name], value)
    assert history(one) == history(other)


def test_the_command_writes_a_module_with_its_card(tiny_bert, text, tmp_path):
    out = tmp_path / "student"
    arguments = ["module", "distill", str(tiny_bert), "--keep-layers", "0", "--text", str(text)]
    arguments += ["--out", str(out), "--steps", "40", "--batch-size", "2", "--length", "32"]
    arguments += ["--learning-rate", "0.003", "--vocabulary", "93", "--stored-as", "float16"]
    result = CliRunner().invoke(cli, [*arguments, "--decay", "cosine"])
    assert result.exit_code == 0, result.output
    assert result.stdout == f"module: {out}\n"
    assert os.listdir(tmp_path) == ["student"]
    card = (out / "README.md").read_text("utf-8")
    for part in (
        "0 (gives 1)",
        "93 of 96 word pieces",
        "1,200 words in 60 paragraphs",
        "40 steps",
        "cosine decay from 0.003",
        "stored in float16",
        "says nothing of its licence",
    ):
        assert part in card
    rows = history(out)
    assert [int(row["step"]) for row in rows] == [0, 10, 20, 30, 40]
    assert float(rows[-1]["held_out_loss"]) < 0.5 * float(rows[0]["held_out_loss"])
    stored = read_variables(out / "encoder")
    assert {value.dtype for value in stored.values()} == {np.dtype("float16")}
    encoder = ta.HubEncoder(out)
    assert {weight.dtype for weight in encoder.weights} == {"float32"}
    assert len((out / "vocab.txt").read_text("utf-8").split("\n")) == 94
    program = load_module(out, execution="saved_model").encoder
    inputs = encoder.preprocessor(["who is the man", "what"])
    for one, other in zip(encoder(inputs)["layers"], program(inputs)["layers"], strict=True):
        visible = tf.cast(inputs["input_mask"], tf.float32)[..., None]
        np.testing.assert_allclose(one * visible, other * visible, atol=1e-5)
    with pytest.raises(ConfigError, match="stored in float16.*execution: native"):
        ta.HubEncoder(out, execution="saved_model")
    again = CliRunner().invoke(cli, arguments)
    assert again.exit_code == 4 and "got an existing one" in again.output


def test_killed_in_the_middle_it_ends_with_the_same_bits(
    tiny_bert, text, unbroken, tmp_path, monkeypatch
):
    """Once between two checkpoints, and once by a signal, which no step is lost by."""

    class Killed(BaseException):
        pass

    update, done = DistillationSteps.update, []

    def dying(self, *batch):
        done.append(None)
        if len(done) == 8:  # of which the last two are taken again
            raise Killed
        if len(done) == 13:
            signal.raise_signal(signal.SIGTERM)
        return update(self, *batch)

    monkeypatch.setattr(DistillationSteps, "update", dying)
    out = tmp_path / "student"
    with pytest.raises(Killed):
        ta.distill_module(tiny_bert, [1], [text], out, **SMALL)
    assert not out.exists() and (tmp_path / "student.distilling" / "history.csv").is_file()
    with pytest.raises(SystemExit, match="143"):
        ta.distill_module(tiny_bert, [1], [text], out, **SMALL)
    assert len(done) == 13
    assert_same(ta.distill_module(tiny_bert, [1], [text], out, **SMALL), unbroken)
    assert len(done) == SMALL["steps"] + 2


def test_killed_between_module_and_tidying_up_it_is_finished(tiny_bert, text, unbroken, tmp_path):
    out, work = tmp_path / "student", tmp_path / "student.distilling"
    shutil.copytree(unbroken, out)
    shutil.copytree(unbroken.with_name("work"), work)
    assert_same(ta.distill_module(tiny_bert, [1], [text], out, **SMALL), unbroken)
    assert history(out) == history(unbroken) and not work.exists()


def test_another_module_in_its_place_ends_nothing(tiny_bert, text, unbroken, tmp_path):
    out, work = tmp_path / "student", tmp_path / "student.distilling"
    shutil.copytree(unbroken, out)
    work.mkdir()
    (work / "history.csv").write_text("step\n0\n")
    with pytest.raises(ArtifactError, match="got an existing one; choose another --out$"):
        ta.distill_module(tiny_bert, [1], [text], out, **SMALL)
    assert (work / "history.csv").is_file()


def test_it_does_not_go_on_as_another_one(tiny_bert, text, tmp_path, monkeypatch):
    def failing(self, *batch):
        return [float("nan")] * 4

    out = tmp_path / "student"
    with monkeypatch.context() as patched:
        patched.setattr(DistillationSteps, "update", failing)
        with pytest.raises(TrainingError, match="step 1: the loss is not finite"):
            ta.distill_module(tiny_bert, [1], [text], out, **SMALL)
    message = r"cannot go on, since this differs: keep_layers \(was \[1\], now \[0\]\), seed "
    with pytest.raises(ArtifactError, match=message):
        ta.distill_module(tiny_bert, [0], [text], out, seed=1, **SMALL)


def test_a_time_budget_ends_it(tiny_bert, text, tmp_path, monkeypatch):
    seconds = itertools.count()
    clock = SimpleNamespace(monotonic=lambda: float(next(seconds)))
    monkeypatch.setattr(loop, "time", clock)
    for name in ("update", "losses"):  # which would be traced
        monkeypatch.setattr(DistillationSteps, name, lambda self, *batch: [1.0] * 4)
    limits = SMALL | {"steps": None, "minutes": 0.5}
    out = ta.distill_module(tiny_bert, [1], [text], tmp_path / "student", **limits)
    assert 7 < int(history(out)[-1]["step"]) < 30  # the clock ticks whenever it is read
    assert "steps, 0.5 minutes" in (out / "README.md").read_text("utf-8")


def test_settings_that_are_refused():
    for settings, message in (
        ({}, r"one of steps \(--steps\) and minutes"),
        ({"steps": 1, "minutes": 1.0}, r"one of steps \(--steps\) and minutes"),
        ({"steps": 0}, "steps: expected a whole number from 1, got 0"),
        ({"minutes": float("nan")}, "minutes: expected a number above 0, got nan"),
        ({"steps": 1, "batch_size": 1}, "batch_size: expected a whole number from 2, got 1"),
        ({"steps": 1, "length": 16}, "length: expected a whole number from 32, got 16"),
        ({"steps": 1, "warmup": 1.0}, "warmup: expected a share from 0 to below 1, got 1.0"),
        ({"steps": 1, "decay": "step"}, "decay: expected linear or cosine, got 'step'"),
        ({"steps": 1, "precision": "float16"}, "precision: expected None or bfloat16"),
        ({"steps": 1, "stored_as": "int8"}, "stored_as: expected float32 or float16, got 'int8'"),
    ):
        with pytest.raises(ConfigError, match=message):
            DistillationSettings((0,), **settings)


def test_rates_of_steps_and_of_time():
    by_steps = DistillationSettings((0,), steps=100, learning_rate=1.0, warmup=0.1)
    assert [by_steps.rate(step, 0) for step in (0, 5, 50, 100)] == [0, 0.5, 0.5, 0]
    by_time = DistillationSettings((0,), minutes=2.0, learning_rate=1.0, decay="cosine", warmup=0.5)
    found = [by_time.rate(9, seconds) for seconds in (0, 30, 60, 90, 120)]
    np.testing.assert_allclose(found, [0, 0.5, 1, 0.5, 0], atol=1e-9)
    assert [by_time.share_done(9, seconds) for seconds in (30, 150)] == [0.25, 1.0]


def test_what_cannot_be_distilled_is_refused(tiny_bert, tiny_elmo, tiny_causal, text, tmp_path):
    def distill(teacher=tiny_bert, layers=(0,), texts=(text,), **changed):
        ta.distill_module(teacher, layers, texts, tmp_path / "out", **SMALL | changed)

    empty, short, greek = (tmp_path / name for name in ("empty.txt", "short.txt", "greek.txt"))
    empty.write_text("\n", "utf-8")
    short.write_text("the man sings\n" * 9, "utf-8")
    greek.write_text("ο άνθρωπος τραγουδά the rain\n" * 90, "utf-8")
    with pytest.raises(ConfigError, match="layers 0 to 1, each once .* got \\[0, 2\\]"):
        distill(layers=(0, 2))
    for teacher, family in ((tiny_elmo, "elmo"), (tiny_causal, "causal")):
        with pytest.raises(ConfigError, match=f"expected a BERT .* of the family {family}"):
            distill(teacher)
    with pytest.raises(DataError, match="empty.txt: no examples in this file"):
        distill(texts=(text, empty))
    with pytest.raises(DataError, match="short.txt: expected text of 232 word pieces or more"):
        distill(texts=(short,))
    with pytest.raises(DataError, match="greek.txt: .* of which 38% of the pieces are unknown"):
        distill(texts=(greek,))
    with pytest.raises(ConfigError, match="expected from 91 pieces .* to 96 .all., got 50"):
        distill(vocabulary=50)
    with pytest.raises(ConfigError, match="length: expected at most the teacher's 256 positions"):
        distill(length=257)
    with pytest.raises(ArtifactError, match="no such folder"):
        distill(tmp_path / "none")
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "empty.txt",
        "greek.txt",
        "short.txt",
    ]


def test_layers_that_are_no_list_of_numbers(text, tmp_path):
    for layers in ("", "0,", "a", "0-2", "1.5"):
        arguments = ["module", "distill", "bert_small", "--keep-layers", layers, "--steps", "1"]
        arguments += ["--text", str(text), "--out", str(tmp_path / "out")]
        result = CliRunner().invoke(cli, arguments)
        assert result.exit_code == 2 and "numbers of layers with commas, as 0,2" in result.output
