"""Rows of several requests in one call: each gets its own answer, and the queue has a bound."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

pytest.importorskip("starlette", reason="the extra [serve] is not installed")

from tf_adapt.serving.server.batching import Batcher  # noqa: E402
from tf_adapt.serving.server.limits import Limits, RefusedError  # noqa: E402


def together(requests: list[dict], call, limits: Limits) -> tuple[list, list[int]]:
    """The answers to requests of one moment, errors among them, and the rows of each call."""
    calls: list[int] = []

    async def ask() -> list:
        with ThreadPoolExecutor(4) as executor:
            batcher = Batcher(call, executor, limits, calls.append)
            answers = await asyncio.gather(
                *(batcher.answer(one) for one in requests), return_exceptions=True
            )
            assert batcher.waiting_rows == 0
            return answers

    return asyncio.run(ask()), calls


def lengths(columns: dict) -> dict:
    if any(text == "bad" for text in columns["text"]):
        raise RefusedError(400, "bad is refused")
    return {"length": [len(text) for text in columns["text"]]}


def test_requests_of_one_moment_are_one_call():
    requests = [{"text": ["a" * number]} for number in range(8)]
    answers, calls = together(requests, lengths, Limits(batch_wait_ms=50))
    assert answers == [{"length": [number]} for number in range(8)]
    assert calls == [8]


def test_no_call_has_more_rows_than_a_batch():
    requests = [{"text": ["a" * n for n in range(count)]} for count in (1, 7, 2, 5, 4)]
    answers, calls = together(requests, lengths, Limits(batch_rows=4, batch_wait_ms=5))
    assert answers == [{"length": list(range(count))} for count in (1, 7, 2, 5, 4)]
    assert max(calls) <= 4
    assert sum(calls) == 19


def test_a_refused_text_is_not_the_others_error():
    requests = [{"text": ["a"]}, {"text": ["bad"]}, {"text": ["aa", "bad"]}, {"text": ["aaa"]}]
    answers, _ = together(requests, lengths, Limits(batch_wait_ms=5))
    assert [answers[0], answers[3]] == [{"length": [1]}, {"length": [3]}]
    assert [type(one) for one in answers[1:3]] == [RefusedError] * 2


def test_sentences_are_padded_and_cut_again():
    def words(columns: dict) -> dict:
        (width,) = {len(row) for row in columns["tokens"]}
        assert width == 3
        return {"tags": columns["tokens"], "scores": [[0.5] * width for _ in columns["tokens"]]}

    requests = [{"tokens": [["a"], [""]]}, {"tokens": [["b", "c", "d"]]}, {"tokens": [[]]}]
    answers, calls = together(requests, words, Limits(batch_wait_ms=5))
    assert [one["tags"] for one in answers] == [[["a"], [""]], [["b", "c", "d"]], [[]]]
    assert [one["scores"] for one in answers] == [[[0.5], [0.5]], [[0.5] * 3], [[]]]
    assert calls == [4]


def test_s2_long_sentences_are_not_one_call():
    """Of a call, rows times the longest row's characters are bounded, padding included."""
    called = []

    def words(columns: dict) -> dict:
        rows = columns["tokens"]
        called.append((len(rows), len(rows[0]), sum(map(len, rows[0]))))
        return {"tags": [[f"{word}!" for word in row] for row in rows]}

    # With a space after each word: 40, which is too many, 6 and 4 characters.
    long, short, shorter = ["abc"] * 10, ["ab", "cd"], ["a", "b"]
    requests = [[short] * 3, [long], [shorter] * 6, [long] * 3, [short, shorter], [shorter] * 4]
    limits = Limits(batch_rows=8, batch_wait_ms=5, batch_characters=39)
    answers, _ = together([{"tokens": rows} for rows in requests], words, limits)
    assert [answer["tags"] for answer in answers] == [
        [[f"{word}!" for word in row] for row in rows] for rows in requests
    ]
    assert called == [(3, 2, 4), (1, 10, 30), (6, 2, 2), *[(1, 10, 30)] * 3, (6, 2, 4)]


