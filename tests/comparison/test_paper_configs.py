"""The configs of the paper's tables say what it did (FACTS c.1)."""

from pathlib import Path

import pytest

from tf_adapt.comparison.settings import load_comparison

PAPER = Path(__file__).resolve().parents[2] / "configs" / "paper"
TABLES = {
    number: sorted(path.name for path in PAPER.glob(f"table{number}*.yaml"))
    for number in (2, 3, 4, 5)
}
TEST_FILES = {
    "conll2003": "eng.testb",
    "sst2_phrases": "test.tsv",
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
    return lambda name: load_comparison(PAPER / name).cells


def is_tuned(cell) -> bool:
    return cell.config.adaptation.name != "feature_extraction"


def test_all_tables_are_there():
    assert [len(names) for names in TABLES.values()] == [14, 4, 4, 1]


@pytest.mark.parametrize("name", sum(TABLES.values(), []))
def test_schedules_and_rates_by_layer_are_those_of_tuned_encoders(cells, name):
    for cell in cells(name):
        elmo = cell.config.encoder.handle.endswith("elmo_original")
        slanted = cell.config.schedule.name == "slanted_triangular"
        assert (cell.config.optimizer.decay == 0.4) == slanted == (elmo and is_tuned(cell))
        if not is_tuned(cell):
            assert (cell.config.schedule.name, cell.config.training.warmup) == ("constant", 0)
        elif not elmo:
            assert (cell.config.schedule.name, cell.config.training.warmup) == ("linear_decay", 0.1)


@pytest.mark.parametrize("name", sum(TABLES.values(), []))
def test_table_2_is_scored_on_test_where_that_is_public_the_others_on_dev(cells, name):
    on_test = name in TABLES[2] and "mnli" not in name
    for cell in cells(name):
        assert (cell.config.data.held_out is None) == on_test


@pytest.mark.parametrize("family", ["bert", "elmo"])
def test_sst2_is_trained_on_phrases(cells, family):
    for cell in cells(f"table2_{family}_sst2.yaml"):
        assert cell.config.data.dataset == "sst2_phrases"


def test_elmo_is_unfrozen_gradually_for_sst2_and_names(cells):
    for name in TABLES[2]:
        tuned = [cell.config.adaptation.name for cell in cells(name) if is_tuned(cell)]
        gradual = name in ("table2_elmo_sst2.yaml", "table2_elmo_conll2003.yaml")
        assert tuned == ["gradual_unfreezing" if gradual else "fine_tuning"], name
