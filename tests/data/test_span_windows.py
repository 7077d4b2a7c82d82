"""Windows of contexts: every word in one of them, by enumeration; targets and rows by hand."""

import random

import numpy as np
import pytest
import tensorflow as tf

from tf_adapt.data.batches import batches, prepare
from tf_adapt.data.formats import Answers, Record
from tf_adapt.data.packing.span_windows import Contexts, SpanWindows, window_targets
from tf_adapt.encoder.hub_encoder import HubEncoder
from tf_adapt.errors import ConfigError, DataError
from tf_adapt.tasks.span_search import SpanSearch
from tf_adapt.tasks.task import Task


@pytest.fixture(scope="module")
def bert(tiny_bert):
    return HubEncoder(tiny_bert)


@pytest.fixture(scope="module")
def elmo(tiny_elmo):
    return HubEncoder(tiny_elmo)


def test_a_context_without_blanks_is_read_by_an_elmo(elmo):
    task = Task("span_extraction", spans=SpanSearch(stride=16))
    record = Record("Where?", "東" * 1100, None, "somewhere")
    assert prepare([record], task, elmo, max_length=64).truncated == 0
    with pytest.raises(DataError, match="words of at most 1000 characters, got one of 1100"):
        prepare([Record("Where?", "a" * 1100, None, "here")], task, elmo, max_length=64)


def contexts_of(questions: list[int], words: list[list[int]]) -> Contexts:
    """Questions and words with these numbers of tokens, which are numbered."""
    flat = tf.RaggedTensor.from_row_lengths(
        tf.range(sum(map(sum, words))), tf.constant(sum(words, []), tf.int64)
    )
    total = tf.range(sum(map(len, words)))
    return Contexts(
        tf.RaggedTensor.from_row_lengths(tf.zeros([sum(questions)], tf.int32), questions),
        tf.RaggedTensor.from_row_lengths(flat, [len(row) for row in words]),
        total,
        total + 1,
    )


@pytest.mark.slow
def test_every_word_counts_in_the_window_where_it_has_most_context():
    draw = random.Random(0)
    for _ in range(100):
        stride = draw.randint(1, 5)
        budget = stride + draw.randint(3, 8)
        questions = [draw.randint(1, budget - stride) for _ in range(3)]
        words = [[draw.randint(1, stride) for _ in range(draw.randint(1, 12))] for _ in range(3)]
        spans = SpanWindows.of(contexts_of(questions, words), budget, stride)
        windows, counted = spans.windows.numpy(), spans.counted.numpy()
        token = word = 0
        for number, (question, lengths) in enumerate(zip(questions, words, strict=True)):
            rows = np.flatnonzero(windows[:, 0] == number)
            assert windows[rows[0], 1] == token
            assert windows[rows[-1], 2] == token + sum(lengths)
            assert (windows[rows, 2] - windows[rows, 1] <= budget - question).all()
            # No window but the last reaches the end.
            assert (windows[rows[:-1], 2] < token + sum(lengths)).all()
            for length in lengths:
                context = {
                    row: min(token - windows[row, 1], windows[row, 2] - token - length)
                    for row in rows
                    if windows[row, 1] <= token and token + length <= windows[row, 2]
                }
                assert counted[word] == max(context, key=lambda row: (context[row], -row))
                token, word = token + length, word + 1


def test_targets_are_words_of_a_window_or_no_answer():
    # Rows of 4 tokens, one of them the question: windows of 3 tokens, every 2.
    spans = SpanWindows.of(contexts_of([1, 1], [[1, 1, 1, 1, 1], [2]]), budget=4, stride=2)
    assert spans.windows.numpy().tolist() == [[0, 0, 3], [0, 2, 5], [1, 5, 7]]
    answers = tf.constant([[2, 3], [-1, -1]])
    assert window_targets(spans, answers).numpy().tolist() == [[0, 0], [1, 2], [0, 0]]
    assert window_targets(spans, tf.constant([[2, 2], [5, 5]])).numpy().tolist() == [
        [3, 3],
        [1, 1],
        [1, 1],
    ]


def rows(records: list, encoder, stride: int = 4, **options) -> tuple[dict, list]:
    task = Task("span_extraction", spans=SpanSearch(stride))
    ((inputs, targets),) = batches(records, task, encoder, 100, shuffle=False, **options)
    return {name: tensor.numpy() for name, tensor in inputs["a"].items()}, targets.numpy().tolist()


def test_rows_of_bert_by_hand(bert):
    record = Record("a b", "c d e f g h", Answers(("f g",), (6,)))
    inputs, targets = rows([record], bert, stride=2, max_length=9)
    # [CLS] a b [SEP], four words, [SEP].
    assert inputs["input_mask"].tolist() == [[1] * 9, [1] * 9]
    assert inputs["input_type_ids"].tolist() == [[0] * 4 + [1] * 5] * 2
    assert inputs["first_piece"].tolist() == inputs["last_piece"].tolist() == [[4, 5, 6, 7]] * 2
    assert inputs["first_char"].tolist() == [[0, 2, 4, 6], [4, 6, 8, 10]]
    assert inputs["end_char"].tolist() == [[1, 3, 5, 7], [5, 7, 9, 11]]
    # `e` has one word on its poorer side in the first window, none in the second; `f` the reverse.
    assert inputs["starts"].tolist() == [[True, True, True, False], [False, True, True, True]]
    assert targets == inputs["answer"].tolist() == [[0, 0], [2, 3]]


