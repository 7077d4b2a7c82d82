"""Word pieces alone, beside HuggingFace's fast tokenizer."""

from collections.abc import Iterator

from benchmarks.settings import Settings
from benchmarks.side_by_side.measurement import Contestant, Measurement

ABOUT = "Sentences to the ids of their word pieces, all in one call, with MiniLM's vocabulary."


def measurements(settings: Settings) -> Iterator[Measurement]:
    """MRPC and SST-2."""
    count = settings.of(None, 64)
    texts = {"MRPC": settings.mrpc_sentences()[:count], "SST-2": settings.sst2()[:count]}
    for name, given in texts.items():
        yield Measurement(
            f"{len(given)} sentences of {name}",
            [
                Contestant("ours", "tokenize_ours.py"),
                Contestant("transformers", "tokenize_transformers.py", "pytorch"),
            ],
            job={
                "module": str(settings.minilm),
                "huggingface": settings.huggingface_minilm,
                "texts": settings.file("texts", given),
            },
            rounds=settings.rounds(),
            calls=settings.of(5, 1),
            compared="all ids",
            unit="sentences",
        )
