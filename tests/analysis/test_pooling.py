"""`tf-adapt pool`: what is read of reports, the files, wrong folders."""

import json
import shutil
from dataclasses import replace

import pytest
from click.testing import CliRunner
from report_contents import cell, comparison

from tf_adapt.analysis.pooling.effects import FAMILIES, read_effects
from tf_adapt.analysis.pooling.layouts import paper_rows
from tf_adapt.analysis.pooling.pooled import lines_of, pool_comparisons, pooled
from tf_adapt.commands.main import cli
from tf_adapt.errors import ArtifactError, ConfigError
from tf_adapt.report.content import to_json
from tf_adapt.statistics.metrics import METRICS

pytest.importorskip("statsmodels")


def written(folder, dataset: str, gain: float, metric: str = "accuracy", error=0.01, **more):
    """A comparison's folder with ❄ and 🔥, `gain` apart."""
    frozen = cell("bert_small", "feature_extraction", [0.70, 0.71, 0.72])
    tuned = cell("bert_small", "fine_tuning", [0.70 + gain, 0.71 + gain, 0.72 + gain])
    content = comparison([frozen, tuned])
    pairs = [replace(pair, error=error) for pair in content.pairs]
    content = replace(content, dataset=dataset, metric=metric, pairs=pairs, **more)
    folder.mkdir()
    (folder / "report.json").write_text(json.dumps(to_json(content)))
    return folder


@pytest.fixture
def folders(tmp_path):
    gains = {"sst2": 0.03, "mrpc": 0.05, "sick_e": 0.10}
    found = [written(tmp_path / name, name, gain) for name, gain in gains.items()]
    return [*found, written(tmp_path / "stsb", "stsb", -0.04, "pearson")]


def test_differences_are_of_tuned_minus_frozen(folders):
    scores, effects = read_effects(folders)
    assert [round(effect.difference, 4) for effect in effects] == [0.03, 0.05, 0.1, -0.04]
    assert {(e.a.split(" ")[0], e.b.split(" ")[0]) for e in effects} == {
        ("feature_extraction", "fine_tuning")
    }
    assert [effect.family for effect in effects] == [*["accuracy"] * 3, "correlation"]
    assert len(scores) == 8 and scores[0].dataset == "SST-2"


def test_the_files(folders, tmp_path):
    out = tmp_path / "out"
    result = CliRunner().invoke(cli, ["pool", *map(str, folders), "--out", str(out)])
    assert result.exit_code == 0, result.output
    assert "accuracy: +" in result.stdout and "correlation: fewer than two" in result.stdout
    names = {path.name for path in out.iterdir()}
    assert names == {
        *(f"pooled.{suffix}" for suffix in ("json", "csv", "svg", "png")),
        *(f"table.{suffix}" for suffix in ("md", "html", "tex")),
    }
    (row,) = json.loads((out / "pooled.json").read_text())["pooled"]
    assert row["families"]["accuracy"]["datasets"] == 3
    assert 0.03 < row["families"]["accuracy"]["estimate"] < 0.1
    table = (out / "table.md").read_text().splitlines()
    assert table[0] == "| encoder | adaptation | SST-2 | SICK-E | MRPC | STS-B |"
    assert "74.0 ± 1.0" in table[3] and "| Δ | +3.0" in table[4]
    assert any(line.startswith("| BERT-base (paper) | 🔥") and "84.8" in line for line in table)
    assert table[4].endswith("| +10.0* | +5.0* | −4.0* |") and " (−" in result.stdout
    latex = (out / "table.tex").read_text()
    assert "& $-$4.0* " in latex and "−" not in latex.split("%")[0]
    assert latex.startswith(r"\begin{tabular}{llrrrr}") and r"$\pm$" in latex
    assert "❄" not in latex.split("%")[0]


def test_one_data_set_is_one(folders):
    _, effects = read_effects(folders[:1])
    first, *_ = lines_of({"pooled": pooled(effects)})
    assert first == "bert_small: fine_tuning − feature_extraction, 1 data set"


