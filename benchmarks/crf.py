"""The CRF beside pytorch-crf and TensorFlow Addons."""

from collections.abc import Iterator

from benchmarks.settings import Settings
from benchmarks.side_by_side.measurement import Contestant, Measurement

ABOUT = (
    "A batch of 32 sentences of 1 to 40 words, float32: the loss with its gradients by the logits "
    "and all weights, and the best paths (Viterbi). Ours and Addons' run in a `tf.function` of "
    "unknown batch and time, pytorch-crf eagerly, as its users run it. The time of a turn is its "
    "fastest call. Addons has no scores of first and last tags; here they are zero for everybody."
)


def measurements(settings: Settings) -> Iterator[Measurement]:
    """Both operations, with the tags of CoNLL-2003 and with many."""
    operations = {"loss": "loss and gradients", "best_path": "best paths"}
    for operation, title in operations.items():
        for tags in (9, 41):
            yield Measurement(
                f"{title}, {tags} tags",
                [
                    Contestant("ours", "crf_ours.py"),
                    Contestant("pytorch-crf", "crf_pytorch.py", "pytorch", tolerance=1e-4),
                    Contestant("tensorflow_addons", "crf_addons.py", "addons", tolerance=1e-4),
                ],
                job={"operation": operation, "tags": tags},
                rounds=settings.rounds(),
                calls=settings.of(15, 2),
                fastest=True,
                compared="gradients" if operation == "loss" else "paths",
                at_least={"pytorch-crf": 1.5, "tensorflow_addons": 1.5},
            )
