"""Frozen encoders in PyTorch: what a head reads of them, computed, as rows of a table, and back.

Each has `tokens` (texts → a batch), `outputs` (a batch → what is kept), `features` and `rows` (the
columns of a table, and their content), `batch` (rows → what is kept), `inputs` (what is kept → the
head's inputs), and `top`, the part that is trained.
"""

import torch
from pytorch_bilm import Bilm, character_ids
from pytorch_device import DEVICE
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from transformers import AutoModel, AutoTokenizer


class Bert:
    """Tokenizer and encoder, in inference mode."""

    def __init__(self, path: str):
        self.tokenizer = AutoTokenizer.from_pretrained(path)
        self.model = AutoModel.from_pretrained(path, dtype=torch.float32).to(DEVICE).eval()
        self.width = self.model.config.hidden_size
        self.layers = self.model.config.num_hidden_layers + 1

    def fresh_top(self):
        """Nothing is trained."""
        return nn.Identity()

    def tokens(self, texts: list[str]) -> dict:
        """Padded to the longest."""
        return self.tokenizer(texts, padding=True, return_tensors="pt").to(DEVICE)


class Pooled(Bert):
    """The pooled vector `[batch, width]`."""

    def outputs(self, tokens):
        with torch.no_grad():
            return self.model(**tokens).pooler_output

    def features(self):
        from datasets import List, Value

        return {"pooled": List(Value("float32"), length=self.width)}

    def rows(self, outputs):
        return {"pooled": outputs.cpu().numpy()}

    def batch(self, rows):
        return rows["pooled"].to(DEVICE)

    def inputs(self, outputs):
        return outputs


class AllLayers:
    """The states of all layers, `[words, layers, width]` of each text without special tokens."""

    def features(self):
        from datasets import List, Value

        return {"states": List(Value("float32"))}

    def rows(self, outputs):
        return {"states": [one.reshape(-1).cpu().numpy() for one in outputs]}

    def batch(self, rows):
        return [one.view(-1, self.layers, self.width) for one in rows["states"]]

    def inputs(self, outputs):
        """One text as `Bcn` reads it: layers, lengths and mask."""
        lengths = torch.tensor([len(one) for one in outputs])
        states = pad_sequence(list(outputs), batch_first=True).to(DEVICE)
        mask = torch.arange(states.shape[1]) < lengths[:, None]
        return [(states.unbind(2), lengths, mask.to(DEVICE))]


class States(AllLayers, Bert):
    """Of a BERT."""

    def outputs(self, tokens):
        with torch.no_grad():
            layers = self.model(**tokens, output_hidden_states=True).hidden_states
        states = torch.stack(layers, 2)
        lengths = tokens["attention_mask"].sum(1).tolist()
        return [one[1 : length - 1] for one, length in zip(states, lengths, strict=True)]


class ElmoStates(AllLayers):
    """Of an ELMo."""

    def __init__(self, path: str):
        self.model = Bilm(path, fused=False).eval()
        arrays = self.model.arrays
        self.width = 2 * arrays["lstm_0/forward/projection"].shape[1]
        self.layers = self.model.config["num_layers"] + 1

    def fresh_top(self):
        """Nothing is trained."""
        return nn.Identity()

    def tokens(self, texts: list[str]):
        """The words; their characters are ids of 50 numbers each."""
        return [text.split() for text in texts]

    def outputs(self, tokens):
        lengths = [len(words) for words in tokens]
        with torch.no_grad():
            ids = torch.tensor(character_ids(tokens))
            layers = self.model(ids, [length + 2 for length in lengths])
        states = torch.stack(layers, 2)
        return [one[1 : length + 1] for one, length in zip(states, lengths, strict=True)]


class TopLayer(Bert):
    """A BERT whose top layer and pooler are trained, on the frozen states of the layer below."""

    def __init__(self, path: str):
        super().__init__(path)
        self.path = path
        self.model.encoder.layer = self.model.encoder.layer[:-1]
        self.model.pooler = None

    def fresh_top(self):
        """The top layer and the pooler as they begin, with their dropout."""
        whole = AutoModel.from_pretrained(self.path, dtype=torch.float32).to(DEVICE)
        self.layer, self.pooler = whole.encoder.layer[-1], whole.pooler
        return nn.ModuleList([self.layer, self.pooler]).train()

    def outputs(self, tokens):
        with torch.no_grad():
            states = self.model(**tokens).last_hidden_state
        lengths = tokens["attention_mask"].sum(1).tolist()
        return [one[:length] for one, length in zip(states, lengths, strict=True)]

    def features(self):
        from datasets import List, Value

        return {"states": List(Value("float32"))}

    def rows(self, outputs):
        return {"states": [one.reshape(-1).cpu().numpy() for one in outputs]}

    def batch(self, rows):
        return [one.view(-1, self.width) for one in rows["states"]]

    def inputs(self, outputs):
        """The pooled vector."""
        lengths = torch.tensor([len(one) for one in outputs])
        states = pad_sequence(list(outputs), batch_first=True).to(DEVICE)
        mask = (torch.arange(states.shape[1]) < lengths[:, None]).to(DEVICE)
        states = self.layer(states, attention_mask=mask[:, None, None])
        return self.pooler(states[0] if isinstance(states, tuple) else states)
