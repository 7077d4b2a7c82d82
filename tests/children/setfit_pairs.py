"""SetFit's numbers for pairs: `python setfit_pairs.py MODEL WORK`.

Writes the sentence encoder WORK/model (MODEL with mean pooling, in float32) and WORK/theirs.npz,
from WORK/pairs.json: losses and gradients of pairs with equal and other labels and of pairs with
scores, without dropout, and what the logistic head answers.
"""

import json
import sys
from pathlib import Path

import numpy as np
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.losses import CoSENTLoss
from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
from setfit import SetFitModel, TrainingArguments


def main(source: str, work: Path) -> None:
    words = Transformer(source, model_kwargs={"dtype": torch.float32})
    pooling = Pooling(words.get_embedding_dimension(), "mean")
    SentenceTransformer(modules=[words, pooling], device="cpu").save(str(work / "model"))
    given = json.loads((work / "pairs.json").read_text())
    model = SetFitModel.from_pretrained(str(work / "model"), device="cpu")
    body = model.model_body.float().eval()
    arrays = {}
    loss_class = TrainingArguments().loss  # SetFit's default
    for name, loss, targets in (
        ("labels", loss_class(body), given["equal"]),
        ("scores", CoSENTLoss(body), given["scores"]),
    ):
        body.zero_grad()
        columns = [body.tokenize(given[column]) for column in ("first", "second")]
        value = loss(columns, torch.tensor(targets))
        value.backward()
        arrays[f"{name}:loss"] = value.item()
        for weight, parameter in body[0].auto_model.named_parameters():
            if parameter.grad is not None:
                arrays[f"{name}:{weight}"] = parameter.grad.numpy()
    model.labels = None
    model.fit(given["train"], given["labels"], num_epochs=1)
    arrays["probabilities"] = np.asarray(model.predict_proba(given["first"]))
    np.savez(work / "theirs.npz", **arrays)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
