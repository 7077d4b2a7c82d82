"""From a command to its end, to the end of an import, or to the end of the first training step."""

import sys
from collections.abc import Iterator

from benchmarks.settings import Settings
from benchmarks.side_by_side.environments import CHILDREN, interpreter
from benchmarks.side_by_side.measurement import Contestant, Measurement

ABOUT = (
    "Seconds from the start of a process, files in the page cache. The first training step counts "
    "everything: imports, loading MiniLM, tokenizing 32 pairs, tracing, the step itself (full "
    "fine-tuning, float32). Memory is that of the process that starts the others, and says "
    "nothing."
)


def measurements(settings: Settings) -> Iterator[Measurement]:
    """The command line, the imports, the first step."""
    rounds, ours, theirs = settings.rounds(), sys.executable, interpreter("pytorch")
    yield Measurement(
        "`tf-adapt --help`",
        [_command("ours", "ours", [ours, "-m", "tf_adapt", "--help"])],
        rounds=rounds,
        at_most=1.0,
    )
    bert = "from transformers import BertModel"
    yield Measurement(
        "import of an encoder's class",
        [
            _command("ours", "ours", [ours, "-c", "import tf_adapt; tf_adapt.HubEncoder"]),
            _command("transformers and PyTorch", "pytorch", [theirs, "-c", bert]),
            _command("keras-hub", "ours", [ours, "-c", "import keras_hub"]),
        ],
        rounds=rounds,
    )
    job = {
        "module": str(settings.minilm),
        "huggingface": settings.huggingface_minilm,
        "pairs": settings.pairs_file("train", 32),
        "head": settings.head_file(),
        "rate": 5e-5,
    }
    yield Measurement(
        "start to the end of the first training step",
        [
            _command("ours", "ours", [ours, str(CHILDREN / "train_ours.py")], job),
            _command(
                "transformers and PyTorch",
                "pytorch",
                [theirs, str(CHILDREN / "train_pytorch.py")],
                job,
            ),
        ],
        rounds=rounds,
        at_most=15.0,
    )


def _command(
    name: str, environment: str, command: list[str], request: dict | None = None
) -> Contestant:
    job = {"command": command, "request": request, "skip_warm_up": False}
    return Contestant(name, "starting.py", environment, job)
