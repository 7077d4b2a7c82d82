"""The API over real exports: TensorFlow Serving's formats, and the answers of the SavedModel."""

import functools
import gzip
import json
import re
import shutil

import jsonschema
import numpy as np
import pytest
import tensorflow as tf

pytest.importorskip("starlette", reason="the extra [serve] is not installed")

from servers import running, server_of  # noqa: E402

from hub_modules.programs.saved_model import restore  # noqa: E402
from tf_adapt.report.markdown import escaped  # noqa: E402
from tf_adapt.serving.server.limits import Limits  # noqa: E402

pytestmark = pytest.mark.slow

TEXTS = ["A warm , funny film .", "dull", "caf\u00e9 \U0001f600 & <b>"]
PAIRS = [("a b", "c"), ("dull", "d\u00fcll . .")]
# The last one's context is read in two windows.
QUESTIONS = [
    ("who met rain ?", "Ann Lee met rain ."),
    ("what ?", "caf\u00e9 \U0001f600 b"),
    ("what ?", ""),
    ("where ?", "a b " * 150),
]
SENTENCES = [["Ann", "Lee", "met", "rain"], ["rain", "", "", ""]]


@pytest.fixture(scope="module")
def served(exports):
    with running(server_of(exports)) as found:
        yield found
    loaded_once.cache_clear()


loaded_once = functools.cache(restore)


def saved_model(exports, model: str, signature: str | None = None, **inputs) -> dict:
    """What the SavedModel itself says."""
    (folder,) = exports[model].iterdir()
    found = loaded_once(folder).signatures[signature or "serving_default"](
        **{key: tf.constant(one) for key, one in inputs.items()}
    )
    return {name: value.numpy() for name, value in found.items()}


def text_of(array) -> list:
    return np.vectorize(bytes.decode, otypes=[object])(array).tolist()


def test_rows_and_columns_of_texts(served, exports):
    expected = saved_model(exports, "films", text=TEXTS)
    rows = served.predict("films", instances=TEXTS).json["predictions"]
    assert [row["label"] for row in rows] == text_of(expected["label"])
    np.testing.assert_allclose([row["scores"] for row in rows], expected["scores"], atol=1e-6)
    named = served.predict("films", instances=[{"text": text} for text in TEXTS]).json
    np.testing.assert_allclose([row["scores"] for row in named["predictions"]], expected["scores"])
    columns = served.predict("films", inputs={"text": TEXTS}).json["outputs"]
    assert columns["label"] == text_of(expected["label"])
    np.testing.assert_allclose(columns["scores"], expected["scores"], atol=1e-6)


def test_a_single_output_has_no_name(served, exports):
    first, second = zip(*PAIRS, strict=True)
    expected = saved_model(exports, "all", "alike", text_a=first, text_b=second)["score"]
    rows = [{"text_a": one, "text_b": other} for one, other in PAIRS]
    columns = {"text_a": first, "text_b": second}
    found = served.predict("all", instances=rows, signature_name="alike").json
    np.testing.assert_allclose(found["predictions"], expected, atol=1e-6)
    found = served.predict("all", inputs=columns, signature_name="alike").json
    np.testing.assert_allclose(found["outputs"], expected, atol=1e-6)


def test_tags_of_a_signature_and_a_version_by_name(served, exports):
    expected = saved_model(exports, "all", "names", tokens=SENTENCES)
    content = {"inputs": SENTENCES, "signature_name": "names"}
    for place in ("all", "all/versions/3"):
        found = served.ask("POST", f"/v1/models/{place}:predict", content).json["outputs"]
        assert found["tags"] == text_of(expected["tags"])
        np.testing.assert_allclose(found["scores"], expected["scores"], atol=1e-6)
    refused = served.predict("all", instances=TEXTS)
    assert refused.status == 400
    expected = "signature_name: expected one of films, alike, names, found, got 'serving_default'"
    assert refused.error == expected


def test_answers_in_contexts(served, exports):
    questions, contexts = zip(*QUESTIONS, strict=True)
    expected = saved_model(exports, "all", "found", question=questions, context=contexts)
    expected["answer"] = text_of(expected["answer"])
    rows = [{"question": one, "context": other} for one, other in QUESTIONS]
    named = {"signature_name": "found"}
    found = served.predict("all", instances=rows, **named).json["predictions"]
    columns = {"question": questions, "context": contexts}
    columns = served.predict("all", inputs=columns, **named).json["outputs"]
    for name, values in expected.items():
        for got in ([row[name] for row in found], columns[name]):
            if name == "score":
                np.testing.assert_allclose(got, values, atol=1e-6)
            else:
                assert got == list(values)
    for row, context in zip(found, contexts, strict=True):
        assert row["answer"] == (context[row["start"] : row["end"]] if row["start"] >= 0 else "")
    refused = served.ask("POST", "/v1/models/all:classify", {"examples": rows} | named)
    assert (refused.status, refused.error.split(":")[1]) == (400, "classify")


def test_several_labels(served, exports):
    expected = saved_model(exports, "topics", text=TEXTS)
    found = served.predict("topics", instances=TEXTS).json["predictions"]
    assert [row["labels"] for row in found] == text_of(expected["labels"])


