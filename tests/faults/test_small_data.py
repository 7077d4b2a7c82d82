"""Data at the edge of what can be learnt from (D11, N2): trained and scored all the same."""

import csv
import json
import math

import pytest

from tf_adapt.config.reading import config_from
from tf_adapt.training.train import train

YES_NO = [("good", "yes"), ("bad", "no")] * 4
DATA = {
    "a label seen once and in train only, and a batch larger than the data": (
        [*YES_NO, ("so so", "maybe")],
        YES_NO,
    ),
    "an example of each class": ([("good", "yes"), ("bad", "no")], [("fine", "yes")]),
}


def trained(shallow_bert, tmp_path, files: dict[str, str], data: dict, batch_size: int = 3) -> dict:
    """The metrics of a run on these files, whose history is checked."""
    for split, text in files.items():
        (tmp_path / split).write_text(text, "utf-8")
    content = {
        "data": data | {split: str(tmp_path / split) for split in files},
        "encoder": {"handle": str(shallow_bert)},
        "adaptation": "fine_tuning",
        "training": {"epochs": 2, "batch_size": batch_size, "learning_rate": 1e-3},
    }
    metrics = train(config_from(content, "test"), tmp_path / "run")
    examples = len(files["train"].strip().split("\n")) - 1
    with open(tmp_path / "run" / "history.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert all(math.isfinite(float(row[name])) for row in rows for name in ("loss", "dev_loss"))
    if data["format"] == "tsv":  # no batch is empty, none is missing
        assert [int(row["step"]) for row in rows] == [
            epoch * math.ceil(examples / batch_size) for epoch in (1, 2)
        ]
    return json.loads(json.dumps(metrics, allow_nan=False))


@pytest.mark.slow
@pytest.mark.parametrize("case", DATA)
def test_d11_trains_on_very_little(shallow_bert, tmp_path, case):
    splits = zip(("train", "dev"), DATA[case], strict=True)
    files = {
        split: "".join(f"{text}\t{label}\n" for text, label in [("text", "label"), *rows])
        for split, rows in splits
    }
    columns = {"text_a": "text", "label": "label"}
    data = {"format": "tsv", "kind": "classification", "columns": columns}
    batch_size = 1000 if "batch" in case else 3
    metrics = trained(shallow_bert, tmp_path, files, data, batch_size)
    assert 0 <= metrics["dev"]["accuracy"] <= 1
    predictions = (tmp_path / "run" / "predictions" / "dev.tsv").read_text("utf-8")
    labels = sorted({label for _, label in DATA[case][0]})
    assert sorted(predictions.split("\n")[0].split("\t")[1:]) == labels


@pytest.mark.slow
def test_n2_no_entity_in_dev_scores_nothing(shallow_bert, tmp_path):
    files = {"train": "a B-X\nb I-X\n\nc O\n\nd O\n", "dev": "a O\nb O\n\nc O\n"}
    data = {"format": "conll", "kind": "tagging", "columns": {"words": 0, "tags": 1}}
    metrics = trained(shallow_bert, tmp_path, files, data)
    assert metrics["dev"]["span_f1"] == metrics["dev"]["strict_span_f1"] == 0
