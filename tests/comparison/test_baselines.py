"""The models that are tried first: against scikit-learn used directly, and against the cells."""

from dataclasses import replace

import finished_runs
import numpy as np
import pytest
from sklearn.feature_extraction import DictVectorizer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, Ridge

from tf_adapt.comparison.baselines import bag_of_words, references, similarity, word_tagger
from tf_adapt.comparison.execution.outcomes import Outcomes
from tf_adapt.comparison.results import results
from tf_adapt.comparison.verdict.interim_analyses import analyses_at
from tf_adapt.data.formats import Record, TaggedSentence
from tf_adapt.data.splits.read_splits import load_splits
from tf_adapt.data.splits.subsampling import part_of
from tf_adapt.errors import TrainingError
from tf_adapt.runs import run_folder

WORDS = ["good", "bad", "film", "plot", "a", "?", "dull", "fine", "act", "the"]
PENALTIES = (100.0, 10.0, 1.0, 0.1, 0.01)


def texts(count, seed, pairs=False):
    """Random texts whose label depends on their words."""
    random = np.random.default_rng(seed)
    made = []
    for _ in range(count):
        first, second = (list(random.choice(WORDS, 5)) for _ in range(2))
        goodness = first.count("good") + first.count("fine") - first.count("bad")
        label = ["neg", "mid", "pos"][int(np.sign(goodness + random.normal(0, 0.3))) + 1]
        other = " ".join(second) if pairs else None
        score = float(len({*first} & {*second})) + random.normal(0, 0.1)
        made.append(Record(" ".join(first), other, score if pairs else label))
    return made


SPLITS = [texts(150, 0), texts(60, 1), texts(80, 2)]
PAIRS = [texts(150, 0, True), texts(60, 1, True), texts(80, 2, True)]


def share(gold):
    return lambda answers: np.mean([a == b for a, b in zip(answers, gold, strict=True)])


def vectors_of(splits):
    words = TfidfVectorizer(token_pattern=r"\w+|\?", ngram_range=(1, 2), sublinear_tf=True)
    both = [r.text_b for r in splits[0] if r.text_b]
    words.fit([r.text_a for r in splits[0]] + both)
    return words


def test_texts_as_scikit_learn():
    train, dev, scored = SPLITS
    words = vectors_of(SPLITS)
    x = [words.transform([r.text_a for r in split]).toarray() for split in SPLITS]
    gold = [[r.label for r in split] for split in SPLITS]
    models = [LogisticRegression(C=1 / p, max_iter=300).fit(x[0], gold[0]) for p in PENALTIES]
    best = max(models, key=lambda model: model.score(x[1], gold[1]))
    found = bag_of_words.classifier(train, dev, share(gold[1]))(scored)
    assert found == list(best.predict(x[2]))
    assert share(gold[2])(found) > 0.7  # the most frequent label has half of it


def test_pairs_as_scikit_learn():
    train, dev, scored = PAIRS
    words = vectors_of(PAIRS)
    x = []
    for split in PAIRS:
        u = words.transform([r.text_a for r in split]).toarray()
        v = words.transform([r.text_b for r in split]).toarray()
        x.append(np.hstack([u, v, np.abs(u - v), u * v, (u * v).sum(1, keepdims=True)]))
    gold = [np.array([r.label for r in split]) for split in PAIRS]

    def correlation(answers, split=1):
        return np.corrcoef(answers, gold[split])[0, 1]

    models = [Ridge(alpha=penalty).fit(x[0], gold[0]) for penalty in PENALTIES]
    best = max(models, key=lambda model: correlation(model.predict(x[1])))
    found = bag_of_words.regression(train, dev, correlation)(scored)
    np.testing.assert_allclose(found, best.predict(x[2]), atol=0.02)  # another solver
    assert correlation(found, 2) > 0.5


def test_sets_of_labels_are_choices_of_their_own():
    splits = [
        [
            replace(r, label=tuple(sorted({"film", "plot", "a"} & set(r.text_a.split()))))
            for r in split
        ]
        for split in SPLITS
    ]
    gold = [[r.label for r in split] for split in splits]
    found = bag_of_words.label_sets(*splits[:2], share(gold[1]))(splits[2])
    words = vectors_of(splits)
    x = [words.transform([r.text_a for r in split]).toarray() for split in splits]
    for label in ("film", "plot", "a"):
        has = [label in labels for labels in gold[0]]
        model = LogisticRegression(C=100, max_iter=300).fit(x[0], has)
        assert [label in labels for labels in found] == model.predict(x[2]).tolist()
    nothing = [[replace(r, label=()) for r in split] for split in splits[:2]]
    assert bag_of_words.label_sets(*nothing, share([()] * 60))(splits[2]) == [()] * 80


def sentences(count, seed):
    random = np.random.default_rng(seed)
    made = []
    for _ in range(count):
        words = random.choice(["Ann", "Bob", "sees", "a", "dog", "Mr", "42", "12-3"], 6)
        tags = ["B-PER" if word in ("Ann", "Bob") else "O" for word in words]
        tags = ["O" if n and words[n - 1] == "a" else tag for n, tag in enumerate(tags)]
        made.append(TaggedSentence(tuple(map(str, words)), tuple(tags)))
    return made