def test_classify_and_regress(served, exports):
    scores = saved_model(exports, "films", text=TEXTS)["scores"]
    examples = {"examples": [{"text": text} for text in TEXTS]}
    found = served.ask("POST", "/v1/models/films:classify", examples).json["results"]
    assert [[label for label, _ in row] for row in found] == [["bad", "<i>good</i>"]] * 3
    np.testing.assert_allclose([[score for _, score in row] for row in found], scores, atol=1e-6)
    expected = saved_model(exports, "all", "alike", text_a=["a"], text_b=["b"])["score"]
    pairs = {"context": {"text_b": "b"}, "examples": [{"text_a": "a"}], "signature_name": "alike"}
    found = served.ask("POST", "/v1/models/all:regress", pairs).json["results"]
    np.testing.assert_allclose(found, expected, atol=1e-6)
    for method, model, content in (("classify", "all", pairs), ("regress", "films", examples)):
        refused = served.ask("POST", f"/v1/models/{model}:{method}", content)
        assert refused.status == 400
        assert refused.error.startswith(f":{method}: expected one of")


def test_states_and_models(served, exports):
    models = served.get("/v1/models").json["models"]
    assert {one["name"]: one["versions"] for one in models} == {
        **dict.fromkeys(exports.keys() - {"all"}, ["1"]),
        "all": ["3"],
    }
    ok = {"error_code": "OK", "error_message": ""}
    expected = {"model_version_status": [{"version": "3", "state": "AVAILABLE", "status": ok}]}
    assert served.get("/v1/models/all").json == expected
    assert served.get("/v1/models/all/versions/3").json == expected
    assert served.get("/healthz").status == served.get("/readyz").status == 200


def test_metadata_are_those_of_the_saved_model(served):
    found = served.get("/v1/models/all/metadata").json
    assert found["model_spec"] == {"name": "all", "signature_name": "", "version": "3"}
    signatures = found["metadata"]["signature_def"]["signature_def"]
    assert set(signatures) == {"films", "alike", "names", "found"}
    tokens = signatures["names"]["inputs"]["tokens"]
    assert tokens["dtype"] == "DT_STRING"
    assert [one["size"] for one in tokens["tensor_shape"]["dim"]] == ["-1", "-1"]
    assert signatures["films"]["outputs"]["scores"]["dtype"] == "DT_FLOAT"
    assert signatures["films"]["method_name"] == "tensorflow/serving/predict"


def test_what_there_is_not(served):
    for method, path, status in (
        ("GET", "/v1/models/nothing", 404),
        ("GET", "/v1/models/films/versions/2", 404),
        ("GET", "/v1/models/films/versions/999999999999999999", 404),
        ("GET", "/v1/models/films/versions/99999999999999999999", 400),
        ("GET", "/v1/models/films/versions/2/metadata", 404),
        ("GET", "/v1/models/films/versions/one", 400),
        ("GET", "/v1/models/films/labels/stable", 400),
        ("GET", "/v1/models/films:predict", 400),
        ("POST", "/v1/models/films", 400),
        ("POST", "/v1/models/nothing:predict", 404),
        ("POST", "/v1/models/films/versions/2:predict", 404),
        ("POST", "/v1/models/films:explain", 400),
        ("GET", "/v2/models/films", 404),
        ("DELETE", "/v1/models/films", 405),
        ("POST", "/v1/models", 405),
        ("GET", "/page/other.js", 404),
    ):
        answer = served.ask(method, path, {"instances": ["a"]} if method == "POST" else None)
        assert (answer.status, bool(answer.error)) == (status, True), (method, path)


def test_what_the_model_refuses_is_the_callers_error(served):
    refused = served.predict("films", instances=["fine", "a " * 2000])
    assert refused.status == 400
    expected = r"an input is longer than the \d+ tokens that the model takes; shorten it, or export"
    assert re.fullmatch(f"{expected} with truncation", refused.error)
    assert served.predict("films", instances=["fine"]).status == 200


def test_gzip_both_ways(served):
    content = gzip.compress(json.dumps({"instances": ["a"] * 200}).encode())
    answer = served.ask(
        *("POST", "/v1/models/films:predict", content),
        Content_Encoding="gzip",
        Accept_Encoding="gzip",
    )
    assert answer.headers["content-encoding"] == "gzip"
    assert len(json.loads(gzip.decompress(answer.body))["predictions"]) == 200


def test_metrics(served):
    served.predict("topics", instances=["a"])
    text = served.get("/metrics").body.decode()
    count = 'tf_adapt_requests_total{method="predict",model="topics",status="200"} '
    before = float(text.split(count)[1].split("\n")[0])
    served.predict("topics", instances=["a"] * 5)
    text = served.get("/metrics").body.decode()
    assert float(text.split(count)[1].split("\n")[0]) == before + 1
    assert 'tf_adapt_batch_rows_sum{model="topics",signature="serving_default"}' in text
    assert 'tf_adapt_model_version{model="all"} 3.0' in text


