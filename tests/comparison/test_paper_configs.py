"""The configs of the paper's tables say what it did (FACTS c.1)."""

from pathlib import Path

import pytest
import yaml

from tf_adapt import paper
from tf_adapt.comparison.plan.settings import load_comparison

PAPER = Path(__file__).resolve().parents[2] / "configs" / "paper"
PAIRS = {"mrpc": "mrpc", "sick_e": "sick", "sick_r": "sick", "stsb": "stsb", "mnli": "multinli"}
OWN = ("sst2", "conll2003")  # more than the data differs from the sentence pairs'
FAMILIES = ("bert", "elmo")
# Number of a table → (file, dataset that is set; None: the file's own).
TABLES = {
    2: [(f"table2_{family}", dataset) for family in FAMILIES for dataset in PAIRS]
    + [(f"table2_{family}_{dataset}", None) for family in FAMILIES for dataset in OWN],
    3: [("table3", dataset) for dataset in PAIRS if dataset != "mnli"],
    4: [("table4", dataset) for dataset in PAIRS if dataset != "mnli"],
    5: [("table5", None)],
}
ALL = sum(TABLES.values(), [])
TEST_FILES = {
    "conll2003": "eng.testb",
    "sst2": "test.tsv",
    "mrpc": "test.tsv",
    "sick_e": "SICK_test_annotated.txt",
    "sick_r": "SICK_test_annotated.txt",
    "stsb": "sts-test.csv",
}


@pytest.fixture
def cells(tmp_path, monkeypatch):
    """The cells of a config, where every test file with public labels is at hand."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "modules" / "elmo_original").mkdir(parents=True)
    (tmp_path / "data").mkdir()
    for name in ("conll2003", "sst2", "mrpc", "sick", "stsb", "multinli"):
        (tmp_path / "data" / name).mkdir()
        for file in TEST_FILES.values():
            (tmp_path / "data" / name / file).write_text("")

    def load(name, dataset=None):
        sets = (
            (f"data.dataset={dataset}", f"data.data_dir=data/{PAIRS[dataset]}") if dataset else ()
        )
        return load_comparison(PAPER / f"{name}.yaml", sets).cells

    return load


def is_tuned(cell) -> bool:
    return cell.config.adaptation.name != "feature_extraction"


def test_all_tables_are_there():
    files = {path.stem for path in PAPER.glob("*.yaml")}
    assert files == {name for name, _ in ALL} | {"table6", "figures"}


def test_schedules_and_rates_by_layer_are_those_of_tuned_encoders(cells):
    for name, dataset in ALL:
        for cell in cells(name, dataset):
            elmo = cell.config.encoder.handle.endswith("elmo_original")
            slanted = cell.config.schedule.name == "slanted_triangular"
            assert (cell.config.optimizer.decay == 0.4) == slanted == (elmo and is_tuned(cell))
            if not is_tuned(cell):
                assert (cell.config.schedule.name, cell.config.training.warmup) == ("constant", 0)
            elif not elmo:
                assert (cell.config.schedule.name, cell.config.training.warmup) == (
                    "linear_decay",
                    0.1,
                )


def test_table_2_is_scored_on_test_where_that_is_public_the_others_on_dev(cells):
    for name, dataset in ALL:
        on_test = (name, dataset) in TABLES[2] and dataset != "mnli"
        for cell in cells(name, dataset):
            assert (cell.config.data.held_out is None) == on_test


def test_sst2_is_trained_on_phrases(cells):
    for family in FAMILIES:
        for cell in cells(f"table2_{family}_sst2"):
            assert cell.config.data.dataset == "sst2"


def test_elmo_is_unfrozen_gradually_for_sst2_and_names(cells):
    for name, dataset in TABLES[2]:
        tuned = [cell.config.adaptation.name for cell in cells(name, dataset) if is_tuned(cell)]
        gradual = name in ("table2_elmo_sst2", "table2_elmo_conll2003")
        assert tuned == ["gradual_unfreezing" if gradual else "fine_tuning"], name


def test_the_genre_of_table_6_is_set(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "modules" / "minilm_l6_h384").mkdir(parents=True)
    for folder in ("paper", "small"):
        path = PAPER.parent / folder / "table6.yaml"
        for genre in ("telephone", "government", "travel", "fiction", "slate"):
            found = load_comparison(path, (f"data.genre={genre}",)).cells
            assert {cell.config.data.genre for cell in found} == {genre}


def test_the_configs_of_table_2_quote_the_paper():
    for family in FAMILIES:
        names = {
            "mnli": "MNLI",
            "sick_e": "SICK-E",
            "sick_r": "SICK-R",
            "mrpc": "MRPC",
            "stsb": "STS-B",
        }
        quoted = yaml.safe_load((PAPER / f"table2_{family}.yaml").read_text("utf-8"))
        for dataset in PAIRS:
            frozen, tuned = paper.TABLE_2[family][names[dataset]]
            metric = "Pearson" if dataset in ("sick_r", "stsb") else "accuracy"
            assert f"{names[dataset]} {metric} {frozen}, {tuned}" in quoted["about"]["expected"]


def test_the_configs_of_tables_3_and_4_quote_the_paper():
    for number, printed in [(3, paper.TABLE_3), (4, paper.TABLE_4)]:
        expected = yaml.safe_load((PAPER / f"table{number}.yaml").read_text("utf-8"))["about"][
            "expected"
        ]
        for name, (first, second) in printed.items():
            metric = "Pearson" if name in ("SICK-R", "STS-B") else "accuracy"
            assert f"{name} {metric} {first}, {second}" in expected