def test_rows_of_elmo_are_the_words_of_both(elmo):
    inputs, targets = rows([Record("who ?", "Ann, Lee.", Answers(("Ann",), (0,)))], elmo)
    assert inputs["first_piece"].tolist() == [[2, 3, 4, 5]]
    assert inputs["character_ids"].shape == (1, 6, 50)
    assert targets == [[1, 1]]


def test_a_token_of_the_row_is_that_of_its_word(bert):
    text = "a bc, def abc a fed cab bad ace "
    records = [Record("a", text * 3, where="x"), Record("b c d", "abc")]
    task = Task("span_extraction", spans=SpanSearch(8))
    (inputs,) = batches(records, task, bert, 100, shuffle=False, max_length=24)
    inputs = {name: tensor.numpy() for name, tensor in inputs["a"].items()}
    assert len(inputs["first_piece"]) > 3
    for row in range(len(inputs["first_piece"])):
        for place, first in enumerate(inputs["first_piece"][row]):
            if first < 0:
                continue
            begin, end = inputs["first_char"][row, place], inputs["end_char"][row, place]
            context = (text * 3 if row < len(inputs["first_piece"]) - 1 else "abc")[begin:end]
            pieces = bert.preprocessor.tokenize(tf.constant([context])).to_list()[0]
            last = inputs["last_piece"][row, place]
            assert inputs["input_word_ids"][row, first : last + 1].tolist() == pieces


@pytest.mark.slow
def test_an_answer_within_words_is_the_words_that_it_touches(elmo):
    text = "pre-1990s days"
    for answer, start, expected in (("1990", 4, [3, 3]), ("e-1", 2, [1, 3]), ("days", 10, [4, 4])):
        assert rows([Record("when", text, Answers((answer,), (start,)))], elmo)[1] == [expected]


def prepared(record: Record, encoder, stride: int = 4, **options):
    task = Task("span_extraction", spans=SpanSearch(stride))
    return prepare([Record("a", "b"), record], task, encoder, **options)


def test_d9_a_question_longer_than_the_model(bert):
    record = Record("a " * 20, "b", where="dev.json: question q1")
    message = (
        "question q1: expected a question of at most 13 tokens, so that a row of 20 holds the "
        r"stride of 4 beside it, got 20 \(1 too long in all\); shorten it"
    )
    with pytest.raises(DataError, match=message):
        prepared(record, bert, max_length=20)
    cut = prepared(record, bert, max_length=20, truncate=True)
    assert cut.truncated == 1 and cut.lengths.tolist() == [5, 17]
    assert cut.uncut_lengths.tolist() == [5, 24]


def test_d9_an_enormous_document(bert):
    record = Record("a", "b c d " * 1000, where="dev.json: question q1")
    message = "at most 256 windows, got one of 3,000 tokens, which are 747 .*split the document"
    with pytest.raises(DataError, match=message):
        prepared(record, bert, max_length=20)
    assert len(prepared(record, bert, stride=15, max_length=24).lengths) < 256


def test_d9_a_word_longer_than_the_stride(bert):
    record = Record("a", "b c," + "d" * 9 + "e", where="dev.json: question q1")
    long = len(bert.preprocessor.tokenize(tf.constant(["d" * 9 + "e"])).to_list()[0])
    assert long > 4
    with pytest.raises(DataError, match=f"words of at most 4 tokens, the stride, .*one of {long}"):
        prepared(record, bert, max_length=20)
    assert prepared(record, bert, max_length=20, truncate=True).truncated == 1
    with pytest.raises(DataError, match="words of at most 1000 characters, got one of 1001"):
        prepared(Record("a", "d" * 1001, where="x"), bert, max_length=20)


def test_a_stride_that_is_no_part_of_a_row(bert):
    with pytest.raises(ConfigError, match="stride: expected less than 17, .*got 17; lower data"):
        prepared(Record("a", "b"), bert, stride=17, max_length=20)


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (Record("a", " ", where="x"), "x: expected a text in column 'context', got an empty one"),
        (Record("\n", "a", where="x"), "x: expected a text in column 'question'"),
        (
            Record("a", "b c", Answers(("c",), (0,)), "x"),
            "x: expected the answer 'c' at character 0 of its context, got 'b'; it begins at",
        ),
    ],
)
def test_wrong_records(bert, record, message):
    with pytest.raises(DataError, match=message):
        prepare([record], Task("span_extraction"), bert)


def test_encoders_without_a_joint_row(tiny_causal):
    with pytest.raises(ConfigError, match="span_extraction .*got one of the family causal"):
        prepare([Record("a", "b")], Task("span_extraction"), HubEncoder(tiny_causal))
