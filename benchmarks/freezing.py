"""Time of a training step by how much of the encoder is frozen."""

from collections.abc import Iterator

from benchmarks.elmo import ORIGINAL, TINY
from benchmarks.settings import Settings
from benchmarks.side_by_side.measurement import Contestant, Measurement

ABOUT = (
    "Forward, backward and AdamW's update, float32, on 32 texts of 30 words, with the smallest "
    "head. From the first line on one layer group after the other is frozen, from the bottom up; "
    "the last line is the encoder's and head's forward pass alone. A line's ratio is the share of "
    "full fine-tuning's time. MiniLM, and an ELMo of the published size (93.6 million parameters) "
    "with random weights. All lines share one process and one model."
)
GROUPS = {
    "MiniLM": ["embeddings", *(f"layer_{index}" for index in range(6)), "pooler"],
    "ELMo of the original size": ["char_cnn", "lstm_0", "lstm_1"],
}


def measurements(settings: Settings) -> Iterator[Measurement]:
    """Both encoders."""
    config = settings.of(ORIGINAL, TINY)
    modules = {
        "MiniLM": lambda: str(settings.minilm),
        "ELMo of the original size": lambda: settings.made(
            "elmo_original", "elmo_module.py", config=config
        ),
    }
    for name, module in modules.items():
        yield Measurement(
            f"a training step, {name}",
            [_case("all learns", 0)]
            + [
                _case(f"frozen up to {group}", number + 1)
                for number, group in enumerate(GROUPS[name])
            ]
            + [_case("forward pass alone", None)],
            job={"module": module(), "texts": settings.of(32, 4), "words": 30},
            rounds=settings.rounds(),
            calls=settings.of(3, 1),
        )


def _case(name: str, frozen: int | None) -> Contestant:
    return Contestant(name, "freezing_ours.py", job={"frozen": frozen}, process="ours")
