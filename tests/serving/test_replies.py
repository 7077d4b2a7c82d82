from tf_adapt.serving.by_kind.written_texts import distinct


def test_distinct_n_of_a_few_replies():
    replies = ["i do not know", "i do", "", "know i do"]
    assert distinct(replies, 1) == 4 / 9
    assert distinct(replies, 2) == 4 / 6
    assert distinct(["a"], 2) == 0
