"""The paths that a config names. Imports no TensorFlow."""

import os
from collections.abc import Iterator
from typing import TypeVar

from hub_modules.keras_hub.handles import PREFIX, is_preset_name
from hub_modules.shipped import shipped_names
from hub_modules.storage.model_hubs import is_address
from hub_modules.storage.strict_yaml import KeyPath
from tf_adapt.config.fields import Section
from tf_adapt.config.sections import Config

AnySection = TypeVar("AnySection", bound=Section)


def named_paths(section: Section, home: KeyPath = ()) -> Iterator[tuple[KeyPath, str]]:
    """Each path in a section, and in those within it, by its key; handles of modules are none."""
    for name in section.PATHS:
        if (path := getattr(section, name)) is not None:
            yield (*home, name), path
    for name in section.NAMED_PATHS:
        for key, path in (getattr(section, name) or {}).items():
            yield (*home, name, key), path
    for key, inner in _sections_in(section):
        yield from named_paths(inner, (*home, *key))


def resolve_paths(config: Config) -> Config:
    """The same config with absolute paths, independent of the working directory."""
    config, encoder = _absolute(config), config.encoder
    handles = {name: getattr(encoder, name) for name in encoder.HANDLES}
    absolute = {
        name: handle if is_name_or_url(handle) else absolute_handle(handle)
        for name, handle in handles.items()
    }
    return config.model_copy(update={"encoder": encoder.model_copy(update=absolute)})


def is_name_or_url(handle: str | None) -> bool:
    """Whether a handle is the name of a shipped module or of a preset, or an address, not a
    folder."""
    return handle is not None and (
        handle in shipped_names() or is_address(handle) or is_preset_name(handle)
    )


def _sections_in(section: Section) -> Iterator[tuple[KeyPath, Section]]:
    for name, value in section:
        inner = value if isinstance(value, dict) else {None: value}
        for key, one in inner.items():
            if isinstance(one, Section):
                yield (name,) if key is None else (name, key), one


def _absolute(section: AnySection) -> AnySection:
    changed: dict = {
        name: os.path.abspath(path)
        for name in section.PATHS
        if (path := getattr(section, name)) is not None
    }
    for name in section.NAMED_PATHS:
        paths = getattr(section, name)
        changed[name] = paths and {key: os.path.abspath(path) for key, path in paths.items()}
    for (name, *key), inner in _sections_in(section):
        if key:
            changed[name] = changed.get(name, getattr(section, name)) | {key[0]: _absolute(inner)}
        else:
            changed[name] = _absolute(inner)
    return section.model_copy(update=changed)


def absolute_handle(handle: str | None) -> str | None:
    """A handle that names a folder, with the absolute path of that."""
    if handle is None:
        return None
    prefix = PREFIX if handle.startswith(PREFIX) else ""
    return prefix + os.path.abspath(handle.removeprefix(prefix))
