"""From a comparison's folder to its export."""

import pytest

from tf_adapt.errors import ArtifactError
from tf_adapt.runs.exports_in import newest_export, versions_folder


def made(folder):
    folder.mkdir(parents=True)
    (folder / "manifest.json").touch()
    return folder


def test_folders_of_exports(tmp_path):
    comparison = tmp_path / "comparison"
    comparison.mkdir()
    (comparison / "comparison.json").touch()
    with pytest.raises(ArtifactError, match="got none: the comparison is not finished"):
        newest_export(comparison)
    export = made(comparison / "candidate" / "a-rate_0.1-seed_1" / "1")
    for folder in (comparison, comparison / "candidate"):
        assert versions_folder(folder) == export.parent
        assert newest_export(folder) == export
    newest = made(tmp_path / "export" / "10")
    for other in ("9", "011"):
        made(tmp_path / "export" / other)
    assert newest_export(tmp_path / "export") == newest_export(newest) == newest
    assert newest_export(tmp_path / "absent") == tmp_path / "absent"
