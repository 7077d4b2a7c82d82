"""Reads, checks and tokenizes pairs, trains a few steps and predicts a file."""

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path

import keras
from answering import Work, answer
from memory_ours import held_mb

import tf_adapt as ta
from hub_modules.export import write_module
from hub_modules.native.bert import BertEncoder
from hub_modules.sources import ModuleSource
from tf_adapt.config.data_sections import Columns, FilesConfig
from tf_adapt.data.batches import epoch_batches
from tf_adapt.data.check import check_data
from tf_adapt.data.datasets import rows_to_predict
from tf_adapt.data.formats import MNLI_LABELS
from tf_adapt.data.packing.prepare import prepare, task_of
from tf_adapt.data.splits.read_splits import load_splits
from tf_adapt.serving.prediction.prediction_forms import write_predictions
from tf_adapt.serving.prediction.rows import predictions_of_rows


def prepared(job: dict) -> Work:
    """`pairs`, `warm_up`: of the files; `memory_mb`: where it is given, there are predictions."""
    keras.utils.set_random_seed(0)
    folder, memory = Path(job["folder"]), job.get("memory_mb")
    limit = {} if memory is None else {"memory_mb": memory}
    model = tiny_model(folder / f"module_{memory}_{job['pairs']}", Path(job["vocabulary"]))

    def run(turn):
        pairs = job["warm_up"] if turn is None else job["pairs"]
        path, before, seconds = folder / f"{pairs}.tsv", held_mb(), {}
        data = FilesConfig(
            format="tsv",
            kind="pair_classification",
            train=str(path),
            dev=str(folder / "dev.tsv"),
            labels=list(MNLI_LABELS),
            columns=Columns(text_a="text_a", text_b="text_b", label="label"),
            **limit,
        )
        with timed(seconds, "data"):
            splits = load_splits(data)
            given = task_of(splits), model.encoder, None, True, False, splits.memory_mb
            tokens = {name: prepare(some, *given) for name, some in splits.examples.items()}
            check_data(splits, tokens)
        with timed(seconds, "steps"):
            batches = epoch_batches(tokens["train"], 32, seed=0, epoch=0).take(job["steps"])
            model.fit(batches, verbose=0)
        if memory is not None:
            with timed(seconds, "predictions"):
                records = rows_to_predict(path, data)
                answers = predictions_of_rows(
                    records, lambda rows: ta.predict(model, rows, truncate=True)
                )
                write_predictions(folder / "out.tsv", model.task, records, answers)
        return before, seconds

    return Work(run, lambda result: {}, note=note)


@contextlib.contextmanager
def timed(seconds: dict[str, float], name: str) -> Iterator[None]:
    """Notes the processor seconds of a block."""
    started = time.process_time()
    yield
    seconds[name] = time.process_time() - started


def note(result: tuple[float, dict[str, float]]) -> str:
    """What was held before, and the processor seconds of each part."""
    before, seconds = result
    parts = ", ".join(f"{name} {value:.1f} s" for name, value in seconds.items())
    return f"{before:.0f} MB before; {parts}"


def tiny_model(folder: Path, vocabulary: Path):
    """A classifier of pairs on a BERT of one layer, compiled."""
    pieces = vocabulary.read_text("utf-8").rstrip("\n").split("\n")
    config = {
        "vocabulary_size": len(pieces),
        "width": 32,
        "num_layers": 1,
        "num_heads": 2,
        "intermediate_width": 64,
        "max_positions": 512,
    }
    native = BertEncoder(**config)
    native.build()
    weights = {name: weight.numpy() for name, weight in native.weights_by_name().items()}
    write_module(ModuleSource("bert", config, weights, pieces, True), folder)
    task = ta.Task("pair_classification", labels=list(MNLI_LABELS))
    model = ta.build_model(task, ta.HubEncoder(str(folder)), "linear", "fine_tuning")
    model.compile(keras.optimizers.AdamW(1e-4), task.loss, jit_compile=False)
    return model


if __name__ == "__main__":
    answer(prepared)