def test_wrong_folders(folders, tmp_path):
    begun = tmp_path / "begun"
    begun.mkdir()
    (begun / "comparison.json").touch()
    of_folders = {
        tmp_path / "none": "nothing of that name; give the folder that `tf-adapt compare`",
        begun / "comparison.json": "a file; give the folder",
        tmp_path: "one without report.json; give the folder",
        begun: "one that is not; wait until it ends, or give its command again, which goes on",
    }
    for folder, got in of_folders.items():
        with pytest.raises(ArtifactError) as error:
            read_effects([folder])
        expected = f"{folder}: expected the folder of a finished comparison, got {got}"
        assert str(error.value).startswith(expected)
    with pytest.raises(ArtifactError, match="on SST-2 was read from .*; expected one comparison"):
        read_effects([folders[0], shutil.copytree(folders[0], tmp_path / "copy")])
    old = written(tmp_path / "old", "trec", 0.1, error=None)
    with pytest.raises(ArtifactError, match="no standard errors, for an earlier version wrote it"):
        read_effects([old])
    alone = tmp_path / "alone"
    alone.mkdir()
    content = comparison([cell("bert_small", "fine_tuning", [0.7, 0.8])])
    (alone / "report.json").write_text(json.dumps(to_json(content)))
    with pytest.raises(ConfigError, match="expected comparisons of two adaptations"):
        pool_comparisons([alone], tmp_path / "none")


def test_a_folder_given_twice_is_refused(folders, tmp_path):
    again = f"{folders[0]}/../{folders[0].name}"
    link = tmp_path / "link"
    link.symlink_to(folders[0])
    for other in (folders[0], again, link):
        with pytest.raises(ConfigError, match="expected each comparison once, got a folder that"):
            read_effects([*folders, other])


def test_what_is_another_cell_is_another_arm(tmp_path):
    plain = cell("bert_small", "fine_tuning", [0.7, 0.8])
    others = [
        cell("bert_small", "fine_tuning", [0.7, 0.8], pretrained=False),
        cell("bert_small", "fine_tuning", [0.7, 0.8], pairs="separate"),
        replace(plain, id="long", long="128 by 64, max"),
        replace(plain, id="other head", head="esim"),
    ]
    content = comparison([plain, *others])
    content = replace(content, pairs=[replace(pair, error=0.01) for pair in content.pairs])
    (tmp_path / "report.json").write_text(json.dumps(to_json(content)))
    scores, _ = read_effects([tmp_path])
    assert [score.arm for score in scores] == [
        "fine_tuning",
        "fine_tuning (untrained)",
        "fine_tuning (pairs separate)",
        "fine_tuning (long 128 by 64, max)",
        "fine_tuning under esim",
    ]


def test_names_of_data(tmp_path):
    own = [written(tmp_path / f"c{n}", f"/data/{n}/train.tsv", 0.01 * n) for n in (1, 2)]
    _, effects = read_effects(own)
    assert [effect.dataset for effect in effects] == ["1/train", "2/train"]
    same = [written(tmp_path / f"d{n}", f"/{n}/x/train.tsv", 0.01) for n in (1, 2)]
    with pytest.raises(ArtifactError, match="are both called x/train"):
        read_effects(same)
    two = [written(tmp_path / f"e{m}", "mrpc", 0.01, m) for m in ("accuracy", "macro_f1")]
    _, effects = read_effects(two)
    assert [effect.dataset for effect in effects] == ["MRPC, accuracy", "MRPC, macro_f1"]


def test_genres_of_one_data_set_are_data_sets(tmp_path):
    """And the paper's numbers on the whole data set are not beside them."""
    genres = ["main-captions", "main-news"]
    folders = [written(tmp_path / one, "stsb", 0.01, "pearson", genre=one) for one in genres]
    scores, effects = read_effects(folders)
    assert [effect.dataset for effect in effects] == ["STS-B: main-captions", "STS-B: main-news"]
    assert pooled(effects)[0]["families"]["correlation"]["datasets"] == 2
    assert not any("(paper)" in row[0] for row in paper_rows(scores, effects))
    with pytest.raises(ArtifactError, match="on STS-B: main-news was read from"):
        read_effects([*folders, shutil.copytree(folders[1], tmp_path / "copy")])


def test_equal_answers_count_as_a_data_set(tmp_path):
    folders = [written(tmp_path / name, name, 0.03) for name in ("sst2", "mrpc")]
    folders.append(written(tmp_path / "sick_e", "sick_e", 0.0, error=0.0))
    _, effects = read_effects(folders)
    (row,) = pooled(effects)
    assert (row["datasets"], row["families"]["accuracy"]["identical"]) == (3, 1)


def test_every_metric_has_a_family():
    assert set(METRICS) <= set(FAMILIES)
