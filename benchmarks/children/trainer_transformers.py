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
    TrainerCallback,
    TrainingArguments,
)

WARM_UP = 64


def prepared(job: dict) -> Work:
    """`until`: a dev accuracy, or None for one epoch; `grouped`: batches of similar lengths."""
    return epoch(job) if job["until"] is None else to_score(job)


def epoch(job: dict) -> Work:
    """One epoch after another of the same model."""
    model, tokenizer = loaded(job)
    data = {count: tokenized(job["train"], tokenizer, count) for count in (WARM_UP, None)}

    def run(turn):
        examples = data[WARM_UP if turn is None else None]
        trainer = trainer_of(job, model, tokenizer, examples, seed=turn or 0)
        return trainer.train().training_loss

    return Work(run, lambda loss: {"loss": np.array(loss)})


def to_score(job: dict) -> Work:
    """Everything from the model's files on, with the turn as seed."""

    def run(turn):
        if turn is None:
            return None
        torch.manual_seed(turn)
        model, tokenizer = loaded(job)
        train, dev = (tokenized(job[split], tokenizer) for split in ("train", "dev"))
        until = Until(job)
        trainer_of(job, model, tokenizer, train, turn, dev, [until]).train()
        if until.score < job["until"]:
            raise RuntimeError(f"{job['until']} was not reached, but {until.score:.3f}")
        return until

    return Work(
        run,
        lambda until: {},
        note=lambda until: f"{until.steps} steps to {until.score:.3f}" if until else "",
    )


def loaded(job: dict):
    """Model and tokenizer."""
    path = job["huggingface"]
    model = AutoModelForSequenceClassification.from_pretrained(
        path, num_labels=2, dtype=torch.float32
    )
    return model, AutoTokenizer.from_pretrained(path)


def tokenized(path: str, tokenizer, count: int | None = None) -> list[dict]:
    """Examples as `Trainer` takes them, not padded."""
    first, second, labels = zip(*json.loads(Path(path).read_text("utf-8"))[:count], strict=True)
    columns = tokenizer(list(first), list(second))
    return [
        {name: columns[name][row] for name in columns} | {"labels": label}
        for row, label in enumerate(labels)
    ]


def trainer_of(job, model, tokenizer, train, seed: int, dev=None, callbacks=()) -> Trainer:
    """A `Trainer` with our settings; batches are padded to their longest."""
    evaluated = {"eval_strategy": "steps", "eval_steps": job["every"]} if dev else {}
    falling = {"lr_scheduler_type": "linear", "warmup_steps": 0.1}
    settings = TrainingArguments(
        output_dir=tempfile.gettempdir(),
        per_device_train_batch_size=32,
        per_device_eval_batch_size=32,
        num_train_epochs=job["epochs"],
        learning_rate=job["rate"],
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
        **evaluated,
        **(falling if job["until"] else {"lr_scheduler_type": "constant"}),
    )
    return Trainer(
        model,
        settings,
        train_dataset=train,
        eval_dataset=dev,
        data_collator=DataCollatorWithPadding(tokenizer),
        compute_metrics=lambda seen: {"accuracy": (seen[0].argmax(-1) == seen[1]).mean()},
        callbacks=list(callbacks),
    )


class Until(TrainerCallback):
    """Stops once the score is there."""

    def __init__(self, job: dict):
        self.job = job
        self.steps, self.score = 0, 0.0

    def on_evaluate(self, args, state, control, metrics=None, **kwargs):
        self.steps, self.score = state.global_step, metrics["eval_accuracy"]
        control.should_training_stop = self.score >= self.job["until"]


if __name__ == "__main__":
    answer(prepared)
