"""A client of `tf-adapt serve` and of TensorFlow Serving's REST API; the standard library alone."""

import http.client
import json
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote, urlsplit

from tf_adapt.errors import ArtifactError, ConfigError, DataError
from tf_adapt.serving.client.client_rows import batches, cut, fits, json_bytes, row_of
from tf_adapt.serving.kinds import GENERATE, SETTINGS
from tf_adapt.serving.token import is_token

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
            token: the server's, if it has one; without the white space around it.
            timeout: seconds for each request.
            batch_size: texts in one request, which has fewer of long ones.

        Raises:
            ConfigError: `url` is no address of a server, `token` no token, or `batch_size` below 1.
        """
        if not _is_address(url):
            raise ConfigError(f"url: expected one like http://127.0.0.1:8501, got {url!r}")
        if batch_size < 1:
            raise ConfigError(f"batch_size: expected at least 1, got {batch_size}")
        self._url = url.rstrip("/")
        self._headers = {} if token is None else {"Authorization": f"Bearer {_checked(token)}"}
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
        path = "/v1/models"
        models = self._part(path, self._answer(path), list, "models")
        return [self._part(path, entry, str, "name") for entry in models]

    def predict(
        self,
        texts: Sequence[Any],
        model: str | None = None,
        signature: str | None = None,
        settings: Mapping[str, float] | None = None,
    ) -> list[dict[str, Any] | float | str]:
        """The outputs for each text, in the order of the texts.

        Args:
            texts: texts; pairs of texts; for tagging lists of words; for span extraction pairs of
                a question and its context; for dialog pairs of a persona and a history, lists of
                texts.
            model: its name; not needed where the server has one model.
            signature: the task, of an export of several.
            settings: `max_new_tokens`, `temperature` and `seed`, all three, of a model that writes
                texts; by default it writes as its run.

        Returns:
            For each text `{"label": …, "scores": […]}`; multilabel: `{"labels": […], "scores":
            […]}` with "" for a label that is not chosen; tagging: `{"tags": […], "scores": [[…]]}`
            with one entry a word; regression: a number; span extraction: `{"answer": …, "score": …,
            "start": …, "end": …}`, the offsets in characters; the text that a model writes.

        Raises:
            ArtifactError: the server cannot be reached, is too busy, or fails.
            ConfigError: there is no such model or signature, or the token is another one.
            DataError: the texts have another form, or the server refuses one.
        """
        if isinstance(texts, str):
            raise DataError("texts: expected a list of texts, got one text; put it into a list")
        place = f"/v1/models/{quote(self._only(model), safe='')}"
        name = signature or (_DEFAULT if settings is None else GENERATE)
        inputs = self._inputs(place, name) - SETTINGS.keys()
        rows = [row_of(text, inputs, f"texts[{number}]") for number, text in enumerate(texts)]
        path, predictions = f"{place}:predict", []
        for batch in batches(rows, self._batch_size):
            request, answer = {"signature_name": name, "instances": batch}, "predictions"
            if settings is not None:
                columns = {key: [row[key] for row in batch] for key in batch[0]}
                request, answer = {"signature_name": name, "inputs": columns | settings}, "outputs"
            predictions += self._part(path, self._answer(path, request), list, answer)
        if len(predictions) != len(rows) or not all(map(fits, predictions, rows)):
            raise ArtifactError(
                f"{self._url}: expected a prediction for each of {len(rows)} texts, got others; is "
                "it a server of tf_adapt's exports?"
            )
        return [cut(prediction, row) for prediction, row in zip(predictions, rows, strict=True)]

    def _only(self, model: str | None) -> str:
        if model is not None:
            return model
        names = self.models()
        if len(names) != 1:
            raise ConfigError(f"model: expected one of {', '.join(names)}, got None; name one")
        return names[0]

    def _inputs(self, place: str, signature: str) -> set[str]:
        path = f"{place}/metadata"
        keys = ("metadata", "signature_def", "signature_def")
        signatures = self._part(path, self._answer(path), dict, *keys)
        if signature not in signatures:
            raise ConfigError(
                f"signature: expected one of {', '.join(signatures)}, got {signature!r}"
            )
        return set(self._part(path, signatures[signature], dict, "inputs"))

    def _part(self, path: str, answer: Any, kind: type, *keys: str) -> Any:
        """The value of an answer at these nested keys."""
        value = answer
        for key in keys:
            value = value.get(key) if isinstance(value, dict) else None
        if not isinstance(value, kind):
            raise ArtifactError(
                f"{self._url}{path}: expected an answer with {'.'.join(keys)}, got another; is it "
                "a server of another kind?"
            )
        return value

    def _answer(self, path: str, content: dict | None = None) -> dict[str, Any]:
        data = None if content is None else json_bytes(content)
        headers = self._headers | {"Content-Type": "application/json"}
        request = urllib.request.Request(self._url + path, data, headers)
        try:
            with self._opener.open(request, timeout=self._timeout) as response:
                body = response.read(_LARGEST_ANSWER + 1)
            if len(body) > _LARGEST_ANSWER:
                raise ValueError("an answer beyond 256 MB")
            value = json.loads(body)
            if not isinstance(value, dict):
                raise ValueError("another JSON value than an object")
        except urllib.error.HTTPError as error:
            raise self._refusal(error) from None
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", None) or error
            raise ArtifactError(
                f"{self._url}: the server cannot be reached ({reason or type(error).__name__}); is "
                "`tf-adapt serve` running there?"
            ) from None
        except (ValueError, RecursionError) as error:
            raise ArtifactError(
                f"{self._url}{path}: expected JSON of a model server, got {error}; is it another "
                "program's address?"
            ) from None
        return value

    def _refusal(self, error: urllib.error.HTTPError) -> Exception:
        try:
            with error:
                body = error.read(10_000)
        except (OSError, http.client.HTTPException) as broken:
            return ArtifactError(
                f"{self._url}: {error.code}: its answer broke off ({broken}); ask again"
            )
        try:
            message = str(json.loads(body)["error"])
        except (ValueError, KeyError, TypeError, RecursionError):
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


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # half of an IPv6 address, or another port than there is
        return False


def _checked(token: str) -> str:
    token = token.strip()
    if not is_token(token):
        raise ConfigError(
            "token: expected letters, digits and signs without spaces, got another text, which is "
            "not shown; give the server's"
        )
    return token
