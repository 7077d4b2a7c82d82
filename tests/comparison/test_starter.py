"""`tf-adapt init`: the config that it writes runs as it is."""

import json

import pytest
from click.testing import CliRunner

from tf_adapt.commands.main import cli
from tf_adapt.comparison.plan.design_power import power_lines
from tf_adapt.comparison.plan.first_config import examples, write_config
from tf_adapt.comparison.plan.settings import load_comparison
from tf_adapt.data.splits import read_splits
from tf_adapt.data.splits.read_splits import load_splits
from tf_adapt.errors import ConfigError, DataError
from tf_adapt.statistics.power import Design


def run(*arguments):
    return CliRunner().invoke(cli, list(map(str, arguments)))


def reviews(folder, text="review", label="stars", name="reviews.csv"):
    quoted = [name.replace('"', '""') for name in (text, label)]
    rows = [f'"a film, number {n},\nthat is long";{"xy"[n % 2]}\n' for n in range(60)]
    path = folder / name
    path.write_text(f'"{quoted[0]}";"{quoted[1]}"\n' + "".join(rows), "utf-8")
    return path


def tagged(folder):
    path = folder / "names.txt"
    path.write_text("".join(f"Ann NN I-PER\nran{n} V O\n\n" for n in range(60)), "utf-8")
    return path


@pytest.mark.slow
@pytest.mark.parametrize("make", [reviews, tagged])
def test_v7_init_says_what_its_plan_decides(make, shallow_bert, unmeasured, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    said = run("init", make(tmp_path).name)
    assert said.exit_code == 0
    assert "next: tf-adapt compare config.yaml --dry-run" in said.stdout
    # Building the models of one encoder is enough.
    one = ("--set", f"compare.encoders=[{shallow_bert}]")
    result = run("compare", "config.yaml", "--dry-run", "--json", *one)
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)
    assert found["examples"] == {"train": 43, "dev": 5, "test": 60}
    head = {reviews: "linear", tagged: "linear_tagger"}[make]
    assert [cell["head"] for cell in found["cells"]] == [head, head]
    adaptations = ["feature_extraction", "fine_tuning"]
    assert [cell["adaptation"] for cell in found["cells"]] == adaptations
    # Two rates in the first of two repeats, the second with the chosen ones; one model for export.
    assert (found["folds"], found["runs"]) == (5, 2 * 5 * 3 + 2)
    assert any("10 points in" in line for line in said.stdout.splitlines())


@pytest.mark.parametrize("name", examples())
def test_examples_are_read_as_they_are(name, tmp_path):
    out = tmp_path / "c.yaml"
    said = run("init", "--example", name, "--out", out)
    assert said.exit_code == 0 and f"next: tf-adapt compare {out} --dry-run" in said.stdout
    cells = load_comparison(out).cells
    assert {cell.config.data.dataset for cell in cells} == {f"sample_{examples()[name]}"}
    assert set(load_splits(cells[0].config.data).examples) == {"train", "dev", "test"}
    assert run("init", "--example", name, "--out", out).exit_code == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "expected a data file or --example"),
        (["reviews.csv", "--example", "names"], "expected a data file or --example"),
        (["--example", "name"], "--example: expected one of names, classification"),
    ],
)
def test_a_file_or_an_example(arguments, message):
    result = run("init", *arguments)
    assert result.exit_code == 2 and message in result.stderr


def test_what_was_guessed_is_said(tmp_path):
    result = run("init", reviews(tmp_path), "--out", tmp_path / "c.yaml")
    for line in (
        "format: csv (its name ends in .csv)",
        "kind: classification ('stars' has 2 different values: x, y)",
        "text: review",
        "label: stars",
        "delimiter: ';'",
    ):
        assert line in result.stdout.splitlines()
    content = (tmp_path / "c.yaml").read_text("utf-8")
    assert "# guessed: 'stars' has 2 different values: x, y\n  kind: classification" in content


def test_any_name_of_a_column_or_file_is_read_back(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = ["no", "1", "a: b", "# 1", 'the "text"', "é 🔥", "a\u2028b", "{x}"]
    for number, name in enumerate(names):
        path = reviews(tmp_path, text=name, name=f"{name}.csv")
        write_config(path.name, f"{number}.yaml")
        data = load_comparison(f"{number}.yaml").cells[0].config.data
        assert (data.columns.text_a, data.train) == (name, str(path))
        assert len(load_splits(data).examples["train"]) == 27


def test_an_existing_file_is_never_overwritten(tmp_path):
    out = tmp_path / "config.yaml"
    out.write_text("mine")
    with pytest.raises(ConfigError, match="config.yaml: it exists already .* another --out"):
        write_config(reviews(tmp_path), out)
    assert out.read_text() == "mine"


def test_what_a_run_would_refuse_is_refused_at_once(tmp_path):
    path = reviews(tmp_path)
    path.write_text(path.read_text() + '"";x\n')
    with pytest.raises(DataError, match="reviews.csv:122: expected a text in column 'review'"):
        write_config(path, tmp_path / "config.yaml")
    path.write_text("review;stars\n" + "a long text;x\na short text;y\n" * 20)
    _, (warning,), _ = write_config(path, tmp_path / "config.yaml")
    assert "expected at least 50 examples" in warning
    assert run("init", tmp_path / "absent.csv").exit_code == 3
    nowhere = run("init", reviews(tmp_path), "--out", tmp_path / "absent" / "config.yaml")
    assert nowhere.exit_code == 4


def test_equal_texts_decide_as_one(tmp_path):
    """The tests count them as one item."""
    path = tmp_path / "double.tsv"
    rows = [f"text {n % 60}\t{'ab'[n % 2]}\n" for n in range(120)]
    path.write_text("text\tlabel\n" + "".join(rows), "utf-8")
    _, _, lines = write_config(path, tmp_path / "config.yaml")
    assert lines == power_lines(Design(10, 2, 60), 2) != power_lines(Design(10, 2, 120), 2)


def test_the_examples_of_a_file_are_read_once(tmp_path, monkeypatch):
    reads = []
    read = read_splits.read_file
    monkeypatch.setattr(
        read_splits, "read_file", lambda *given, **how: reads.append(given) or read(*given, **how)
    )
    write_config(reviews(tmp_path), tmp_path / "config.yaml")
    assert len(reads) == 1


def test_suspicious_labels_are_said_at_once(tmp_path):
    path = reviews(tmp_path)
    path.write_text(path.read_text() + '"one more, that is long";X\n')
    result = run("init", path, "--out", tmp_path / "config.yaml")
    assert "warning: once in train: 'X'; nothing can be learnt" in result.stdout
    assert "warning: labels that differ in case or space alone: 'X' and 'x'" in result.stdout
