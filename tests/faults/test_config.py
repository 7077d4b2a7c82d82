"""Configs that must be refused (C1 to C4), and 200 that were damaged at random."""

import copy
import random
import sys
import time
from pathlib import Path

import pytest
import yaml

from tf_adapt.comparison.plan.cells import Comparison
from tf_adapt.comparison.plan.settings import is_comparison, load_comparison
from tf_adapt.config.reading import load_config
from tf_adapt.config.sections import Config
from tf_adapt.errors import ConfigError, TfAdaptError

GOOD = {
    "about": {"summary": "a test", "expected": "none", "minutes": 1},
    "data": {"dataset": "mrpc", "source": "files", "data_dir": "data", "train_examples": 64},
    "encoder": {"handle": "HANDLE", "execution": None, "trust": False},
    "head": "default",
    "head_dropout": 0.1,
    "adaptation": "fine_tuning",
    "training": {"epochs": 1, "batch_size": 8, "learning_rate": 2e-5, "warmup": 0.1, "seed": 1},
}


@pytest.fixture
def good(tmp_path) -> dict:
    content = {key: dict(part) if isinstance(part, dict) else part for key, part in GOOD.items()}
    content["encoder"]["handle"] = str(tmp_path)
    return content


def refusal(path: Path) -> str:
    """The message of the ConfigError, which must come soon."""
    started = time.process_time()
    with pytest.raises(ConfigError) as caught:
        load_config(path)
    assert time.process_time() - started < 2
    return str(caught.value)


def written(tmp_path: Path, content) -> Path:
    path = tmp_path / "config.yaml"
    path.write_text(content if isinstance(content, str) else yaml.safe_dump(content))
    return path


def test_the_good_one_is_good(good, tmp_path):
    assert isinstance(load_config(written(tmp_path, good)), Config)


def test_c1_misspelt_key(good, tmp_path):
    good["training"]["learning_rat"] = good["training"].pop("learning_rate")
    message = refusal(written(tmp_path, good))
    assert "training.learning_rat" in message
    good["training"]["learning_rate"] = 1.0
    message = refusal(written(tmp_path, good))
    assert "training.learning_rat: unknown key; did you mean learning_rate?" in message
    del good["training"]["learning_rat"]
    good["adaption"] = "x"
    message = refusal(written(tmp_path, good))
    assert "adaption: unknown key; did you mean adaptation?" in message


def test_c1_missing_key(good, tmp_path):
    for path in [
        "data",
        "encoder",
        "encoder.handle",
        "adaptation",
    ]:
        section = content = copy.deepcopy(good)
        *parents, key = path.split(".")
        for parent in parents:
            section = section[parent]
        del section[key]
        message = refusal(written(tmp_path, content))
        assert f" {path}: expected" in message
        assert "missing" in message


def test_c1_key_twice(good, tmp_path):
    text = yaml.safe_dump(good, sort_keys=False)
    path = written(tmp_path, text + "  epochs: 2\n")
    lines = path.read_text().splitlines()
    first, second = (n for n, line in enumerate(lines, 1) if line.startswith("  epochs:"))
    message = refusal(path)
    assert f"config.yaml:{second}:3: training.epochs is written twice, first on line {first}" in (
        message
    )
    message = refusal(written(tmp_path, text + "head: default\n"))
    assert "head is written twice" in message


