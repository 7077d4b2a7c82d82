"""The same with transformers' `Trainer`."""

import json
import tempfile
from pathlib import Path

import numpy as np
import torch
from answering import Work, answer
from pytorch_device import DEVICE
from transformers import (
    AutoModelForSequenceClassification,
    AutoTokenizer,
    DataCollatorWithPadding,
    Trainer,
    TrainingArguments,
)

WARM_UP = 64


def prepared(job: dict) -> Work:
    """One epoch after another of the same model; `grouped`: batches of similar lengths."""
    model, tokenizer = loaded(job)
    data = {count: tokenized(job["train"], tokenizer, count) for count in (WARM_UP, None)}

    def run(turn):
        examples = data[WARM_UP if turn is None else None]
        trainer = trainer_of(job, model, tokenizer, examples, seed=turn or 0)
        return trainer.train().training_loss

    return Work(run, lambda loss: {"loss": np.array(loss)})


def loaded(job: dict):
    """Model and tokenizer."""
    path = job["huggingface"]
    model = AutoModelForSequenceClassification.from_pretrained(
        path, num_labels=2, dtype=torch.float32
    )
    return model, AutoTokenizer.from_pretrained(path)


def tokenized(path: str, tokenizer, count: int | None) -> list[dict]:
    """Examples as `Trainer` takes them, not padded."""
    first, second, labels = zip(*json.loads(Path(path).read_text("utf-8"))[:count], strict=True)
    columns = tokenizer(list(first), list(second))
    return [
        {name: columns[name][row] for name in columns} | {"labels": label}
        for row, label in enumerate(labels)
    ]


def trainer_of(job, model, tokenizer, train, seed: int) -> Trainer:
    """A `Trainer` with our settings; batches are padded to their longest."""
    settings = TrainingArguments(
        output_dir=tempfile.gettempdir(),
        per_device_train_batch_size=32,
        num_train_epochs=1,
        learning_rate=job["rate"],
        lr_scheduler_type="constant",
        weight_decay=0.01,
        max_grad_norm=1.0,
        bf16=job["precision"] == "bfloat16",
        use_cpu=DEVICE.type == "cpu",
        seed=seed,
        train_sampling_strategy="group_by_length" if job.get("grouped") else "random",
        save_strategy="no",
        logging_strategy="no",
        report_to="none",
        disable_tqdm=True,
    )
    return Trainer(
        model,
        settings,
        train_dataset=train,
        data_collator=DataCollatorWithPadding(tokenizer),
    )


if __name__ == "__main__":
    answer(prepared)
