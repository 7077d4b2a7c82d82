import pytest

from tf_adapt.errors import ArtifactError
from tf_adapt.runs.prediction_files import (
    read_predictions,
    read_probabilities,
    write_predictions,
)

TAGGED = "Ann\tB-PER\t0.9\nis\tO\t1\n\nNew York\tB-LOC\t0.5\n"
BEFORE = "Ann\tB-PER\nis\tO\n\nNew York\tB-LOC\n"  # by an earlier version
TABS = "Ann\tLee\tB-PER\nis\tO\n\nNew\t1\tB-LOC\n"  # in words, which an earlier version wrote
SCORED_TABS = "Ann\tLee\tB-PER\t0.9000\nis\tO\t1.0000\n\nNew\t1\tB-LOC\t0.5000\n"


def test_what_a_run_wrote(tmp_path):
    for kind, text, expected in [
        ("classification", "prediction\ta b\tc\na b\t0.9\t0.1\nc\t0.2\t0.8\n", ["a b", "c"]),
        ("pair_regression", "prediction\n3.500000\n-1.000000\n", [3.5, -1.0]),
        (
            "multilabel_classification",
            "prediction\tb\ta\nb|a\t0.9\t0.8\n\t0.1\t0.2\na\t0.1\t0.6\n",
            [("a", "b"), (), ("a",)],
        ),
        ("tagging", TAGGED, [["B-PER", "O"], ["B-LOC"]]),
        *(("tagging", text, [["B-PER", "O"], ["B-LOC"]]) for text in (BEFORE, TABS, SCORED_TABS)),
    ]:
        write_predictions(tmp_path, "dev", text)
        assert read_predictions(tmp_path, "dev", kind) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [*((text, [[0.9, 1], [0.5]]) for text in (TAGGED, SCORED_TABS)), (BEFORE, None), (TABS, None)],
)
def test_the_probabilities_of_tags(tmp_path, text, expected):
    write_predictions(tmp_path, "dev", text)
    assert read_probabilities(tmp_path, "dev", "tagging") == expected


def test_a_file_that_is_missing_or_damaged(tmp_path):
    write_predictions(tmp_path, "dev", "Ann\n")
    with pytest.raises(ArtifactError, match=r"dev\.tsv: not predictions"):
        read_predictions(tmp_path, "dev", "tagging")
    (tmp_path / "record.json").unlink()
    write_predictions(tmp_path, "test", "prediction\n3.5\nx\n")
    with pytest.raises(ArtifactError, match=r"test\.tsv: not predictions"):
        read_predictions(tmp_path, "test", "pair_regression")
    path = tmp_path / "predictions" / "test.tsv"
    path.write_bytes(path.read_bytes().replace(b"3.5", b"3.4"))
    with pytest.raises(ArtifactError, match=r"test\.tsv: its SHA-256 is not the one in"):
        read_predictions(tmp_path, "test", "pair_regression")
    path.unlink()
    with pytest.raises(ArtifactError, match=r"test\.tsv: cannot be read"):
        read_predictions(tmp_path, "test", "pair_regression")
    with pytest.raises(ArtifactError, match=r"dev\.tsv: it is not in .*record\.json"):
        read_predictions(tmp_path, "dev", "pair_regression")
