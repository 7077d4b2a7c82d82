"""The split for model selection (epoch, learning rate) and the scored split: never the same.

A run selects on its dev split and is scored on its test split. If dev is scored, because there is
no test split or the config says so, dev serves as test, and a part of train as dev.
"""

from tf_adapt.config.data_sections import DatasetConfig, FilesConfig
from tf_adapt.data.splits.read_splits import has_test
from tf_adapt.errors import ConfigError

HELD_OUT = 0.1  # default share of train


def with_scored_split(
    data: DatasetConfig | FilesConfig, score_on: str, place: str
) -> DatasetConfig | FilesConfig:
    """The `data` section of every run of a comparison.

    Args:
        score_on: "test" (dev if there is no test split), or "dev" (a test split is not read).
        place: the location of `data.held_out`, for messages.

    Raises:
        ConfigError: a share of train is held out although the test split is scored.
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
