"""SST-2 with ELMo, small and of the original size, beside PyTorch."""

from collections.abc import Iterator
from pathlib import Path

from benchmarks.settings import Settings
from benchmarks.side_by_side.measurement import Contestant, Measurement

ABOUT = (
    "The states of all layers for every word of sentences of SST-2, in the order of the file, raw "
    "text to NumPy, batches of 32: the shipped `elmo_small` (3.0 million parameters) and the "
    "published size (93.6 million) with random weights. AllenNLP needs Python before 3.10 and "
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
    """Both sizes, in float32 and in bfloat16."""
    config = settings.of(ORIGINAL, TINY)
    original = settings.made("elmo_original", "elmo_module.py", config=config)
    sizes = {
        "elmo_small": ("elmo_small", settings.of(1024, 8), 2.0),
        "the original size": (original, settings.of(128, 8), 1.5),
    }
    for title, (module, count, at_least) in sizes.items():
        name = f"{Path(module).name}.npz"
        weights = settings.made(name, "elmo_module.py", module=module)
        for precision in (None, "bfloat16"):
            yield Measurement(
                f"{count} sentences of SST-2, {title}, {precision or 'float32'}",
                _contestants(module, weights, precision),
                job={
                    "texts": settings.file("sst2", settings.sst2()[:count]),
                    "precision": precision,
                    "batch_size": 32,
                    "give": "states",
                },
                rounds=settings.rounds(),
                compared="all states of the first 32 sentences",
                unit="words",
                at_least={"PyTorch biLM": at_least} if precision is None else {},
            )


def _contestants(module: str, weights: str, precision: str | None) -> list[Contestant]:
    script, loop = "elmo_pytorch.py", {"weights": weights, "fused": False}
    rounding = (
        "elmo_small's states reach 31, where bfloat16 has steps of 0.125" if precision else ""
    )
    found = [
        Contestant("ours", "encode_ours.py", job={"module": module}),
        Contestant(
            "PyTorch biLM",
            script,
            "pytorch",
            loop,
            tolerance=0.3 if precision else 1e-4,
            why=rounding,
        ),
    ]
    if precision is None:
        fused, why = loop | {"fused": True}, "nothing is clipped"
        name = "PyTorch, nn.LSTM without clipping"
        found.append(Contestant(name, script, "pytorch", fused, tolerance=10.0, why=why))
    return found
