"""A tag for each word: the tags of a scheme."""

from typing import TYPE_CHECKING

from tf_adapt.errors import ConfigError
from tf_adapt.tasks.tag_schemes import SCHEMES, TASK_SCHEMES, is_tag

if TYPE_CHECKING:  # it imports TensorFlow
    from tf_adapt.tasks.task import Task


def checked_scheme(task: "Task", name: str) -> str:
    """The scheme of the tags.

    Raises:
        ConfigError: it is unknown, or a tag is none of it.
    """
    if task.scheme not in TASK_SCHEMES:
        raise ConfigError(f"scheme: expected one of {', '.join(TASK_SCHEMES)}, got {task.scheme!r}")
    for position, tag in enumerate(task.labels):
        if not is_tag(tag, task.scheme):
            raise ConfigError(
                f"labels[{position}]: expected a tag of the scheme {task.scheme} "
                f"(O, or one of {', '.join(SCHEMES[task.scheme])} followed by - and a type), "
                f"got {tag!r}; for tags without a type: scheme='words'"
            )
    return task.scheme
