"""JSON files of ours: what their schema allows, or an ArtifactError."""

import json
import random

import pytest

from hub_modules.storage.json_files import LARGEST_BYTES, Schema, parse_json, read_json
from tf_adapt.errors import ArtifactError


class Example(Schema):
    name: str
    sizes: dict[str, list[int]] = {}
    score: float | None = None


GOOD = '{"name": "é", "sizes": {"a": [1, 2]}, "score": 0.5}'


def test_what_fits_comes_back(tmp_path):
    (tmp_path / "x.json").write_text(GOOD, "utf-8")
    expected = {"name": "é", "sizes": {"a": [1, 2]}, "score": 0.5}
    assert read_json(tmp_path / "x.json", Example).model_dump() == expected


def test_what_does_not_fit():
    for content, message in [
        ("", "expected JSON in UTF-8"),
        (b"\xff", "expected JSON in UTF-8"),
        ("{} {}", "Extra data"),
        ('{"name": "a", "name": "b"}', "a key that is written twice"),
        ('{"name": "a", "score": NaN}', "the number NaN"),
        ('{"name": "a", "score": 1e999}', "score: .* got Infinity"),
        ('{"name": "a", "score": "1"}', 'score: .* got "1"'),
        ('{"name": "a", "sizes": {"b": [1.5]}}', r"sizes\.b\.0: .*integer"),
        ("{}", "name: field required, got nothing"),
        ("[]", "the content: .* got a list"),
        ('{"name": "a", "more": 1}', "more: "),
        ('{"name": "\\ud800"}', "half of a surrogate pair"),
        ("[" * 100_000, "at most 50 nested levels"),
        ('{"a": ' * 60 + "1" + "}" * 60, "at most 50 nested levels"),
        ('{"name": ' + "9" * 5000 + "}", "expected JSON in UTF-8"),
    ]:
        with pytest.raises(ArtifactError, match=message) as error:
            parse_json(content, Example, "x.json")
        assert str(error.value).startswith("x.json: ")


def test_a_file_that_is_too_large_missing_or_a_folder(tmp_path):
    with open(tmp_path / "x.json", "wb") as file:
        file.truncate(LARGEST_BYTES + 1)
    for path in (tmp_path / "x.json", tmp_path / "absent", tmp_path, "a\0b", "a" * 300):
        with pytest.raises(ArtifactError):
            read_json(path, Example)


def test_two_thousand_mutations():
    generator = random.Random(0)
    for _ in range(2000):
        content = bytearray(GOOD.encode())
        for _ in range(generator.randint(1, 4)):
            place = generator.randrange(len(content))
            change = generator.randrange(3)
            if change == 0:
                content[place] = generator.randrange(256)
            elif change == 1:
                del content[place]
            else:
                content[place:place] = generator.choice([b"[", b"{", b'"', b"9", b"\\u0000", b"-"])
        try:
            found = parse_json(bytes(content), Example, "x.json")
        except ArtifactError:
            continue
        json.dumps(found.model_dump(), allow_nan=False)
