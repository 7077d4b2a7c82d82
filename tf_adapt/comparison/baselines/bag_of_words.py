"""TF-IDF with a linear model, of texts and of pairs of texts. Imports no TensorFlow."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from tf_adapt.data.formats import Record

# L2 penalty on the weights, relative to the summed loss; of equal scores on dev the strongest is
# selected. TF-IDF vectors have length 1, so that hidden states need stronger ones.
PENALTIES = (100.0, 10.0, 1.0, 0.1, 0.01)
# Every word, number and mark: a question mark says much, and some languages have words of a letter.
TOKEN = r"(?u)\w+|[^\w\s]"
MOST_WORDS = 100_000
MOST_STEPS = 300

Score = Callable[[list], float]  # of answers on dev
Answers = Callable[[Sequence], list]  # of examples, as in the files of a run


def classifier(train: Sequence[Record], dev: Sequence[Record], score: Score) -> Answers:
    """Labels, of logistic regression on TF-IDF of words and of pairs of neighbouring words."""
    labels = [record.label for record in train]
    if len(set(labels)) == 1:  # a part of train
        return lambda scored: [labels[0]] * len(scored)
    return best_of(logistic_regression, features_like(train), (train, labels), dev, score)


def label_sets(train: Sequence[Record], dev: Sequence[Record], score: Score) -> Answers:
    """As `classifier`, a logistic regression for each label; a set has the probable ones."""
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.preprocessing import MultiLabelBinarizer

    names = MultiLabelBinarizer()
    targets = names.fit_transform([record.label for record in train])
    if not len(names.classes_):
        return lambda scored: [()] * len(scored)

    def sets(predicted: np.ndarray, scored: Sequence[Record]) -> list[tuple[str, ...]]:
        return [tuple(sorted(labels)) for labels in names.inverse_transform(predicted)]

    return best_of(
        lambda penalty: OneVsRestClassifier(logistic_regression(penalty)),
        features_like(train),
        (train, targets),
        dev,
        score,
        sets,
    )


def regression(train: Sequence[Record], dev: Sequence[Record], score: Score) -> Answers:
    """Scores, of ridge regression on the features of `classifier`."""
    from sklearn.linear_model import Ridge

    targets = [record.label for record in train]
    return best_of(
        lambda penalty: Ridge(alpha=penalty), features_like(train), (train, targets), dev, score
    )


def logistic_regression(penalty: float) -> Any:
    """A logistic regression, multinomial where there are several classes."""
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(C=1 / penalty, max_iter=MOST_STEPS)


def best_of(
    model: Callable[[float], Any],
    features: Callable[[Sequence], Any],
    train: tuple[Sequence, Sequence],
    dev: Sequence,
    score: Score,
    answers: Callable[[np.ndarray, Sequence], list] = lambda predicted, scored: predicted.tolist(),
) -> Answers:
    """What the model with the best score on dev answers.

    Args:
        model: a penalty → a model of scikit-learn.
        features: examples → what the model reads of them.
        train: examples and targets.
        answers: what is predicted on examples, and these → answers.
    """

    def of_model(fitted: Any, given: Any, examples: Sequence) -> list:
        with one_thread():
            return answers(fitted.predict(given), examples)

    given, of_dev = features(train[0]), features(dev)
    with one_thread():
        models = [model(penalty).fit(given, train[1]) for penalty in PENALTIES]
    scores = [score(of_model(fitted, of_dev, dev)) for fitted in models]
    best = models[int(np.argmax(scores))]
    return lambda scored: of_model(best, features(scored), scored)


@contextmanager
def one_thread() -> Iterator[None]:
    """With one thread the sums, and so the answers, do not depend on the machine's cores; without
    the warnings of scikit-learn."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1), warnings.catch_warnings():
        # A fit that has not converged is as good a baseline; a label may be in every example.
        warnings.simplefilter("ignore")
        yield


def features_like(train: Sequence[Record]) -> Callable[[Sequence[Record]], Any]:
    """Examples → their features; words and their weights are those of `train`.

    Of a text its TF-IDF vector; of a pair with vectors u and v `[u; v; |u − v|; u ⊙ v; u·v]`.
    """
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectors = TfidfVectorizer(
        token_pattern=TOKEN, ngram_range=(1, 2), sublinear_tf=True, max_features=MOST_WORDS
    )
    texts = [text for record in train for text in _texts(record)]
    # Blank texts alone: a word that is not in them, so that models learn how frequent labels are.
    vectors.fit(texts if any(text.strip() for text in texts) else ["-"])
    return lambda records: _features(vectors, records)


def _features(vectors: Any, records: Sequence[Record]) -> Any:
    from scipy.sparse import csr_matrix, hstack

    first = vectors.transform([record.text_a for record in records])
    if records[0].text_b is None:
        return first
    second = vectors.transform([record.text_b for record in records])
    both = first.multiply(second)
    parts = [first, second, abs(first - second), both, csr_matrix(both.sum(axis=1))]
    return hstack(parts, format="csr")


def _texts(record: Record) -> tuple[str, ...]:
    return (record.text_a,) if record.text_b is None else (record.text_a, record.text_b)
