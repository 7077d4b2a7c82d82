"""Which split chooses between epochs and learning rates, and which is scored: never the same.

A run chooses on its dev split and is scored on its test split. Where dev is to be scored, because
there is no test split or the config says so, dev stands in the place of test, and a part of train
in the place of dev.
"""

from tf_adapt.config_sections import DatasetConfig, FilesConfig
from tf_adapt.data.splits import has_test
from tf_adapt.errors import ConfigError

HELD_OUT = 0.1  # share of train, where the config gives none


def with_scored_split(
    data: DatasetConfig | FilesConfig, score_on: str, place: str
) -> DatasetConfig | FilesConfig:
    """The `data` section of every run of a comparison.

    Args:
        score_on: "test", which means dev where there is no test split; or "dev", then a test split
            is not read.
        place: where `data.held_out` stands, for messages.

    Raises:
        ConfigError: a share is held out of train where the test split is to be scored.
    """
    if score_on == "test" and has_test(data):
        if data.held_out is not None:
            raise ConfigError(
                f"{place}: data.held_out: expected null where there is a test split, got "
                f"{data.held_out}: dev chooses, test is scored; set compare.score_on: dev to have "
                "that share of train choose and dev scored"
            )
        return data
    return data if data.held_out else data.model_copy(update={"held_out": HELD_OUT})
