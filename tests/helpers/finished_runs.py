"""What a finished run leaves in its folder, without a training."""

from pathlib import Path

from tf_adapt.runs import prediction_files, run_folder

# Probabilities of four labels, as many as those of sample_classification.
QUARTERS = 4 * "\t0.25"
METRICS = {
    "dataset": "sample_classification",
    "adaptation": "feature_extraction",
    "encoder": "elmo_small",
    "module": "abc",
    "family": "elmo",
    "head": "bcn",
    "layer_weights": [0.2, 0.3, 0.5],
    "seed": 0,
    "dev": {"accuracy": 0.5},
    "test": {"accuracy": 0.5},
    "metric": "accuracy",
    "best_epoch": 1,
    "epochs": 1,
    "splits": {},
    "truncated": {},
    "parameters": {"total": 5000, "trainable": 1000},
    "seconds": {"training": 10.0, "serving_per_1000": 2.0, "total": 12.0},
    "peak_memory_mb": 800.0,
    "versions": {"tf_adapt": "1"},
}


def finish(folder: Path, predictions: dict[str, str] | None = None, **changed) -> None:
    """Writes the predictions of splits and `metrics.json`."""
    for split, text in (predictions or {}).items():
        prediction_files.write_predictions(folder, split, text)
    run_folder.write_metrics(folder, METRICS | changed)
