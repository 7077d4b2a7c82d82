"""Texts to vectors: MRPC's and SST-2's sentences as they come, and the longest of both."""

from collections.abc import Iterator

from benchmarks.settings import Settings
from benchmarks.side_by_side.child import NoAnswerError
from benchmarks.side_by_side.measurement import Contestant, Measurement

ABOUT = (
    "One vector a sentence, the mean of MiniLM's top layer over all units, raw text to NumPy; "
    "batches of 32. transformers reads them as they come and pads each batch to its longest, "
    "sentence-transformers and ours sort by length. keras-hub and the Model Garden's export are "
    "padded to the longest of all, as their preprocessing does it. Sentences of printable ASCII "
    "(99 %), on which all tokenizers agree."
)
ACTIVATION = "the tanh form of GELU, where the weights were trained with the exact one"
FLOAT32, HALF = 1e-4, 0.03


def measurements(settings: Settings) -> Iterator[Measurement]:
    """Each set of sentences in float32, then in bfloat16."""
    contestants = {None: _float32(settings), "bfloat16": _bfloat16(settings)}
    for title, texts in sentences(settings).items():
        for precision, taking_part in contestants.items():
            yield Measurement(
                f"{len(texts)} {title}, {precision or 'float32'}",
                taking_part,
                job={
                    "module": str(settings.minilm),
                    "huggingface": settings.huggingface_minilm,
                    "texts": settings.file("texts", texts),
                    "precision": precision,
                    "batch_size": 32,
                    "give": "vectors",
                },
                rounds=settings.rounds(3),
                compared="all vectors",
                unit="units",
                at_least={"transformers": 1.3, "sentence-transformers": 1.0},
            )


def sentences(settings: Settings) -> dict[str, list[str]]:
    """Title → texts."""
    mrpc, sst2 = settings.mrpc_sentences(), settings.sst2()
    count = settings.of(1024, 16)
    longest = sorted({*mrpc, *sst2}, key=len, reverse=True)[: count // 4]
    return {
        "sentences of MRPC": mrpc[:count],
        "sentences of SST-2": sst2[:count],
        "longest sentences of both": longest,
    }


def _float32(settings: Settings) -> list[Contestant]:
    return [
        Contestant("ours", "encode_ours.py"),
        Contestant("transformers", "encode_transformers.py", "pytorch", tolerance=FLOAT32),
        Contestant(
            "sentence-transformers", "encode_sentence_transformers.py", "pytorch", tolerance=FLOAT32
        ),
        *_in_openvino(FLOAT32),
        Contestant("keras-hub", "encode_keras_hub.py", tolerance=0.01, why=ACTIVATION),
        _hub_layer(settings),
    ]


def _bfloat16(settings: Settings) -> list[Contestant]:
    rounding = "half precision rounds to 8 bits, everybody in other places"
    weights = {"half_weights": True}
    return [
        Contestant("ours", "encode_ours.py"),
        Contestant(
            "transformers", "encode_transformers.py", "pytorch", tolerance=HALF, why=rounding
        ),
        Contestant(
            "sentence-transformers", "encode_sentence_transformers.py", "pytorch", tolerance=HALF
        ),
        Contestant(
            "transformers, weights in bfloat16",
            "encode_transformers.py",
            "pytorch",
            weights,
            tolerance=HALF,
        ),
        Contestant(
            "sentence-transformers, weights in bfloat16",
            "encode_sentence_transformers.py",
            "pytorch",
            weights,
            tolerance=HALF,
        ),
        *_in_openvino(HALF),
        Contestant("keras-hub", "encode_keras_hub.py", tolerance=HALF, why=ACTIVATION),
    ]


def _in_openvino(tolerance: float) -> list[Contestant]:
    return [
        Contestant(
            "ours, OpenVINO", "encode_ours.py", job={"engine": "openvino"}, tolerance=tolerance
        ),
        Contestant(
            "sentence-transformers, OpenVINO",
            "encode_sentence_openvino.py",
            "optimum",
            tolerance=tolerance,
        ),
    ]


def _hub_layer(settings: Settings) -> Contestant:
    """The Model Garden's export through `hub.KerasLayer`; without it, a line that says why."""
    folder, failure = "", None
    try:
        weights = settings.made(
            "garden_weights.npz", "garden_weights.py", module=str(settings.minilm)
        )
        folder = settings.made("garden", "garden_export.py", "addons", weights=weights)
    except NoAnswerError as error:
        failure = str(error)
    return Contestant(
        "hub.KerasLayer, Model Garden's export",
        "encode_hub_layer.py",
        "addons",
        {"export": folder},
        tolerance=FLOAT32,
        failure=failure,
    )
