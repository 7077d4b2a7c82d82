"""SetFit on a draw: `module`, `draws`; the turn is the number of the draw."""

import json
import tempfile
from pathlib import Path

import numpy as np
from answering import Work, answer
from datasets import Dataset
from setfit import SetFitModel, Trainer, TrainingArguments
from sklearn.metrics import matthews_corrcoef


def prepared(job: dict) -> Work:
    """SetFit's defaults but for `num_iterations`."""
    given = json.loads(Path(job["draws"]).read_text("utf-8"))
    labels = given["labels"]

    def run(turn):
        with tempfile.TemporaryDirectory() as out:
            arguments = TrainingArguments(
                output_dir=out,
                num_iterations=20,
                num_epochs=1,
                batch_size=16,
                seed=turn,
                save_strategy="no",
                report_to="none",
            )
            model = SetFitModel.from_pretrained(job["module"], device="cpu")
            texts, names = zip(*given["draws"][turn], strict=True)
            train = {"text": list(texts), "label": [labels.index(name) for name in names]}
            Trainer(model=model, args=arguments, train_dataset=Dataset.from_dict(train)).train()
        texts, names = zip(*given["scored"], strict=True)
        found = np.asarray(model.predict(list(texts), show_progress_bar=False))
        gold = np.array([labels.index(name) for name in names])
        scores = {
            "accuracy": float((found == gold).mean()),
            "matthews": float(matthews_corrcoef(gold, found)),
        }
        return {name: round(score, 4) for name, score in scores.items()}

    return Work(run, lambda result: {}, note=json.dumps)


if __name__ == "__main__":
    answer(prepared)