def test_a_call_has_one_choice_of_settings():
    calls = []

    def write(columns: dict) -> dict:
        calls.append(columns)
        return {"reply": columns["history"]}

    async def ask() -> list:
        with ThreadPoolExecutor(1) as executor:
            batcher = Batcher(write, executor, Limits(batch_wait_ms=20))
            return await asyncio.gather(
                batcher.answer({"history": [["a"]]}, {"seed": 1}),
                batcher.answer({"history": [["b", "c"]]}, {"seed": 1}),
                batcher.answer({"history": [["d"]]}, {"seed": 2}),
            )

    asyncio.run(ask())
    assert calls == [
        {"history": [["a", ""], ["b", "c"]], "seed": 1},
        {"history": [["d"]], "seed": 2},
    ]


def test_s2_long_texts_are_not_one_call():
    requests = [{"text": ["a" * 100, "b"]}, {"text": ["c" * 40]}, {"text": ["d" * 12] * 3}]
    limits = Limits(batch_rows=8, batch_wait_ms=5, batch_characters=30)
    answers, calls = together(requests, lengths, limits)
    assert [one["length"] for one in answers] == [[100, 1], [40], [12] * 3]
    # A quarter of their characters: 25 and 0, 10, 3.
    assert calls == [1, 2, 3]


@pytest.mark.parametrize(
    ("limits", "first", "other", "count"),
    [
        ({"batch_rows": 2, "queue_rows": 3}, ["a"] * 2, ["a"], 3),
        # More than the queue holds, where nothing waits: one request is always taken.
        ({"batch_rows": 1, "queue_characters": 10}, ["a" * 20], ["a" * 5], 2),
    ],
)
def test_s2_beyond_the_queue_there_is_429_and_then_answers_again(limits, first, other, count):
    go_on = threading.Event()

    def slow(columns: dict) -> dict:
        assert go_on.wait(10)
        return lengths(columns)

    async def ask() -> None:
        with ThreadPoolExecutor(1) as executor:
            batcher = Batcher(slow, executor, Limits(batch_wait_ms=0, **limits))
            asked = [asyncio.create_task(batcher.answer({"text": first}))]
            await asyncio.sleep(0.05)  # the first is being computed
            asked += [asyncio.create_task(batcher.answer({"text": other})) for _ in range(count)]
            await asyncio.sleep(0)
            with pytest.raises(RefusedError) as refused:
                await batcher.answer({"text": ["a"]})
            assert (refused.value.status, refused.value.retry_after) == (429, 1)
            go_on.set()
            assert len(await asyncio.gather(*asked)) == 1 + count
            assert await batcher.answer({"text": ["aa"]}) == {"length": [2]}

    asyncio.run(ask())


def test_s2_what_waited_too_long_gets_504_and_is_not_computed():
    go_on, seen = threading.Event(), []

    def slow(columns: dict) -> dict:
        seen.extend(columns["text"])
        assert go_on.wait(10)
        return lengths(columns)

    async def ask() -> None:
        with ThreadPoolExecutor(1) as executor:
            batcher = Batcher(slow, executor, Limits(batch_rows=1, batch_wait_ms=0, seconds=0.2))
            found = await asyncio.gather(
                *(batcher.answer({"text": [text]}) for text in "ab"), return_exceptions=True
            )
            assert [one.status for one in found] == [504, 504]
            assert batcher.waiting_rows == 0
            go_on.set()
            assert await batcher.answer({"text": ["c"]}) == {"length": [1]}
            assert batcher.waiting_rows == 0

    asyncio.run(ask())
    assert seen == ["a", "c"]


def test_an_error_of_the_model_is_that_of_the_request_alone():
    def broken(columns: dict) -> dict:
        if "b" in columns["text"]:
            raise ValueError("not finite")
        return lengths(columns)

    requests = [{"text": [text]} for text in "abc"]
    answers, calls = together(requests, broken, Limits(batch_wait_ms=5))
    assert [str(one) for one in answers] == ["{'length': [1]}", "not finite", "{'length': [1]}"]
    assert calls == [3, 1, 2, 1, 1]


def test_s2_one_bad_request_leaves_the_others_a_batch():
    requests = [{"text": ["a" * number]} for number in range(31)]
    requests.insert(20, {"text": ["bad"]})
    answers, calls = together(requests, lengths, Limits(batch_wait_ms=50))
    assert [str(one) for one in answers if isinstance(one, RefusedError)] == ["bad is refused"]
    assert [one["length"] for one in answers if isinstance(one, dict)] == [[n] for n in range(31)]
    # The halves of 32, 16, 8, 4 and 2 requests.
    assert len(calls) == 1 + 2 * 5
