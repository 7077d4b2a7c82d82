"""Training labels from several sources in one sentence."""

from tf_adapt.printing.weak_labels import weak_in_words

FACTS = {
    "votes_file": "votes.tsv",
    "aggregate": "dawid_skene",
    "examples": 400,
    "votes": 1021,
    "agreement": 0.71239,
    "sources": {
        "ann": {"votes": 400, "accuracy": 0.914},
        "ben": {"votes": 0, "accuracy": None},
        "coin": {"votes": 621, "accuracy": 0.5},
    },
    "entropy": 0.1234,
    "undecided": 0.01,
}


def test_every_number_is_in_it():
    assert weak_in_words(FACTS) == (
        "trained on labels from 3 sources: 1,021 votes for 400 examples; Dawid and Skene's model; "
        "71.2 % of the pairs of votes agree; estimated accuracies ann 0.91, coin 0.50; mean "
        "entropy of the labels 0.12 nats; 1.0 % of the examples without a label above 0.5"
    )


def test_many_sources_and_no_pair():
    many = {f"s{number}": {"votes": 1, "accuracy": number / 20} for number in range(5, 17)}
    text = weak_in_words(FACTS | {"sources": many, "agreement": None, "aggregate": "majority"})
    assert "their majority; estimated accuracies from 0.25 to 0.80; mean" in text