def test_openapi_describes_what_is_answered(served):
    found = served.get("/openapi.json").json
    for schema in found["components"]["schemas"].values():
        jsonschema.Draft202012Validator.check_schema(schema)
    for path, described in found["paths"].items():
        real = path.replace("{model}", "films").replace("{version}", "1")
        for method in described.keys() - {"parameters"}:
            answer = served.ask(method.upper(), real, {} if method == "post" else None)
            assert answer.status == (400 if method == "post" else 200), path
    predict = jsonschema.Draft202012Validator(found["components"]["schemas"]["Predict"])
    for good in ({"instances": TEXTS}, {"inputs": {"text": TEXTS}}, {"inputs": SENTENCES}):
        assert predict.is_valid(good)
    for bad in ({}, {"instances": []}, {"instances": TEXTS, "inputs": TEXTS}, {"x": 1}):
        assert not predict.is_valid(bad)


def test_openapi_has_the_statuses_that_are_answered(served):
    paths = served.get("/openapi.json").json["paths"]
    predict, status = "/v1/models/{model}:predict", "/v1/models/{model}/versions/{version}"
    for path, method, body, headers, expected in (
        (predict, "POST", {}, {}, 400),
        (predict, "POST", {"instances": ["a"]}, {"Host": "example.org"}, 403),
        (predict, "POST", {"instances": ["a"]}, {"Origin": "http://example.org"}, 403),
        (predict, "PUT", {}, {}, 405),
        (predict, "POST", b" " * (2**20 + 1), {}, 413),
        (predict, "POST", b"", {"Content_Encoding": "br"}, 415),
        (status, "GET", None, {"Host": "example.org"}, 403),
        (status, "GET", None, {}, 404),
        (status, "PUT", {}, {}, 405),
        ("/metrics", "GET", None, {"Host": "example.org"}, 403),
        ("/healthz", "PUT", {}, {}, 405),
    ):
        real = path.replace("{model}", "films").replace("{version}", "2")
        assert served.ask(method, real, body, **headers).status == expected, (path, expected)
        (described,) = (one for key, one in paths[path].items() if key != "parameters")
        assert str(expected) in described["responses"]
    said = paths[predict]["post"]["responses"]
    assert [int(one) for one in said] == [
        *(200, 400, 401, 403, 404, 405, 408, 413, 415, 429, 499, 500, 504)
    ]
    assert list(paths["/readyz"]["get"]["responses"]) == ["200", "405", "500", "503"]
    assert list(paths["/healthz"]["get"]["responses"]) == ["200", "405", "500"]


def test_the_page_and_what_it_shows(served):
    page = served.get("/")
    assert page.headers["content-type"].startswith("text/html")
    assert "default-src 'none'" in page.headers["content-security-policy"]
    for name in re.findall(r'(?:src|href)="(page/[^"]+)"', page.body.decode()):
        assert served.get(f"/{name}").status == 200
    models = served.get("/page/models.json").json["models"]
    shown = {f"{one['model']} {one['signature']}": one for one in models}
    films, topics = (shown[f"{name} serving_default"] for name in ("films", "topics"))
    assert films["labels"] == ["bad", "<i>good</i>"]
    assert shown["all alike"]["range"] == [0, 5]
    assert "How to call it" in topics["card"]
    for one in shown.values():
        assert set(one["sample"]) == set(one["inputs"])
    # By the name of the dataset, else by the inputs.
    assert films["sample"] == {"text": "Warm, funny and far too short."}
    assert topics["sample"]["text"].startswith("The rooms were clean")
    assert films["range"] == shown["all found"]["labels"] == []


def test_the_winner_of_a_comparison_comes_with_its_report(exports, tmp_path):
    folder = tmp_path / "winner" / "cell"
    folder.mkdir(parents=True)
    (folder / "1").symlink_to(exports["films"] / "1")
    sentence = "Use a_b with [x] and `y`: 7 * 8 < 9 \\ & 10 $, | ~ & so on &lt;"
    report = f"sst2 \u2014 decided\n\n# {escaped(sentence)}\n\n## More\n"
    (tmp_path / "report.md").write_text(report, "utf-8")
    real = tmp_path / "winner" / "copy"
    real.mkdir()
    shutil.copytree(exports["films"] / "1", real / "1")
    with running(server_of({"copy": real, "link": folder})) as served:
        shown = {one["model"]: one for one in served.get("/page/models.json").json["models"]}
    assert (shown["copy"]["report"], shown["copy"]["verdict"]) == (report, sentence)
    assert (shown["link"]["report"], shown["link"]["verdict"]) == ("", "")


def test_rows_beyond_a_batch_are_answered_in_order(exports):
    texts = [f"{'a ' * (number % 5)}b" for number in range(20)]
    expected = saved_model(exports, "films", text=texts)["scores"]
    server = server_of({"films": exports["films"]}, Limits(batch_rows=3))
    with running(server) as served:
        rows = served.predict("films", instances=texts).json["predictions"]
    np.testing.assert_allclose([row["scores"] for row in rows], expected, atol=1e-6)