def test_c2_value(good, tmp_path):
    for key, text, expected in [
        ("learning_rate", "'1e-3'", "got '1e-3'; a number is written without quotes: 0.001"),
        ("learning_rate", "2e-5", "got '2e-5'; a number is written without quotes: 2.0e-5"),
        ("learning_rate", ".nan", "a number above 0, or null for the default, got nan"),
        ("learning_rate", ".inf", "a number above 0, or null for the default, got inf"),
        ("learning_rate", "-1", "a number above 0, or null for the default, got -1"),
        ("learning_rate", "true", "a number above 0, or null for the default, got True"),
        ("epochs", "2.5", "a whole number from 1 to 1000000, or null for the default, got 2.5"),
        ("epochs", "0", "a whole number from 1 to 1000000, or null for the default, got 0"),
        ("epochs", "no", "a whole number from 1 to 1000000, or null for the default, got False"),
        ("epochs", "'3'", "a whole number from 1 to 1000000, or null for the default, got '3'"),
        ("epochs", "1" + "0" * 30, f"or null for the default, got {10**30}"),
        (
            "batch_size",
            "[8]",
            "a whole number from 1 to 1000000, or null for the default, got a list",
        ),
        (
            "batch_size",
            "1000001",
            "a whole number from 1 to 1000000, or null for the default, got 1000001",
        ),
        ("patience", "1000001", "a whole number from 1 to 1000000, or null"),
        (
            "max_length",
            "9" * 20,
            f"a whole number from 4 to 1000000, or null for the encoder's limit, got {'9' * 20}",
        ),
        ("warmup", "1.5", "a fraction of all steps, from 0 to 1, got 1.5"),
        ("truncate", "1", "true or false, got 1"),
        ("devices", "gpu:0", "all, cpu:N, gpu:N, or null for one device, got 'gpu:0'"),
        ("mixed_precision", "fp16", "bfloat16, float16, or null, got 'fp16'"),
        ("seed", "4294967296", "a whole number from 0 to 2^32 - 1, got 4294967296"),
        ("epochs", "1:30", "YAML reads 1:30 as a number in base 60"),
        ("epochs", "9" * 5000, "config.yaml:"),
    ]:
        content = copy.deepcopy(good)
        content["training"].pop(key, None)
        path = written(tmp_path, yaml.safe_dump(content, sort_keys=False) + f"  {key}: {text}\n")
        message = refusal(path)
        assert expected in message
        assert f"config.yaml:{len(path.read_text().splitlines())}" in message


def test_c2_every_count_is_bounded(good, tmp_path):
    for key in [
        "data.train_examples",
        "head_units",
        "adaptation.layers",
        "adaptation.every",
        "adaptation.head_epochs",
        "adaptation.upper_epochs",
        "adaptation.patience",
        "adaptation.size",
        "auxiliary.language_model.anneal_steps",
        "features.limit_mb",
    ]:
        if key.startswith("auxiliary"):
            good["auxiliary"] = {"language_model": {"weight": 1.0}}
        with pytest.raises(
            ConfigError, match=rf"{key}: expected a whole number .*from [01] to \d+"
        ):
            load_config(written(tmp_path, good), [f"{key}={10**15}"])


def test_c3_not_a_config(tmp_path):
    for text, place in [
        ("", "config.yaml: expected sections"),
        ("- 1\n", "got a list"),
        ("null\n", "got null"),
        ("{a: 1,, b: 2}", "config.yaml:1:7"),
        ("a: 1\nb: [1, 2\n", "config.yaml:3:1"),
        ("[" * 100_000, "config.yaml:1:21: expected at most 20 nested levels"),
        ("\n".join(" " * n + "- " for n in range(300)), "expected at most 20 nested levels"),
        ("{a: " * 100_000, "config.yaml:1:"),
        ("a: [" + "1," * 400_000 + "1]", "expected at most 10000 keys and values"),
        ("a: &x [1]\nb: *x\n", "config.yaml:1:4: expected plain values, got an anchor"),
        ("<<: {a: 1}\n", "config.yaml:1:1: expected a key that is text, got '<<'"),
        ("1: 2\n", "config.yaml:1:1: expected a key that is text, got '1'"),
        ("? [a]\n: 1\n", "config.yaml:1:3: expected a key that is text, got a sequence"),
        ("a: 1\n---\nb: 2\n", "config.yaml:2:1"),
        ("a: !!python/object/apply:os.system [x]\n", "config.yaml"),
        ("a: !!python/name:os.system x\n", "config.yaml:1:4"),
        ("a: 2020-99-99\n", "config.yaml:1:4"),
        ("a: 0b_\n", "config.yaml:1:4"),
        ("a: 2001-01-01 00:00:00 +99:99\n", "config.yaml:1:4"),
        ('a: "\\U00ffffff"\n', "config.yaml:1:7"),
        ("%YAML " + "9" * 5000 + ".1\n--- {}\n", "config.yaml:1:7"),
        ('a: !!int ""\n', "config.yaml:1:4: expected a plain value, got the tag"),
        ("a: !!float x\n", "config.yaml:1:4: expected a plain value, got the tag"),
        ("a: !!binary é\n", "config.yaml:1:4: expected a plain value, got the tag"),
        ("a: !!timestamp x\n", "config.yaml:1:4: expected a plain value, got the tag"),
        ("a: !!bool maybe\n", "config.yaml:1:4: expected a plain value, got the tag"),
        ("a: !!set {b}\n", "config.yaml:1:4: expected a plain value, got the tag"),
        ("a:\n  !!omap [b]\n", "config.yaml:2:3: expected a plain value, got the tag"),
        ('a: "\\0"\n', "config.yaml:1:4: expected printable text, got character U+0000"),
        ('"\\ud800": 1\n', "config.yaml:1:1: expected printable text, got character U+D800"),
        ("a: \x00\n", "expected printable text, got character U+0000"),
    ]:
        message = refusal(written(tmp_path, text))
        assert place in message


