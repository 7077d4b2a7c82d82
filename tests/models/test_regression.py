"""A number for a single text: a run's predictions, its export's, and what is refused."""

import numpy as np
import pytest
from made_runs import make_run

from tf_adapt.config.reading import config_from
from tf_adapt.data.catalogue import SAMPLE_FOLDER
from tf_adapt.errors import ConfigError, DataError
from tf_adapt.training.finished.run_export import export_run
from tf_adapt.training.finished.trained_run import evaluate_file, predict_file

DEV = SAMPLE_FOLDER / "regression" / "dev.tsv"


@pytest.fixture(scope="module")
def run(shallow_bert, tmp_path_factory):
    """Of drawn weights, so that the answers differ."""
    return make_run(tmp_path_factory.mktemp("runs") / "run", shallow_bert, "regression")


@pytest.mark.slow
def test_run_and_export_predict_the_same(run, tmp_path):
    exported = export_run(run, tmp_path / "export")
    for folder, name in ((run, "run.tsv"), (exported, "export.tsv")):
        assert predict_file(folder, DEV, tmp_path / name) == 60
    found, served = (
        np.array((tmp_path / name).read_text("utf-8").splitlines()[1:], float)
        for name in ("run.tsv", "export.tsv")
    )
    np.testing.assert_allclose(served, found, atol=1e-5)
    assert np.std(found) > 1e-3
    gold = [float(line.split("\t")[1]) for line in DEV.read_text("utf-8").splitlines()[1:]]
    scores = evaluate_file(run, DEV)
    for reached in (scores, evaluate_file(exported, DEV)):
        assert reached["pearson"] == pytest.approx(np.corrcoef(found, gold)[0, 1], abs=1e-4)
    assert scores["loss"] == pytest.approx(np.square(found - gold).mean(), rel=1e-4)


@pytest.mark.slow
def test_d14_a_target_that_is_no_finite_number(run, tmp_path):
    for label in ("nan", "1e39", "much", ""):
        (tmp_path / "new.tsv").write_text(f"text\tpercent\ngood\t1\nbad\t{label}\n", "utf-8")
        with pytest.raises(DataError, match=r"new\.tsv:3: .*expected a (finite number|label)"):
            evaluate_file(run, tmp_path / "new.tsv")


def test_a_pair_has_no_place(shallow_bert):
    files = {"train": str(DEV), "dev": str(DEV)}
    columns = {"text_a": "text", "label": "percent", "text_b": "other"}
    content = {
        "data": {"format": "tsv", "kind": "regression", "columns": columns} | files,
        "encoder": {"handle": str(shallow_bert)},
        "adaptation": "fine_tuning",
        "training": {"epochs": 1, "batch_size": 16, "learning_rate": 1e-3},
    }
    with pytest.raises(ConfigError, match="data.columns.text_b: not a column of kind: regression"):
        config_from(content, "test")
