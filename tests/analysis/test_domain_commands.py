"""The command `tf-adapt analyze domains`: table 6 of the paper on a tiny MultiNLI."""

import csv
import json
import subprocess
import sys

import numpy as np
import pytest
from scipy.spatial.distance import jensenshannon
from scipy.stats import pearsonr
from tiny_mnli import (
    FROZEN,
    TUNED,
    WORDS,
    content,
    data_of,
    finished,
    found_by,
    of_one_genre,
    refused,
    run,
    text_file,
    with_runs,
    write,
)

# How many of the 12 examples of a genre a run has right, by adaptation and seed.
RIGHT = {
    (FROZEN, 0): {"fiction": 6, "slate": 9, "travel": 3},
    (TUNED, 0): {"fiction": 12, "slate": 9, "travel": 6},
    (TUNED, 1): {"fiction": 6, "slate": 9, "travel": 12},
}


@pytest.fixture
def runs(mnli, tmp_path) -> list:
    """`--run` of a run of each genre, adaptation and seed."""
    return with_runs(
        *(
            of_one_genre(tmp_path / f"{genre}_{name}_{seed}", mnli, genre, name, seed, right)
            for (name, seed), of_genres in RIGHT.items()
            for genre, right in of_genres.items()
        )
    )


def frequencies(texts: str, vocabulary: list[str]) -> np.ndarray:
    words = texts.lower().split()
    return np.array([words.count(word) for word in vocabulary], "float64")


def divergence(first: str, second: str) -> float:
    """By SciPy, of texts whose terms are separated by spaces."""
    vocabulary = sorted({*first.lower().split(), *second.lower().split()})
    return jensenshannon(frequencies(first, vocabulary), frequencies(second, vocabulary)) ** 2


def train_text(genre: str) -> str:
    return " ".join(
        f"{WORDS[genre]} {number} {WORDS[genre]} {number} ( train )" for number in range(12)
    )


def test_genres_beside_references_and_runs_of_one_genre_each(genres, wiki, books, runs, tmp_path):
    out = tmp_path / "out"
    references = ["--reference", wiki, "--reference", books]
    result = run(genres, *references, *runs, "--out", out)
    assert result.exit_code == 0, result.output
    found = json.loads((out / "domains.json").read_text("utf-8"))
    assert found["corpora"] == ["fiction", "slate", "travel"]
    assert [one["name"] for one in found["references"]] == ["wiki", "books", "all together"]
    assert [one["terms"] for one in found["references"]] == [6, 5, 11]
    texts = {"wiki": wiki.read_text("utf-8"), "books": books.read_text("utf-8")}
    texts["all together"] = texts["wiki"] + texts["books"]
    for reference in found["references"]:
        for genre, one in reference["genres"].items():
            expected = divergence(train_text(genre), texts[reference["name"]])
            assert one["divergence"] == pytest.approx(expected, abs=1e-9)
            assert one["own_sample"] is None  # two texts of wiki, one of books
    assert found["accuracies"] == {
        FROZEN: {"fiction": 0.5, "slate": 0.75, "travel": 0.25},
        TUNED: {"fiction": 0.75, "slate": 0.75, "travel": 0.75},
    }
    assert len(found["runs"]) == 9
    together = found["references"][-1]
    correlations = together["correlations"]
    assert correlations.keys() == {FROZEN, TUNED, f"{TUNED} − {FROZEN}"}
    expected = pearsonr(
        [together["genres"][genre]["divergence"] for genre in found["corpora"]], [0.25, 0.0, 0.5]
    )
    both = correlations[f"{TUNED} − {FROZEN}"]
    assert (both["pearson"], both["p_value"]) == pytest.approx(tuple(expected))
    assert correlations[TUNED]["pearson"] is None  # alike on all genres
    assert f"{FROZEN}: no significant correlation with the divergence from wiki" in result.stdout
    assert result.stdout.count(f"{TUNED}: no correlation with a divergence can be computed") == 1
    (row, *_) = csv.DictReader((out / "domains.csv").read_text("utf-8").splitlines())
    assert float(row["divergence from wiki"]) == pytest.approx(
        divergence(train_text("fiction"), texts["wiki"]), abs=1e-9
    )
    assert (row[f"accuracy {FROZEN}"], row["own sample of wiki"]) == ("0.5", "")
    assert (out / "domains.png").is_file()


