"""The heads on a similarity against SciPy's distances, NumPy and scikit-learn."""

import numpy as np
import pytest
import tensorflow as tf
from scipy.spatial.distance import cosine, euclidean
from sklearn.metrics.pairwise import paired_cosine_distances

import tf_adapt as ta
from tf_adapt.errors import ConfigError
from tf_adapt.heads.similarity import SimilarityHead

WIDTH = 6
RANDOM = np.random.default_rng(5)
U, V = RANDOM.normal(size=(2, 4, WIDTH)).astype("float32")
ENCODED = [{"pooled": U}, {"pooled": V}]
SCORES = ta.Task("pair_regression", label_range=(1, 5))
PAIRS = [("a man sings", "he sings"), ("a dog barks", "rain"), ("ab", "cd e"), ("e", "e")]


def test_scores_are_a_line_on_the_similarity():
    head = SimilarityHead(1, regression=True, score_range=(1.0, 5.0))
    expected = [1 + 4 * (1 - cosine(u, v)) for u, v in zip(U, V, strict=True)]
    np.testing.assert_allclose(head(ENCODED), expected, rtol=1e-5)
    np.testing.assert_allclose(expected, 1 + 4 * (1 - paired_cosine_distances(U, V)), rtol=1e-5)
    head = SimilarityHead(1, "euclidean", regression=True)
    distances = [euclidean(u, v) / np.sqrt(WIDTH) for u, v in zip(U, V, strict=True)]
    np.testing.assert_allclose(head(ENCODED), np.negative(distances), rtol=1e-5)


def test_labels_are_a_logistic_regression_of_it():
    head = SimilarityHead(3)
    head(ENCODED)
    kernel, bias = RANDOM.normal(size=(1, 3)), RANDOM.normal(size=3)
    head.dense.set_weights([kernel, bias])
    similarity = 1 - paired_cosine_distances(U, V)
    np.testing.assert_allclose(head(ENCODED), similarity[:, None] @ kernel + bias, rtol=1e-4)


@pytest.mark.parametrize("similarity", ["cosine", "euclidean"])
def test_equal_and_empty_vectors_have_finite_gradients(similarity):
    head = SimilarityHead(1, similarity, regression=True)
    vectors = tf.constant([[0.0] * WIDTH, [1.0] * WIDTH])
    with tf.GradientTape() as tape:
        tape.watch(vectors)
        outputs = head([{"pooled": vectors}, {"pooled": vectors}])
    assert np.isfinite(outputs).all() and np.isfinite(tape.gradient(outputs, vectors)).all()


def test_by_default_it_is_the_cosine_of_the_means(shallow_bert):
    encoder = ta.HubEncoder(shallow_bert, trainable=False, pairs="separate")
    model = ta.build_model(SCORES, encoder, "cosine", head_mixed=False, head_scaled=False)

    def mean(text):
        return encoder([text])["layers"][-1][0, 1:-1].numpy().mean(0)

    expected = [1 + 4 * (1 - cosine(mean(a), mean(b))) for a, b in PAIRS]
    found = [one.label for one in ta.predict(model, PAIRS)]
    np.testing.assert_allclose(found, expected, atol=1e-4)
    head = ta.build_model(SCORES, encoder, "cosine").head
    assert (head.pooling, head.mixed, head.scaled) == ("mean", True, True)


def test_texts_in_one_row_have_no_similarity(shallow_bert):
    with pytest.raises(ConfigError, match="encoded apart; set pairs='separate'"):
        ta.build_model(SCORES, ta.HubEncoder(shallow_bert), "cosine")
    with pytest.raises(ConfigError, match=r"data.label_range: expected .* the head cosine, .*null"):
        encoder = ta.HubEncoder(shallow_bert, pairs="separate")
        ta.build_model(ta.Task("pair_regression"), encoder, "cosine")
    with pytest.raises(ValueError, match="similarity: expected one of cosine, euclidean"):
        SimilarityHead(2, "dot")