def test_c3_huge_file(tmp_path):
    path = tmp_path / "config.yaml"
    with open(path, "wb") as file:
        file.truncate(200_000_000)
    assert "at most 1000000 bytes, got 200000000" in refusal(path)
    assert "at most 1000000 bytes, got 1000001" in refusal(Path("/dev/zero"))


def test_c3_other_files(tmp_path):
    (tmp_path / "config.yaml").write_bytes(b"a: \xe9\n")
    assert "expected UTF-8 text, got byte 0xE9 at offset 3" in refusal(tmp_path / "config.yaml")
    assert "cannot be read (Is a directory)" in refusal(tmp_path)
    assert "cannot be read (No such file or directory)" in refusal(tmp_path / "absent.yaml")


def test_c4_unknown_name_opens_nothing(good, tmp_path):
    events, watched = [], [None]

    def watch(event, arguments):
        if watched[0] and event in ("open", "import", "socket.connect", "os.system", "exec"):
            events.append((event, str(arguments[0])))

    sys.addaudithook(watch)
    shipped = "expected the name of a shipped module ("
    for key, value, expected in (
        ("data.dataset", "os.system", "expected one of "),
        ("encoder.handle", "../../x", shipped),
        ("encoder.handle", "", shipped),
        ("encoder.handle", "/", shipped),
        ("encoder.handle", "//.", shipped),
        ("encoder.handle", "file:///etc/passwd", shipped),
        ("encoder.handle", "https://huggingface.co/a/b", shipped),
        ("encoder.preprocessor", "no/such/folder", shipped),
    ):
        content = copy.deepcopy(good)
        section, _, name = key.partition(".")
        content[section][name] = value
        path = written(tmp_path, content)
        refusal(path)  # imports what it imports now, so that only the check itself is watched
        watched[0] = True
        message = refusal(path)
        watched[0] = None
        assert f"{key}: {expected}" in message
        assert [event for event in events if event != ("open", str(path))] == []


def leaves(content, path=()):
    if isinstance(content, dict):
        for key, value in content.items():
            yield from leaves(value, (*path, key))
    else:
        yield path


def replacement(generator: random.Random):
    return generator.choice(
        [None, True, False, -1, 0, 1, 2.5, 1e30, -0.0, 10**400, float("nan"), float("inf"), "",
         "x", "1e-3", "../../x", "\u2028", "a\0b", "é" * 10_000, [], [1], {}, {"a": 1}, [[[]]],
         "os.system", "all", "cpu:1\n", "null"]
    )  # fmt: skip


def test_fuzz_one_leaf_replaced(good, tmp_path):
    shipped = sorted((Path(__file__).resolve().parents[2] / "configs").rglob("*.yaml"))
    bases = [good, *(yaml.safe_load(path.read_text(encoding="utf-8")) for path in shipped)]
    assert sum("compare" in base for base in bases) >= 10
    generator = random.Random(20)
    for number in range(200):
        content = yaml.safe_load(yaml.safe_dump(generator.choice(bases)))
        *parents, key = generator.choice(list(leaves(content)))
        section = content
        for parent in parents:
            section = section[parent]
        section[key] = replacement(generator)
        path = written(tmp_path, yaml.safe_dump(content, allow_unicode=True))
        try:
            if is_comparison(path):
                assert isinstance(load_comparison(path), Comparison)
            else:
                assert isinstance(load_config(path), Config)
        except TfAdaptError:
            pass
        except Exception as error:
            pytest.fail(f"config {number}, {key} = {section[key]!r}: {error!r}")
