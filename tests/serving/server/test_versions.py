"""New versions of a served model: picked up under load, or refused while the old one stays."""

import asyncio
import json
import shutil
import threading
import time

import pytest
import tensorflow as tf

pytest.importorskip("starlette", reason="the extra [serve] is not installed")

from google.protobuf import text_format  # noqa: E402
from openvino_engine import needs_openvino  # noqa: E402
from servers import running, server_of  # noqa: E402
from tensorflow.core.protobuf.saved_model_pb2 import SavedModel  # noqa: E402

from hub_modules.manifest import write_manifest  # noqa: E402
from tf_adapt.errors import ArtifactError, ConfigError  # noqa: E402
from tf_adapt.serving.server import versions  # noqa: E402
from tf_adapt.serving.server.loaded import load_export  # noqa: E402

pytestmark = pytest.mark.slow


def publish(export, folder) -> None:
    """By rename, as `tf-adapt export` does."""
    shutil.copytree(export, folder.with_name(f".{folder.name}"))
    folder.with_name(f".{folder.name}").rename(folder)


def wait_for(true, seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.05)


def states(served) -> dict[str, tuple[str, str]]:
    found = served.get("/v1/models/m").json["model_version_status"]
    return {one["version"]: (one["state"], one["status"]["error_message"]) for one in found}


@needs_openvino
def test_s3_a_new_version_under_load_and_a_damaged_one(exports, light_exports, tmp_path, caplog):
    folder = tmp_path / "m"
    folder.mkdir()
    publish(exports["films"] / "1", folder / "1")
    stop, statuses = threading.Event(), []

    def load(served) -> None:
        while not stop.is_set():
            statuses.append(served.predict("m", instances=["a text", "another"]).status)
            time.sleep(0.02)

    with running(server_of({"m": folder})) as served:
        clients = [threading.Thread(target=load, args=(served,)) for _ in range(4)]
        for client in clients:
            client.start()
        try:
            # The new version is another task, so that its answers are not the old one's; and in
            # the other format.
            publish(light_exports["topics"] / "1", folder / "2")
            wait_for(lambda: states(served).get("2") == ("AVAILABLE", ""))
            wait_for(lambda: states(served).get("1") == ("END", ""))
            assert "labels" in served.predict("m", instances=["a"]).json["predictions"][0]
            assert served.ask("POST", "/v1/models/m/versions/1:predict", {}).status == 404

            shutil.copytree(light_exports["topics"] / "1", tmp_path / "damaged")
            with open(tmp_path / "damaged" / "graphs" / "0.xml", "ab") as damaged:
                damaged.write(b"x")
            (tmp_path / "damaged").rename(folder / "3")
            wait_for(lambda: states(served).get("3", ("", ""))[0] == "END")
            message = "this version cannot be loaded; the server's log says why"
            assert states(served)["3"] == ("END", message)
            assert "graphs/0.xml" in caplog.text
            assert states(served)["2"] == ("AVAILABLE", "")
            assert "version 3 is not served, version 2 stays" in caplog.text

            # Put right, under the same number; and taken back.
            (folder / "3").rename(tmp_path / "old")
            publish(exports["films"] / "1", folder / "3")
            wait_for(lambda: states(served).get("3") == ("AVAILABLE", ""))
            shutil.rmtree(folder / "3")
            wait_for(lambda: states(served).get("2") == ("AVAILABLE", ""))

            # Another one under the same number.
            (folder / "2").rename(tmp_path / "second")
            publish(exports["films"] / "1", folder / "2")
            wait_for(lambda: "label" in served.predict("m", instances=["a"]).json["predictions"][0])
            assert states(served)["2"] == ("AVAILABLE", "")
        finally:
            stop.set()
            for client in clients:
                client.join()
    assert len(statuses) > 20
    assert set(statuses) == {200}


@needs_openvino
def test_signatures_of_a_light_export_are_those_of_a_saved_model(exports, light_exports):
    """Of each kind, in the metadata of TensorFlow Serving; the names of tensors are a graph's."""
    light, saved = (
        {
            name: json.loads(json.dumps(one.definition), object_hook=without_a_tensors_name)
            for name, one in load_export(folders["all"] / "3", False).signatures.items()
        }
        for folders in (light_exports, exports)
    )
    assert light == saved and len(light) == 4
    with pytest.raises(ConfigError, match="--engine openvino_int8: expected none for"):
        load_export(light_exports["topics"] / "1", False, "openvino_int8")


def without_a_tensors_name(value: dict) -> dict:
    return {key: one for key, one in value.items() if key != "name" or "dtype" not in value}


def test_s3_a_version_that_fails_in_another_way_is_not_tried_at_once(
    exports, tmp_path, monkeypatch, caplog
):
    publish(exports["films"] / "1", tmp_path / "1")
    tried = []

    def broken(folder, trust, engine):
        tried.append(folder.name)
        raise RuntimeError("first\nsecond")

    async def look_twice(model) -> None:
        await model.look()
        await model.look()

    model = server_of({"m": tmp_path}).models["m"]
    publish(exports["films"] / "1", tmp_path / "2")
    monkeypatch.setattr(versions, "load_export", broken)
    asyncio.run(look_twice(model))
    assert model.states() == {2: ("END", "RuntimeError: first"), 1: ("AVAILABLE", "")}
    assert tried == ["2"]
    monkeypatch.setattr(versions, "_RETRY_SECONDS", 0)
    asyncio.run(look_twice(model))
    assert tried == ["2"] * 3
    assert caplog.text.count("version 2 is not served") == 1


def test_what_is_no_version(exports, tmp_path):
    for name in ("01", "2.tmp", "x", "-1"):
        (tmp_path / name).mkdir()
    (tmp_path / "7").write_text("a file")
    with pytest.raises(ArtifactError, match="expected a run, an export, or a folder of numbered"):
        server_of({"m": tmp_path})
    publish(exports["films"] / "1", tmp_path / "5")
    assert server_of({"m": tmp_path}).models["m"].current.number == 5
    assert server_of({"m": tmp_path / "5"}).models["m"].current.number == 5


def test_what_is_damaged_or_not_trusted_is_not_served(exports, tmp_path, nothing_trusted):
    with pytest.raises(ArtifactError, match="neither ships with this project nor was written"):
        server_of({"m": exports["films"]})
    shutil.copytree(exports["films"] / "1", tmp_path / "1")
    (tmp_path / "1" / "task.json").write_text("{}")
    with pytest.raises(ArtifactError, match="task.json"):
        server_of({"m": tmp_path})


def test_a_saved_model_as_text_is_none_of_ours(exports, tmp_path, monkeypatch):
    monkeypatch.setattr("hub_modules.programs.saved_model.try_out", lambda folder, kind: None)
    publish(exports["films"] / "1", tmp_path / "1")
    binary = tmp_path / "1" / "saved_model.pb"
    tf.saved_model.save(tf.Module(), str(tmp_path / "empty"))
    graph = SavedModel.FromString((tmp_path / "empty" / binary.name).read_bytes())
    shutil.rmtree(tmp_path / "1" / "variables")
    shutil.move(tmp_path / "empty" / "variables", tmp_path / "1")
    binary.with_suffix(".pbtxt").write_text(text_format.MessageToString(graph))
    binary.unlink()
    write_manifest(tmp_path / "1", {"kind": "export"})
    with pytest.raises(ArtifactError, match="saved_model.pb"):
        server_of({"m": tmp_path}, trust=True)
