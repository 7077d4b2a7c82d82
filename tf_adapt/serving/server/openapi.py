"""The OpenAPI description of the server's own routes."""

from typing import Any

from tf_adapt.version import __version__

_TEXT = {"oneOf": [{"type": "string"}, {"type": "object", "required": ["b64"]}]}
_VALUE = {"oneOf": [*_TEXT["oneOf"], {"type": "array", "items": _TEXT}]}
_COLUMN = {"oneOf": [{"type": "array"}, {"type": "number"}]}
_SIGNATURE = {"type": "string", "default": "serving_default"}
_ROW = {
    "description": "The one input, or an object of the inputs by name.",
    "oneOf": [*_VALUE["oneOf"], {"type": "object", "additionalProperties": _VALUE}],
}
_SCHEMAS = {
    "Error": {
        "type": "object",
        "required": ["error"],
        "properties": {"error": {"type": "string"}},
    },
    "Predict": {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "signature_name": _SIGNATURE,
            "instances": {"type": "array", "minItems": 1, "items": _ROW},
            "inputs": {
                "description": "The one input's values, or an object of columns by name.",
                "oneOf": [
                    {"type": "array", "minItems": 1, "items": _VALUE},
                    {"type": "object", "additionalProperties": _COLUMN},
                ],
            },
        },
        "oneOf": [{"required": ["instances"]}, {"required": ["inputs"]}],
    },
    "Examples": {
        "type": "object",
        "required": ["examples"],
        "additionalProperties": False,
        "properties": {
            "signature_name": _SIGNATURE,
            "context": {"type": "object"},
            "examples": {"type": "array", "minItems": 1, "items": {"type": "object"}},
        },
    },
}
# By status: of every route; of those that answer only who may ask; of those on a model; of requests
# with a body; of `/readyz`.
_ALL = {"405": "Another method", "500": "An error of the server; its log says which"}
_CLOSED = {
    "401": "The token is missing or another one",
    "403": "Another host or origin than this server's own",
}
_OF_MODEL = {"400": "A malformed address", "404": "No such model or version"}
_OF_BODY = {
    "400": "The request does not fit the model, or a limit",
    "408": "The body came too slowly",
    "413": "The body is too large",
    "415": "The body is packed with something else than gzip",
    "429": "Too many requests wait; see Retry-After",
    "499": "The client was gone before its whole body came (in the metrics alone)",
    "504": "No answer in time",
}
_STOPPING = {"503": "The server is stopping"}


def openapi() -> dict[str, Any]:
    """The description, as JSON values."""
    paths: dict[str, Any] = {
        "/v1/models": _get("The models, with the version that answers", _CLOSED),
        "/healthz": _get("Whether the process lives", {}),
        "/readyz": _get("Whether requests are taken", _STOPPING),
        "/metrics": _get("Counters for Prometheus", _CLOSED, "text/plain"),
    }
    version = {"name": "version", "in": "path", "required": True, "schema": {"type": "integer"}}
    name = {"name": "model", "in": "path", "required": True, "schema": {"type": "string"}}
    for place, parameters in (
        ("/v1/models/{model}", [name]),
        ("/v1/models/{model}/versions/{version}", [name, version]),
    ):
        of_place = {
            place: _get("State of the versions", _CLOSED | _OF_MODEL),
            f"{place}/metadata": _get("Inputs and outputs of the signatures", _CLOSED | _OF_MODEL),
            f"{place}:predict": _post("The outputs of a signature", "Predict"),
            f"{place}:classify": _post("Labels with their probabilities", "Examples"),
            f"{place}:regress": _post("A number for each text", "Examples"),
        }
        paths |= {
            path: operation | {"parameters": parameters} for path, operation in of_place.items()
        }
    return {
        "openapi": "3.1.0",
        "info": {"title": "tf-adapt serve", "version": __version__},
        "paths": paths,
        "components": {
            "schemas": _SCHEMAS,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}, {}],
    }


def _get(summary: str, errors: dict[str, str], media: str = "application/json") -> dict[str, Any]:
    return {"get": {"summary": summary, "responses": _responses(errors, media)}}


def _post(summary: str, schema: str) -> dict[str, Any]:
    content = {"application/json": {"schema": _reference(schema)}}
    body = {"required": True, "content": content}
    responses = _responses(_CLOSED | _OF_MODEL | _OF_BODY)
    return {"post": {"summary": summary, "requestBody": body, "responses": responses}}


def _responses(errors: dict[str, str], media: str = "application/json") -> dict[str, Any]:
    described = {
        status: {
            "description": text,
            "content": {"application/json": {"schema": _reference("Error")}},
        }
        for status, text in sorted((_ALL | errors).items())
    }
    return {"200": {"description": "The answer", "content": {media: {}}}} | described


def _reference(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}
