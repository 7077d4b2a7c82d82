"""`python -m tf_adapt.commands.similarity CONFIG SPLIT FILE`: how alike the encoder of a run's
config finds the texts of each pair, before any training."""

import json
import sys

from hub_modules.storage.files import write_text
from tf_adapt.commands.main import run
from tf_adapt.comparison.baselines.similarity import ALL
from tf_adapt.comparison.plan.scored_split import every_fold
from tf_adapt.comparison.plan.signals import own_data
from tf_adapt.config.reading import load_config
from tf_adapt.data.splits.read_splits import load_splits


def write_similarities(config_path: str, split: str, file: str) -> None:
    """Writes the cosine of the mean top states of both texts, one for each pair of a split, or of
    `ALL` that a cross-validation scores."""
    config = load_config(config_path)
    data = own_data(config)
    pairs = every_fold(data) if split == ALL else load_splits(data).examples[split]
    # After the reading, which tells of mistakes at once: they import TensorFlow.
    from tf_adapt.analysis.similarity import text_similarities
    from tf_adapt.training.resolving.compiled_model import configured_encoder

    # Each text by itself, as one row.
    alone = config.encoder.model_copy(update={"long": None})
    encoder = configured_encoder(alone, trainable=False)
    values = text_similarities(
        encoder,
        [pair.text_a for pair in pairs],
        [pair.text_b for pair in pairs],
        config.training.max_length,
    )
    write_text(file, json.dumps([round(float(value), 6) for value in values]))


if __name__ == "__main__":
    run(lambda: write_similarities(*sys.argv[1:]))
