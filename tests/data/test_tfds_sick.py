import pytest

from tf_adapt.data.datasets import load_dataset
from tf_adapt.errors import DataError

HEADER = "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment\n"


def _manual_folder(data_dir):
    folder = data_dir / "downloads" / "manual"
    folder.mkdir(parents=True)
    return folder


def _contents(records):
    return sorted((record.text_a, record.text_b, record.label) for record in records)


def test_sick_is_built_from_the_publisher_s_files(shared, tmp_path):
    files = shared / "data" / "sick"
    manual = _manual_folder(tmp_path)
    for name in ("SICK_train.txt", "SICK_trial.txt"):
        (manual / name).write_bytes((files / name).read_bytes())
    (manual / "SICK_test_annotated.txt").write_text(HEADER + "9\tOne.\tTwo.\t4.5\tENTAILMENT\n")
    for split, size in (("train", 4_500), ("dev", 500)):
        built = load_dataset("sick_e", split, source="tfds", data_dir=tmp_path)
        read = load_dataset("sick_e", split, data_dir=files)
        assert len(built) == size
        assert _contents(built) == _contents(read)
    scores = load_dataset("sick_r", "dev", source="tfds", data_dir=tmp_path)
    read = load_dataset("sick_r", "dev", data_dir=files)
    assert sorted(r.label for r in scores) == pytest.approx(sorted(r.label for r in read))
    (record,) = load_dataset("sick_e", "test", source="tfds", data_dir=tmp_path)
    assert (record.text_a, record.text_b, record.label) == ("One.", "Two.", "ENTAILMENT")


def test_the_test_file_may_be_missing_and_then_there_is_no_test_split(tmp_path):
    manual = _manual_folder(tmp_path)
    for name in ("SICK_train.txt", "SICK_trial.txt"):
        (manual / name).write_text(HEADER + "1\tOne.\tTwo.\t4.5\tENTAILMENT\n")
    assert len(load_dataset("sick_r", "train", source="tfds", data_dir=tmp_path)) == 1
    with pytest.raises(DataError, match="sick:test: cannot be loaded from TensorFlow Datasets"):
        load_dataset("sick_r", "test", source="tfds", data_dir=tmp_path)


def test_without_the_files_the_error_says_which_and_where(tmp_path):
    with pytest.raises(DataError, match=r"downloads/manual does not exist .*SICK_train\.txt"):
        load_dataset("sick_e", "train", source="tfds", data_dir=tmp_path)


def test_a_faulty_file_is_named_with_its_line(tmp_path):
    manual = _manual_folder(tmp_path)
    for name in ("SICK_train.txt", "SICK_trial.txt"):
        (manual / name).write_text(HEADER + "1\tOne.\tTwo.\t4.5\tYES\n")
    with pytest.raises(DataError, match=r"SICK_train\.txt:2: .*: expected as label one of"):
        load_dataset("sick_e", "train", source="tfds", data_dir=tmp_path)
