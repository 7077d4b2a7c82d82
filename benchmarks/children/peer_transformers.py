"""The same with transformers' `Trainer`: `huggingface`, `data` and settings; the turn is
the seed."""

import json
import tempfile
from pathlib import Path

import numpy as np
import torch
from answering import Work, answer
from transformers import (
    AutoModelForSequenceClassification,
    AutoTokenizer,
    DataCollatorWithPadding,
    Trainer,
    TrainingArguments,
    set_seed,
)

SCORES = {
    "accuracy": lambda found, gold: (found.argmax(-1) == gold).mean(),
    "pearson": lambda found, gold: np.corrcoef(found[:, 0], gold)[0, 1],
}


def prepared(job: dict) -> Work:
    """A new model for each seed."""
    given = json.loads(Path(job["data"]).read_text("utf-8"))
    labels, path = given["labels"], job["huggingface"]
    tokenizer = AutoTokenizer.from_pretrained(path)
    train, scored = (_tokenized(given[part], labels, tokenizer) for part in ("train", "scored"))

    def run(seed):
        set_seed(seed)
        model = AutoModelForSequenceClassification.from_pretrained(
            path, num_labels=len(labels or [0]), dtype=torch.float32
        )
        trainer = Trainer(
            model,
            _arguments(job, seed, len(train)),
            train_dataset=train,
            data_collator=DataCollatorWithPadding(tokenizer),
        )
        trainer.train()
        found = trainer.predict(scored)
        return SCORES[given["metric"]](found.predictions, found.label_ids)

    return Work(run, lambda result: {}, note=lambda result: f"{result:.4f}")


def _arguments(job: dict, seed: int, examples: int) -> TrainingArguments:
    steps = job["epochs"] * -(-examples // job["batch"])
    return TrainingArguments(
        output_dir=tempfile.gettempdir(),
        per_device_train_batch_size=job["batch"],
        per_device_eval_batch_size=50,
        num_train_epochs=job["epochs"],
        learning_rate=job["rate"],
        lr_scheduler_type="linear",
        warmup_steps=round(job["warmup"] * steps),
        weight_decay=0.01,
        max_grad_norm=1.0,
        use_cpu=True,
        seed=seed,
        save_strategy="no",
        logging_strategy="no",
        report_to="none",
        disable_tqdm=True,
    )


def _tokenized(rows: list, labels: list[str] | None, tokenizer) -> list[dict]:
    """Examples as `Trainer` takes them, not padded; without labels the scores."""
    first, second, gold = zip(*rows, strict=True)
    columns = tokenizer(list(first), list(second))
    return [
        {name: columns[name][row] for name in columns}
        | {"labels": labels.index(label) if labels else float(label)}
        for row, label in enumerate(gold)
    ]


if __name__ == "__main__":
    answer(prepared)
