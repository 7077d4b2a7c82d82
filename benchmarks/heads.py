"""A training step of ESIM and BCN beside PyTorch."""

from collections.abc import Iterator

from benchmarks.settings import Settings
from benchmarks.side_by_side.measurement import Contestant, Measurement

ABOUT = (
    "Forward, backward and Adam's update of the head alone, with dropout, in float32, on the "
    "given states of an encoder of three layers of width 1024: 32 pairs of texts of 5 to 24 words "
    "(ESIM), 32 sentences of 5 to 30 words (BCN). Ours runs in a `tf.function` of unknown batch "
    "and time, PyTorch's eagerly, with `pack_padded_sequence` around each LSTM (as AllenNLP does) "
    "and without (the backward LSTM then reads padding first: that line is for its time only). "
    "Weights are random; that the heads compute what AllenNLP's do is tested in `tests/parity`."
)


def measurements(settings: Settings) -> Iterator[Measurement]:
    """Both heads, in the published width and in a small one."""
    for head in ("esim", "bcn"):
        for units in (300, 100):
            yield Measurement(
                f"{head}, width {units}",
                [
                    Contestant("ours", "heads_ours.py"),
                    Contestant("PyTorch", "heads_pytorch.py", "pytorch", {"packed": True}),
                    Contestant(
                        "PyTorch, not packed", "heads_pytorch.py", "pytorch", {"packed": False}
                    ),
                ],
                job={"head": head, "units": units},
                rounds=settings.rounds(),
                calls=settings.of(5, 1),
            )
