"""What the bodies of requests become, and how those are refused that do not fit (S1)."""

import base64
import json

import pytest

pytest.importorskip("starlette", reason="the extra [serve] is not installed")

from tf_adapt.serving.server.limits import Limits, RefusedError  # noqa: E402
from tf_adapt.serving.server.request_json import example_request, predict_request  # noqa: E402

TEXT = {"serving_default": {"text": 1}}
PAIR = {"serving_default": {"text_a": 1, "text_b": 1}}
WRITES = {"serving_default": {"text": 1, "max_new_tokens": 0, "temperature": 0}}
WORDS = {"serving_default": {"tokens": 2}}
QUESTION = {"serving_default": {"question": 1, "context": 1}}
LIMITS = Limits(request_rows=3, characters=10)


def read(signatures, content, reader=predict_request):
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    return reader(body, signatures, LIMITS)


def encoded(text: str) -> dict:
    return {"b64": base64.b64encode(text.encode()).decode()}


def test_formats():
    for signatures, content, columns in [
        (TEXT, {"instances": ["a", "b"]}, {"text": ["a", "b"]}),
        (TEXT, {"instances": [{"text": "a"}, "b"]}, {"text": ["a", "b"]}),
        (TEXT, {"instances": [encoded("é"), {"text": encoded("b")}]}, {"text": ["é", "b"]}),
        (TEXT, {"inputs": ["a"]}, {"text": ["a"]}),
        (TEXT, {"inputs": {"text": ["a", "b"]}, "signature_name": ""}, {"text": ["a", "b"]}),
        (PAIR, {"instances": [{"text_b": "b", "text_a": "a"}]}, {"text_a": ["a"], "text_b": ["b"]}),
        (PAIR, {"inputs": {"text_a": ["a"], "text_b": ["b"]}}, {"text_a": ["a"], "text_b": ["b"]}),
        (WORDS, {"instances": [["a", "b"], ["c", ""]]}, {"tokens": [["a", "b"], ["c", ""]]}),
        (WORDS, {"instances": [{"tokens": ["a"]}]}, {"tokens": [["a"]]}),
        (WORDS, {"inputs": [["a"], ["b"]]}, {"tokens": [["a"], ["b"]]}),
        (
            QUESTION,
            {"instances": [{"context": "c", "question": "q"}, {"context": "", "question": "r"}]},
            {"question": ["q", "r"], "context": ["c", ""]},
        ),
        (
            QUESTION,
            {"inputs": {"context": ["c"], "question": ["q"]}},
            {"question": ["q"], "context": ["c"]},
        ),
    ]:
        request = read(signatures, content)
        assert request.columns == columns
        assert request.by_row == ("instances" in content)


def test_settings_are_those_of_the_whole_request():
    inputs = {"text": ["a", "b"], "max_new_tokens": 5, "temperature": 1}
    request = read(WRITES, {"inputs": inputs})
    assert request.columns == {"text": ["a", "b"]}
    assert request.settings == {"max_new_tokens": 5, "temperature": 1.0}
    assert type(request.settings["temperature"]) is float


def test_examples_share_their_context():
    content = {"context": {"text_b": "b"}, "examples": [{"text_a": "a"}, {"text_a": "c"}]}
    request = read(PAIR, content, example_request)
    assert request.columns == {"text_a": ["a", "c"], "text_b": ["b", "b"]}


