"""What the card of a folder in HuggingFace's format says of its files, and its header for hubs."""

from pathlib import Path

from hub_modules.licence_notes import licence_name
from tf_adapt.serving.exports.model_card import Written

_FILES = (
    "A folder of HuggingFace's format: `config.json`, `model.safetensors` and the tokenizer, as "
    "transformers reads them"
)
_POOLED = "; `1_Pooling`, as sentence-transformers does"
_USE = """\
```python
import tf_adapt as ta

encoder = ta.HubEncoder("THIS_FOLDER", trainable=True)
```

```python
from transformers import AutoModel, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("THIS_FOLDER")
inputs = tokenizer(["TEXT"], return_tensors="pt")
states = AutoModel.from_pretrained("THIS_FOLDER")(**inputs).last_hidden_state
```"""
_USE_POOLED = """

```python
from sentence_transformers import SentenceTransformer

vectors = SentenceTransformer("THIS_FOLDER").encode(["TEXT"])
```"""
# GPT-2's own tokenizer puts nothing around a text; the encoder was tuned with this.
_TEXTS = {"causal": "<|endoftext|>Some text.<|endoftext|>"}


def written_for_huggingface(family: str, is_pooled: bool, module: Path) -> Written:
    """What an encoder is written as.

    Args:
        family: of the encoder.
        is_pooled: whether sentence-transformers' files are written too.
        module: the folder that it was made of, whose licence applies.
    """
    use = _USE + (_USE_POOLED if is_pooled else "")
    return Written(
        f"{_FILES}{_POOLED if is_pooled else ''}.",
        use.replace("TEXT", _TEXTS.get(family, "Some text.")),
        _header(is_pooled, licence_name(module)),
    )


def _header(is_pooled: bool, licence: str | None) -> str:
    tags = ["tf_adapt", "feature-extraction"] + (["sentence-similarity"] if is_pooled else [])
    lines = [
        "---",
        f"library_name: {'sentence-transformers' if is_pooled else 'transformers'}",
        *([f"license: {licence}"] if licence else []),
        "tags:",
        *(f"- {tag}" for tag in tags),
        "---",
    ]
    return "\n".join(lines)