def test_words_are_tagged_by_themselves_and_their_neighbours():
    train, dev, scored = splits = [sentences(60, 0), sentences(20, 1), sentences(30, 2)]
    gold = [[list(s.tags) for s in split] for split in splits]
    found = word_tagger.tagger(train, dev, share(gold[1]))(scored)
    assert found == gold[2]  # `a Bob` is no name: one word before decides
    # Words alone do not tell.
    names = DictVectorizer()
    x = names.fit_transform([{word: True} for s in train for word in s.words])
    alone = LogisticRegression(C=100).fit(x, sum(gold[0], []))
    said = alone.predict(names.transform([{w: True} for s in scored for w in s.words]))
    assert list(said) != sum(gold[2], [])
    assert [word_tagger._shape(w) for w in ("Peter", "EU", "12-3", "iPod", "U.S.")] == [
        "Xx", "X", "d-d", "xXx", "X.X.",
    ]  # fmt: skip


def test_a_part_of_train_may_have_one_label():
    train, dev, scored = SPLITS
    one = [replace(r, label="mid") for r in train]
    assert bag_of_words.classifier(one, dev, len)(scored) == ["mid"] * 80
    # Without a word the most frequent label is all that can be learnt.
    blank = [Record(" ", label=label) for label in ("low", "mid", "mid")]
    answers = bag_of_words.classifier(blank, dev, share([r.label for r in dev]))
    assert answers(scored) == ["mid"] * 80
    tagged = [TaggedSentence(("a", "b"), ("O", "O"))] * 3
    assert word_tagger.tagger(tagged, tagged, len)(tagged) == [["O", "O"]] * 3


@pytest.fixture
def outcomes(comparison_of, tmp_path):
    """A comparison whose first cell is right in each run, the other in half of the items."""
    comparison = comparison_of({"held_out": 0.2}, seeds=3)
    found = Outcomes(comparison, tmp_path / "out")
    for cell, is_right in zip(comparison.cells, (True, False), strict=True):
        for seed in comparison.seeds:
            _finish(found.run(cell, 1e-3, seed), is_right)
    return found


def _finish(run, is_right):
    splits = load_splits(run.cell.config.data)
    gold = [record.label for record in splits.examples["test"]]
    other = {label: splits.labels[n - 1] for n, label in enumerate(splits.labels)}
    said = [x if is_right or n % 2 else other[x] for n, x in enumerate(gold)]
    predictions = "".join(f"{line}\t0.5\n" for line in ["prediction", *said])
    run_folder.write_history(run.folder, [{"epoch": 1, "dev_accuracy": 0.5}])
    finished_runs.finish(run.folder, {"test": predictions})


def results_of(outcomes, splits):
    looks = analyses_at(outcomes, ())
    return results(outcomes, splits, looks, data={}, machine="", command="")[0]


def test_cells_are_tested_against_it(outcomes):
    splits = load_splits(outcomes.comparison.data)
    (reference,) = results_of(outcomes, splits).references
    train = splits.examples["train"]
    answers = references.fit(splits, "accuracy", reference.name, train)(splits.examples["test"])
    gold = [record.label for record in splits.examples["test"]]
    assert reference.name == "TF-IDF + logistic regression"
    assert reference.score == share(gold)(answers)
    right, half = (reference.cells[cell.name] for cell in outcomes.comparison.cells)
    assert right.difference == pytest.approx(1 - reference.score)
    assert right.above and not half.above


def test_with_a_part_of_train_it_sees_no_more_than_the_cells(outcomes, monkeypatch):
    splits = load_splits(outcomes.comparison.data)
    seen = []
    monkeypatch.setattr(
        references, "fit", lambda *given: seen.append(given[-1]) or (lambda scored: len(scored))
    )
    outcomes.examples = 24
    found = references._of_trainings(outcomes, splits, "accuracy", "x", ["test", "dev"])
    train = splits.examples["train"]
    # Once for all splits.
    assert seen == [part_of(train, 24, seed) for seed in (0, 1, 2)]
    assert found == {split: [len(splits.examples[split])] * 3 for split in ("test", "dev")}


def test_a_similarity_is_computed_once_for_each_pretrained_encoder(outcomes, monkeypatch):
    started = []

    def computed(outcomes, cell, split):
        started.append(cell.name)
        return "[0.5, 0.25]"

    monkeypatch.setattr(similarity, "_computed", computed)
    expected = {"untrained cosine of elmo_small": [0.5, 0.25]}
    assert similarity.similarities(outcomes, "test") == expected
    assert similarity.similarities(outcomes, "test") == expected
    assert started == [outcomes.comparison.cells[0].name]
    assert similarity.similarities(outcomes, "shifted/there") == expected
    assert len(started) == 2


def test_a_process_that_fails_is_told(outcomes):
    """The folder of this comparison has no config of its cells."""
    with pytest.raises(TrainingError, match=r"similarities of elmo_small.* cannot be read"):
        similarity.similarities(outcomes, "test")
