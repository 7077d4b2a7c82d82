"""The predictions that runs wrote. Imports no TensorFlow."""

from pathlib import Path

from tf_adapt.errors import ArtifactError


def read_predictions(run: Path, split: str, kind: str) -> list:
    """What a finished run says of each example of a split, see `predicting.write_predictions`.

    Args:
        run: the run folder.
        kind: of the task.

    Returns:
        For each example a label, for pair_regression a number, for tagging a list of tags.

    Raises:
        ArtifactError: the file is missing or damaged.
    """
    path = run / "predictions" / f"{split}.tsv"
    try:
        text = path.read_text("utf-8").removesuffix("\n")
        if kind == "tagging":
            sentences = [part.split("\n") for part in text.split("\n\n")]
            return [[line.rpartition("\t")[2] for line in lines] for lines in sentences]
        found = [line.partition("\t")[0] for line in text.split("\n")[1:]]
        return [float(value) for value in found] if kind == "pair_regression" else found
    except (OSError, ValueError) as error:
        raise ArtifactError(
            f"{path}: cannot be read ({error}); remove the run folder {run} and make the run again"
        ) from None
