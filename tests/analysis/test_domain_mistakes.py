"""What `tf-adapt analyze domains` refuses, each mistake with its message."""

from tiny_mnli import content, data_of, finished, of_one_genre, refused, text_file, write

from tf_adapt.runs.prediction_files import write_predictions


def test_runs_that_do_not_fit_are_refused(genres, mnli, wiki, tmp_path):
    options = ["--reference", wiki, "--out", tmp_path / "out"]
    slate = of_one_genre(tmp_path / "slate", mnli, "slate")
    refused(2, "--run: expected text files.*--reference FILE",
            genres, "--run", slate, "--out", tmp_path / "out")  # fmt: skip
    two = ["--genre", "travel", "--genre", "fiction"]
    refused(2, "slate: expected a run on travel or fiction, got one on slate",
            genres, *two, "--run", slate, *options)  # fmt: skip
    refused(2, "expected one run for each seed of fine_tuning on slate, got another of seed 0",
            genres, "--run", slate, "--run", slate, *options)  # fmt: skip
    lines = (mnli / "train.tsv").read_text("utf-8")
    for name in ("train.tsv", "dev_matched.tsv"):
        text_file(tmp_path / name, lines)
    changed = write(tmp_path / "changed.yaml", content(data_of(tmp_path)))
    refused(2, "scored on the same examples as the given config", changed,
            "--run", slate, *options)  # fmt: skip
    write_predictions(slate, "dev", "prediction\nneutral\n")
    refused(4, "expected 12 predictions.*got 1", genres, "--run", slate, *options)
    (slate / "metrics.json").unlink()
    refused(4, "expected a finished run", genres, "--run", slate, *options)
    (tmp_path / "comparison" / "runs").mkdir(parents=True)
    for name in ("absent", "comparison", "wiki.txt"):
        refused(4, f"{name}: expected the folder of a run.*runs/CELL/rate_RATE/seed_SEED",
                genres, "--run", tmp_path / name, *options)  # fmt: skip
    plain = {"dataset": "sample_classification", "source": "sample"}
    other = finished(tmp_path / "plain", content(plain), {})
    refused(2, "got one on data without genres", genres, "--run", other, *options)


def test_references_that_do_not_fit_are_refused(genres, wiki, books, tmp_path):
    out = ["--out", tmp_path / "out"]
    (tmp_path / "other").mkdir()
    again = text_file(tmp_path / "other" / "wiki.txt", "words\n")
    together = text_file(tmp_path / "all together.txt", "words\n")
    empty = text_file(tmp_path / "empty.txt", " \n\n")
    blank = text_file(tmp_path / "blank.txt", "\u3000\n")
    absent = tmp_path / "absent.txt"
    for code, message, references in (
        (2, "files with different names", [wiki, again]),
        (2, "none of them 'all together'", [together]),
        (3, r"absent\.txt: expected a file, got nothing of that name", [books, absent]),
        (3, r"empty\.txt: no examples in this file", [empty]),
        (3, r"blank\.txt: expected text with at least one term", [blank]),
    ):
        options = [part for path in references for part in ("--reference", path)]
        refused(code, message, genres, *options, *out)
    refused(2, "need one config", wiki, books, "--reference", wiki, *out)
    assert not (tmp_path / "out").exists()


def test_what_a_domain_cannot_be(genres, tmp_path):
    some = text_file(tmp_path / "some.txt", "words\n")
    empty = text_file(tmp_path / "empty.txt", "")
    sample = {"dataset": "sample_classification", "source": "sample"}
    plain = write(tmp_path / "plain.yaml", content(sample))
    out = ["--out", tmp_path / "out"]
    refused(2, "whose examples have a genre", plain, *out)
    refused(3, r"empty\.txt: no examples", some, empty, *out)
    refused(2, "two text files with different names", some, some, *out)
    refused(2, "need one config", genres, genres, "--genre", "slate", *out)
    assert not (tmp_path / "out").exists()


def test_what_is_read_is_not_written_over(wiki, tmp_path):
    source = text_file(tmp_path / "domains.csv", "words\n")
    refused(2, r"domains\.csv: expected another file than the input", source, wiki,
            "--out", tmp_path)  # fmt: skip
    assert source.read_text("utf-8") == "words\n"
    assert not (tmp_path / "domains.json").exists()
