"""Texts to the states of every layer, for probes and other models."""

from collections.abc import Iterator

from benchmarks.settings import Settings
from benchmarks.side_by_side.measurement import Contestant, Measurement

ABOUT = (
    "The states of all seven layers of MiniLM for every unit of every sentence of MRPC, without "
    "padding, raw text to NumPy; batches of 32. transformers: `output_hidden_states=True`."
)


def measurements(settings: Settings) -> Iterator[Measurement]:
    """In float32 and in bfloat16."""
    texts = settings.mrpc_sentences()[: settings.of(1024, 16)]
    for precision, tolerance in ((None, 1e-4), ("bfloat16", 0.2)):
        theirs = Contestant(
            "transformers", "encode_transformers.py", "pytorch", tolerance=tolerance
        )
        yield Measurement(
            f"{len(texts)} sentences of MRPC, {precision or 'float32'}",
            [Contestant("ours", "encode_ours.py"), theirs],
            job={
                "module": str(settings.minilm),
                "huggingface": settings.huggingface_minilm,
                "texts": settings.file("texts", texts),
                "precision": precision,
                "batch_size": 32,
                "give": "states",
            },
            rounds=settings.rounds(),
            compared="all states of the first 32 sentences",
            unit="units",
        )