def test_where_dev_plays_test_it_is_dev_that_is_scored(mnli, wiki, tmp_path):
    data = data_of(mnli, genre="slate", held_out=0.25)
    of_slate = finished(tmp_path / "run", content(data), {"slate": 3}, split="test")
    (of_slate / "predictions" / "dev.tsv").write_text("prediction\nneutral\n", "utf-8")
    for held_out_in_config in (None, 0.25):
        genres = write(tmp_path / "c.yaml", content(data_of(mnli, held_out=held_out_in_config)))
        options = ["--reference", wiki, "--run", of_slate, "--out", tmp_path / "out"]
        found = found_by(genres, *options)
        assert found["accuracies"] == {TUNED: {"slate": 0.25}}
        assert found["runs"][0]["examples"] == {"slate": 12}
        assert "dev_matched.tsv" in list(found["splits"].values())[1]


def test_runs_on_several_genres_and_of_other_encoders_count_apart(genres, mnli, wiki, tmp_path):
    several = finished(tmp_path / "all", content(data_of(mnli)), dict.fromkeys(WORDS, 12))
    one = of_one_genre(tmp_path / "one", mnli, "travel", right=3)
    options = ["--reference", wiki, "--out", tmp_path / "out"]
    found = found_by(genres, *with_runs(several, one), *options)
    assert found["accuracies"] == {
        f"{TUNED}, trained on several genres": dict.fromkeys(sorted(WORDS), 1.0),
        TUNED: {"travel": 0.25},
    }
    assert found["runs"][1]["trained_on"] == {"travel": 12}
    elmo = content(data_of(mnli, genre="travel"), FROZEN, encoder="elmo_small")
    other = finished(tmp_path / "elmo", elmo, {"travel": 6})
    found = found_by(genres, *with_runs(one, other), *options)
    assert found["accuracies"] == {
        f"bert_small, {TUNED}": {"travel": 0.25},
        f"elmo_small, {FROZEN}": {"travel": 0.5},
    }


def test_a_genre_alone_and_some_genres_only(genres, wiki, tmp_path):
    out = ["--out", tmp_path / "out"]
    found = found_by(genres, "--genre", "travel", "--genre", "fiction", *out)
    assert found["corpora"] == ["travel", "fiction"]
    assert "references" not in found
    found = found_by(genres, "--set", "data.genre=slate", "--reference", wiki, *out)
    assert list(found["references"][0]["genres"]) == ["slate"]
    refused(2, "--genre letters: expected one of fiction, slate, travel",
            genres, "--genre", "letters", *out)  # fmt: skip
    refused(2, "at least two genres.*got slate alone", genres, "--genre", "slate", *out)


def test_the_config_of_a_comparison_will_do(mnli, wiki, tmp_path):
    compared = content(data_of(mnli, genre="slate"))
    compared["compare"] = {
        "encoders": [compared.pop("encoder")["handle"]],
        "adaptations": [compared.pop("adaptation"), FROZEN],
        "learning_rates": {"default": [0.01]},
    }
    compared["training"] = {"epochs": 1, "batch_size": 16}
    path = write(tmp_path / "compare.yaml", compared)
    found = found_by(path, "--set", "data.genre=null", "--out", tmp_path / "out")
    assert found["corpora"] == sorted(WORDS)


def test_corpora_from_files(tmp_path):
    first = text_file(tmp_path / "a.txt", "Red red\n\nblue\n")
    second = text_file(tmp_path / "b.txt", "green\n")
    found = found_by(first, second, "--out", tmp_path)
    assert found["terms"] == [3, 1]
    assert found["vocabulary"] == [2, 1]
    np.testing.assert_allclose(found["matrix"], [[0, np.log(2)], [np.log(2), 0]], atol=1e-12)


@pytest.mark.slow
def test_domains_need_no_tensorflow(genres, wiki, runs, tmp_path):
    arguments = [str(part) for part in (genres, "--reference", wiki, *runs, "--out", tmp_path)]
    program = (
        "import sys\n"
        "from tf_adapt.commands.main import cli\n"
        f"sys.argv = ['', 'analyze', 'domains', *{arguments!r}]\n"
        "try:\n    cli()\n"
        "finally:\n    print('tensorflow' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "False"
