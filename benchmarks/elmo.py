"""SST-2 with ELMo, small and of the original size, beside PyTorch."""

from collections.abc import Iterator
from pathlib import Path

from benchmarks.settings import Settings
from benchmarks.side_by_side.measurement import Contestant, Measurement

ABOUT = (
    "The states of all layers for every word of sentences of SST-2, in the order of the file, raw "
    "text to NumPy, batches of 32, float32: the shipped `elmo_small` (3.0 million parameters) and "
    "the published size (93.6 million) with random weights. AllenNLP needs Python before 3.10 and "
    "cannot stand beside this; the PyTorch biLM (`children/pytorch_bilm.py`) has the same "
    "clipping and does what AllenNLP's does, with the input's part of the gates in one product "
    "for all steps instead of one a step. `nn.LSTM` cannot clip; the line is there to show how "
    "far a fused kernel gets, and its difference says whether clipping mattered."
)
ORIGINAL = {
    "filters": [[1, 32], [2, 32], [3, 64], [4, 128], [5, 256], [6, 512], [7, 1024]],
    "character_width": 16,
    "num_highway": 2,
    "projection_width": 512,
    "lstm_width": 4096,
    "num_layers": 2,
}
TINY = ORIGINAL | {"filters": [[1, 32], [2, 64]], "projection_width": 32, "lstm_width": 128}


def measurements(settings: Settings) -> Iterator[Measurement]:
    """Both sizes."""
    yield _measurement(settings, "elmo_small", "elmo_small", settings.of(1024, 8), 2.0)
    config = settings.of(ORIGINAL, TINY)
    module = settings.made("elmo_original", "elmo_module.py", config=config)
    yield _measurement(settings, "the original size", module, settings.of(128, 8), 1.5)


def _measurement(
    settings: Settings, title: str, module: str, count: int, at_least: float
) -> Measurement:
    name = f"{Path(module).name}.npz"
    weights = settings.made(name, "elmo_module.py", module=module)
    theirs = {"weights": weights, "fused": False}
    return Measurement(
        f"{count} sentences of SST-2, {title}",
        [
            Contestant("ours", "encode_ours.py", job={"module": module}),
            Contestant("PyTorch biLM", "elmo_pytorch.py", "pytorch", theirs, tolerance=1e-4),
            Contestant(
                "PyTorch, nn.LSTM without clipping",
                "elmo_pytorch.py",
                "pytorch",
                theirs | {"fused": True},
                tolerance=10.0,
                why="nothing is clipped",
            ),
        ],
        job={
            "texts": settings.file("sst2", settings.sst2()[:count]),
            "precision": None,
            "batch_size": 32,
            "give": "states",
        },
        rounds=settings.rounds(),
        compared="all states of the first 32 sentences",
        unit="words",
        at_least={"PyTorch biLM": at_least},
    )
