import pytest

from tf_adapt.errors import ArtifactError
from tf_adapt.prediction_files import read_predictions


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        ("classification", "prediction\ta b\tc\na b\t0.9\t0.1\nc\t0.2\t0.8\n", ["a b", "c"]),
        ("pair_regression", "prediction\n3.500000\n-1.000000\n", [3.5, -1.0]),
        ("tagging", "Ann\tB-PER\nis\tO\n\nNew York\tB-LOC\n", [["B-PER", "O"], ["B-LOC"]]),
    ],
)
def test_what_a_run_wrote(tmp_path, kind, text, expected):
    (tmp_path / "predictions").mkdir()
    (tmp_path / "predictions" / "dev.tsv").write_text(text, "utf-8")
    assert read_predictions(tmp_path, "dev", kind) == expected


@pytest.mark.parametrize("content", [None, b"prediction\n3.5\nx\n", b"prediction\n\xff\n"])
def test_a_file_that_is_missing_or_damaged(tmp_path, content):
    if content is not None:
        (tmp_path / "predictions").mkdir()
        (tmp_path / "predictions" / "test.tsv").write_bytes(content)
    with pytest.raises(ArtifactError, match=r"test\.tsv: cannot be read"):
        read_predictions(tmp_path, "test", "pair_regression")
