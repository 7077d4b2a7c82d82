"""What a wrong handle is told: `python -m tests.hub_modules.loading.refusals` prints handle and
message, without a network."""

import json
import shutil
import tempfile
from pathlib import Path

from hub_modules.errors import TfAdaptError
from hub_modules.load import load_module

RECORDED = Path(__file__).parents[2] / "parity" / "recorded"


def folders(place: Path) -> list[str]:
    """Folders of HuggingFace's format with something wrong."""

    def changed(name: str, edit) -> str:
        folder = shutil.copytree(RECORDED / "huggingface_mpnet" / "model", place / name)
        edit(folder)
        return str(folder)

    def configured(**changes):
        def edit(folder: Path) -> None:
            path = folder / "config.json"
            path.write_text(json.dumps(json.loads(path.read_text()) | changes))

        return edit

    def pickled(folder: Path) -> None:
        (folder / "model.safetensors").rename(folder / "pytorch_model.bin")

    def sharded(folder: Path) -> None:
        (folder / "model.safetensors").rename(folder / "model.safetensors.index.json")

    def pooled_twice(folder: Path) -> None:
        (folder / "1_Pooling").mkdir()
        (folder / "1_Pooling" / "config.json").write_text('{"pooling_mode_max_tokens": true}')

    def untokenized(folder: Path) -> None:
        for name in ("vocab.txt", "tokenizer.json"):
            (folder / name).unlink(missing_ok=True)

    return [
        changed("t5", configured(model_type="t5")),
        changed("other_sizes", configured(hidden_size=32)),
        changed("pickled", pickled),
        changed("sharded", sharded),
        changed("other_pooling", pooled_twice),
        changed("no_tokenizer", untokenized),
        changed("damaged", lambda folder: (folder / "config.json").write_text("{")),
        f"keras:{shutil.copytree(RECORDED / 'huggingface_gpt2' / 'model', place / 'gpt2')}",
    ]


HANDLES = [
    "bert_smal",
    "modules/none",
    "vectors.txt",
    "bert-base-uncased",
    "sentence-transformers/all-MiniLM-L6-v2",
    "hf://a/b/c",
    "hf://org/none",
    "kaggle://google/bert",
    "kaggle://google/bert/keras/none",
    "keras:bert_base_en_uncase",
    "keras:bge_small_v1.5_en",
    "keras:gpt2_base_en",
    "keras:",
    "https://tfhub.dev/google/elmo/3",
]


def main() -> None:
    """Prints a Markdown table."""
    print("| handle | what is said |\n| --- | --- |")
    with tempfile.TemporaryDirectory() as place:
        for handle in (*HANDLES, *folders(Path(place))):
            try:
                load_module(handle)
            except TfAdaptError as error:
                said = " ".join(str(error).split()).replace(f"{place}/", "").replace("|", r"\|")
                print(f"| `{handle.replace(f'{place}/', '')}` | {type(error).__name__}: {said} |")
            else:
                print(f"| `{handle.replace(f'{place}/', '')}` | (taken) |")


if __name__ == "__main__":
    main()