REFUSED = {
    "nothing": (TEXT, b"", "expected JSON"),
    "no JSON": (TEXT, b'{"instances": ["a"]', "expected JSON"),
    "not UTF-8": (TEXT, b'{"instances": ["\xff"]}', "expected JSON in UTF-8"),
    "half a surrogate pair": (TEXT, b'{"instances": ["\\ud800"]}', "expected JSON in UTF-8"),
    "a key twice": (TEXT, b'{"instances": ["a"], "instances": ["b"]}', "written twice"),
    "no number": (TEXT, b'{"instances": [NaN]}', "the number NaN"),
    "10,000 lists": (TEXT, b'{"instances":' + b"[" * 10_000 + b"]" * 10_000 + b"}", "50 nested"),
    "60 lists": (TEXT, b'{"instances":' + b"[" * 60 + b"]" * 60 + b"}", "50 nested levels"),
    "a list": (TEXT, ["a"], "expected a JSON object, got a list"),
    "another key": (TEXT, {"instance": ["a"]}, "got 'instance'"),
    "no key": (TEXT, {}, "got both or neither"),
    "both keys": (TEXT, {"instances": ["a"], "inputs": ["a"]}, "got both or neither"),
    "another signature": (TEXT, {"signature_name": "x", "instances": ["a"]}, "got 'x'"),
    "a number as signature": (TEXT, {"signature_name": 1, "instances": ["a"]}, "got a number"),
    "scalar": (TEXT, {"instances": "a"}, "instances: expected a list of at least one, got a text"),
    "empty": (TEXT, {"instances": []}, "got an empty list"),
    "empty column": (TEXT, {"inputs": {"text": []}}, "inputs.text: expected a list"),
    "scalar column": (TEXT, {"inputs": "a"}, "inputs: expected a list, got a text"),
    "rank 2": (TEXT, {"instances": [["a"]]}, "text[0]: expected a text, got a list"),
    "a number": (TEXT, {"instances": ["a", 1]}, "text[1]: expected a text, got a number"),
    "null": (TEXT, {"instances": [None]}, "text[0]: expected a text, got null"),
    "true": (TEXT, {"instances": [True]}, "got true or false"),
    "wrong name": (TEXT, {"instances": [{"texts": "a"}]}, "expected the keys text, got 'texts'"),
    "NUL": (TEXT, {"instances": ["a\0"]}, "expected text without NUL"),
    "no base64": (TEXT, {"instances": [{"b64": "?"}]}, "expected UTF-8 in base64"),
    "bytes in base64": (TEXT, {"instances": [{"b64": "/w=="}]}, "expected UTF-8 in base64"),
    "too long": (TEXT, {"instances": ["a" * 11]}, "at most 10 characters, got 11"),
    "too many": (TEXT, {"instances": ["a"] * 4}, "at most 3 rows in a request, got 4"),
    "settings of rows": (WRITES, {"instances": ["a"]}, "expected 'inputs', for max_new_tokens"),
    "no setting": (WRITES, {"inputs": {"text": ["a"]}}, "the keys text, max_new_tokens, temp"),
    **{
        f"{name} as {value!r}": (
            WRITES,
            {"inputs": {"text": ["a"], "max_new_tokens": 1, "temperature": 0} | {name: value}},
            f"inputs.{name}: expected {message}",
        )
        for name, value, message in (
            ("max_new_tokens", 2.5, "a whole number, got a number"),
            ("max_new_tokens", True, "a whole number, got true or false"),
            ("max_new_tokens", 2**40, "at most 2147483647"),
            ("temperature", "1", "a number, got a text"),
            ("temperature", [1], "a number, got a list"),
        )
    },
    "half a pair": (PAIR, {"instances": [{"text_a": "a"}]}, "expected the keys text_a, text_b"),
    "no pair": (PAIR, {"instances": ["a"]}, "expected an object with the keys text_a, text_b"),
    "pairs as a list": (PAIR, {"inputs": ["a"]}, "inputs: expected an object with the keys"),
    "a question alone": (
        QUESTION,
        {"instances": [{"question": "q"}]},
        "the keys question, context",
    ),
    "a context shared": (
        QUESTION,
        {"inputs": {"question": ["q", "r"], "context": ["c"]}},
        "2 of question, 1 of context",
    ),
    "unequal": (PAIR, {"inputs": {"text_a": ["a"], "text_b": ["b", "c"]}}, "1 of text_a, 2 of"),
    "no signature": (WORDS, {"signature_name": None, "instances": [["a"]]}, "signature_name: exp"),
    "zero as signature": (
        WORDS,
        {"signature_name": 0, "instances": [["a"]]},
        "signature_name: expected one of",
    ),
    "no words": (WORDS, {"instances": ["a"]}, "tokens[0]: expected a list of texts, got a text"),
    "rank 3": (WORDS, {"instances": [[["a"]]]}, "tokens[0][0]: expected a text, got a list"),
    "an empty word": (
        WORDS,
        {"instances": [["a", "", "b", ""]]},
        'tokens[0][1]: expected a text, got ""',
    ),
    "ragged": (WORDS, {"instances": [["a", "b"], ["c"]]}, "expected 2 texts as in the first row"),
    "a long sentence": (WORDS, {"instances": [["a"] * 6]}, "at most 10 characters, got 12"),
}


def test_s1_a_request_that_does_not_fit():
    for case in REFUSED:
        signatures, content, message = REFUSED[case]
        with pytest.raises(RefusedError) as refused:
            read(signatures, content)
        assert refused.value.status == 400
        assert message in str(refused.value)
        assert len(str(refused.value)) < 300


def test_s1_examples_that_do_not_fit():
    for content, message in [
        ({"examples": ["a"]}, "examples[0]: expected an object, got a text"),
        ({"examples": []}, "examples: expected a list of at least one"),
        ({"examples": [{"text": "a"}], "context": []}, "context: expected an object, got a list"),
        ({"instances": [{"text": "a"}]}, "expected the keys context, examples, signature_name"),
    ]:
        with pytest.raises(RefusedError, match="expected") as refused:
            read(TEXT, content, example_request)
        assert message in str(refused.value)
