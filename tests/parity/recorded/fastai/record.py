"""Records an AWD-LSTM of random weights in fast.ai's implementation: `python record.py OUT_FOLDER`.

Needs fastai, spacy and safetensors. Writes the folder `model` (`model.safetensors`, `vocab.txt`)
and `expected.npz`: ids of rows of words, the top states and the logits of the language model, the
gradient of the mean loss of the next words by the recurrent weights and by the tied table, and
texts as words by fast.ai's rules after spaCy.
"""

import sys
from pathlib import Path

import numpy as np
import torch
from fastai.text.core import SpacyTokenizer, Tokenizer
from fastai.text.models.awdlstm import AWD_LSTM, awd_lstm_lm_config
from fastai.text.models.core import get_language_model
from safetensors.torch import save_file

WORDS = "xxunk xxpad xxbos xxeos xxfld xxrep xxwrep xxup xxmaj the film was not n't 's good . ,"
TEXTS = [
    "This film wasn't good.",
    "It's a well-known story, isn't it?",
    "He said: \"I can't; you'll see!\"",
    "THE END (finally) came after 2,150 pages & $3.50.",
    "They're state-of-the-art films from the 1990s...",
    "I loved it ; we'd see it again , she said .",
    "A good film by Ann's brother, who didn't act in it.",
    "Élan vital, naïve and 100% French!",
    "One-word reviews: bad. Worse. 3-4 times.",
    "He's seen 'Alien' and \"Aliens\" twice; they've not.",
]


def main(out: Path) -> None:
    torch.manual_seed(0)
    words = WORDS.split()
    config = awd_lstm_lm_config | {"emb_sz": 8, "n_hid": 12, "n_layers": 3}
    model = get_language_model(AWD_LSTM, len(words), config=config).eval()
    random = np.random.default_rng(1)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if not name.endswith("module.weight_hh_l0"):  # a copy
                drawn = random.normal(0, 0.4, weight.shape)
                weight.copy_(torch.tensor(drawn.astype("float16").astype("float32")))
    state = {name: weight.clone().contiguous() for name, weight in model.state_dict().items()}
    (out / "model").mkdir(parents=True, exist_ok=True)
    save_file(state, out / "model" / "model.safetensors")
    (out / "model" / "vocab.txt").write_text("".join(f"{word}\n" for word in words), "utf-8")
    # fast.ai has no padding behind a text: rows of one length.
    ids = random.integers(0, len(words), (3, 7))
    ids[ids == words.index("xxpad")] = 0
    given = torch.tensor(ids)
    model.reset()
    logits, states = model(given)[:2]
    states = states[-1] if isinstance(states, list | tuple) else states
    loss = torch.nn.functional.cross_entropy(
        logits[:, :-1].reshape(-1, len(words)), given[:, 1:].reshape(-1)
    )
    loss.backward()
    gradients = dict(model.named_parameters())
    tokenizer = Tokenizer(SpacyTokenizer("en"))
    np.savez(
        out / "expected.npz",
        ids=ids.astype("int32"),
        states=states.detach().numpy(),
        logits=logits.detach().numpy(),
        loss=loss.detach().numpy(),
        gradient_recurrent=gradients["0.rnns.1.weight_hh_l0_raw"].grad.numpy(),
        gradient_table=gradients["0.encoder.weight"].grad.numpy(),
        texts=np.array([text.encode() for text in TEXTS]),
        tokens=np.array([" ".join(tokenizer(text)).encode() for text in TEXTS]),
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
