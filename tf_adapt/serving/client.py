"""A client of `tf-adapt serve` and of TensorFlow Serving's REST API; the standard library alone."""

import http.client
import json
import urllib.error
import urllib.request
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote, urlsplit

from tf_adapt.errors import ArtifactError, ConfigError, DataError

_DEFAULT = "serving_default"
_LARGEST_ANSWER = 256 * 2**20


class Client:
    """Predictions of a served model.

    Example:
        ```
        client = ta.Client("http://127.0.0.1:8501")
        client.predict(["A warm, funny film."])  # [{"label": "good", "scores": [0.1, 0.9]}]
        ```
    """

    def __init__(
        self, url: str, token: str | None = None, timeout: float = 60, batch_size: int = 32
    ):
        """
        Args:
            url: of the server, without a path: `http://127.0.0.1:8501`.
            token: the server's, if it has one.
            timeout: seconds for each request.
            batch_size: texts in one request.

        Raises:
            ConfigError: `url` is no address of a server, or `batch_size` is below 1.
        """
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ConfigError(f"url: expected one like http://127.0.0.1:8501, got {url!r}")
        if batch_size < 1:
            raise ConfigError(f"batch_size: expected at least 1, got {batch_size}")
        self._url = url.rstrip("/")
        self._headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        self._timeout = timeout
        self._batch_size = batch_size
        # An answer that points elsewhere is an error: the token is for this server.
        self._opener = urllib.request.build_opener(_NoRedirects)

    def models(self) -> list[str]:
        """The names of the models; TensorFlow Serving does not tell them.

        Raises:
            ArtifactError: as `predict`.
            ConfigError: as `predict`.
        """
        return [one["name"] for one in self._answer("/v1/models")["models"]]

    def predict(
        self, texts: Sequence[Any], model: str | None = None, signature: str | None = None
    ) -> list[dict[str, Any] | float]:
        """The outputs for each text, in the order of the texts.

        Args:
            texts: texts; pairs of texts; for tagging lists of words; for span extraction pairs of
                a question and its context.
            model: its name; not needed where the server has one model.
            signature: the task, of an export of several.

        Returns:
            For each text `{"label": …, "scores": […]}`; multilabel: `{"labels": […], "scores":
            […]}` with "" for a label that is not chosen; tagging: `{"tags": […], "scores": [[…]]}`
            with one entry a word; regression: a number; span extraction: `{"answer": …, "score": …,
            "start": …, "end": …}`, the offsets in characters.

        Raises:
            ArtifactError: the server cannot be reached, is too busy, or fails.
            ConfigError: there is no such model or signature, or the token is another one.
            DataError: the texts have another form, or the server refuses one.
        """
        if isinstance(texts, str):
            raise DataError("texts: expected a list of texts, got one text; put it into a list")
        place = f"/v1/models/{quote(self._only(model), safe='')}"
        inputs = self._inputs(place, signature or _DEFAULT)
        rows = [_row(text, inputs, f"texts[{number}]") for number, text in enumerate(texts)]
        found: list = []
        for start in range(0, len(rows), self._batch_size):
            batch = _padded(rows[start : start + self._batch_size])
            request = {"signature_name": signature or _DEFAULT, "instances": batch}
            found += self._answer(f"{place}:predict", request)["predictions"]
        if len(found) != len(rows):
            raise ArtifactError(
                f"{self._url}: expected {len(rows)} predictions, got {len(found)}; is it a server "
                "of tf_adapt's exports?"
            )
        return [_cut(one, row) for one, row in zip(found, rows, strict=True)]

    def _only(self, model: str | None) -> str:
        if model is not None:
            return model
        names = self.models()
        if len(names) != 1:
            raise ConfigError(f"model: expected one of {', '.join(names)}, got None; name one")
        return names[0]

    def _inputs(self, place: str, signature: str) -> set[str]:
        answer = self._answer(f"{place}/metadata")
        signatures = answer["metadata"]["signature_def"]["signature_def"]
        if signature not in signatures:
            raise ConfigError(
                f"signature: expected one of {', '.join(signatures)}, got {signature!r}"
            )
        return set(signatures[signature]["inputs"])

    def _answer(self, path: str, content: dict | None = None) -> dict[str, Any]:
        data = None if content is None else json.dumps(content).encode("utf-8")
        headers = self._headers | {"Content-Type": "application/json"}
        request = urllib.request.Request(self._url + path, data, headers)
        try:
            with self._opener.open(request, timeout=self._timeout) as response:
                body = response.read(_LARGEST_ANSWER + 1)
            if len(body) > _LARGEST_ANSWER:
                raise ValueError("an answer beyond 256 MB")
            found = json.loads(body)
            if not isinstance(found, dict):
                raise ValueError("another JSON value than an object")
        except urllib.error.HTTPError as error:
            raise self._refusal(error) from None
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", None) or error
            raise ArtifactError(
                f"{self._url}: the server cannot be reached ({reason or type(error).__name__}); is "
                "`tf-adapt serve` running there?"
            ) from None
        except ValueError as error:
            raise ArtifactError(
                f"{self._url}{path}: expected JSON of a model server, got {error}; is it another "
                "program's address?"
            ) from None
        return found

    def _refusal(self, error: urllib.error.HTTPError) -> Exception:
        with error:
            body = error.read(10_000)
        try:
            message = str(json.loads(body)["error"])
        except (ValueError, KeyError, TypeError):
            message = error.reason
        where = f"{self._url}: {error.code}: {message}"
        if error.code == 429:
            seconds = error.headers.get("Retry-After", "1")
            return ArtifactError(f"{where} (after {seconds} s)")
        if error.code in (401, 403, 404):
            return ConfigError(where)
        return DataError(where) if 400 <= error.code < 500 else ArtifactError(where)


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *arguments: Any) -> None:
        return None


def _row(text: Any, inputs: set[str], where: str) -> dict[str, Any]:
    if inputs == {"text"}:
        if isinstance(text, str):
            return {"text": text}
        raise DataError(f"{where}: expected a text, got {type(text).__name__}")
    is_list = isinstance(text, list | tuple) and all(isinstance(one, str) for one in text)
    if inputs == {"text_a", "text_b"}:
        if is_list and len(text) == 2:
            return {"text_a": text[0], "text_b": text[1]}
        raise DataError(f"{where}: expected a pair of texts, got something else")
    if inputs == {"question", "context"}:
        if is_list and len(text) == 2:
            return {"question": text[0], "context": text[1]}
        raise DataError(f"{where}: expected (question, context), got something else")
    if inputs == {"tokens"}:
        if is_list and text and all(text):
            return {"tokens": list(text)}
        raise DataError(f"{where}: expected a list of words, none of them empty, got another value")
    got = ", ".join(sorted(inputs))
    raise ConfigError(f"model: expected an export of tf_adapt, got one with the inputs {got}")


def _padded(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Sentences of one length: `""` is no word."""
    if "tokens" not in rows[0]:
        return rows
    width = max(len(row["tokens"]) for row in rows)
    return [{"tokens": row["tokens"] + [""] * (width - len(row["tokens"]))} for row in rows]


def _cut(prediction: Any, row: dict[str, Any]) -> Any:
    if "tokens" not in row:
        return prediction
    return {name: values[: len(row["tokens"])] for name, values in prediction.items()}
