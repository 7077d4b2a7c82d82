"""A layer whose weights are in groups that are frozen one by one."""

from collections.abc import Sequence

import keras

from hub_modules.native.weights import set_trainable
from tf_adapt.errors import ConfigError


class GroupedLayer(keras.layers.Layer):
    """A layer with `layer_groups`, of which a head may leave some unread.

    Attributes:
        unread_groups: names of the groups whose outputs the head does not use; always frozen.
        never_read: those that no head uses.
    """

    unread_groups: tuple[str, ...] = ()
    never_read: tuple[str, ...] = ()
    _would_learn: tuple[str, ...] = ()  # of the unread groups, if a head read them

    def __setattr__(self, name, value):
        if name != "trainable":
            super().__setattr__(name, value)
            return
        # TensorFlow's tracking skips the assignment of an equal value, but after
        # `set_trainable_groups` parts may be frozen while `trainable` is True.
        for layer in self._flatten_layers():
            keras.layers.Layer.trainable.fset(layer, bool(value))
        if unread := self.unread_groups:
            set_trainable([group for group in self.layer_groups if group[0] in unread], [])
            self._would_learn = unread if value else ()

    @property
    def adaptable_groups(self) -> list[str]:
        """Names of the groups that an adaptation may train: those the head's inputs depend on."""
        return [name for name, _ in self.layer_groups if name not in self.unread_groups]

    @property
    def trainable_groups(self) -> list[str]:
        """Names of the groups with at least one trainable weight."""
        learning = {id(weight) for weight in self.trainable_weights}
        return [
            name
            for name, weights in self.layer_groups
            if any(id(weight) in learning for weight in weights)
        ]

    def set_trainable_groups(self, names: list[str]) -> None:
        """Makes the named groups trainable and freezes the others.

        Raises:
            ConfigError: there is no such group.
        """
        known = [name for name, _ in self.layer_groups]
        unknown = [name for name in names if name not in known]
        if unknown:
            raise ConfigError(f"layer groups {unknown}: expected some of {known}")
        self.trainable = bool(names)
        set_trainable(self.layer_groups, names)
        if not set(self.adaptable_groups) <= set(names):  # else all that can learn is meant
            self._would_learn = ()

    def leave_unread(self, names: Sequence[str]) -> None:
        """Sets and freezes the groups whose outputs the head does not use.

        Groups that an earlier call froze become trainable again, but for those that were frozen
        before it. Names that this encoder does not have are ignored.
        """
        learning = [*self.trainable_groups, *self._would_learn] if self.trainable else []
        unread = {*names, *self.never_read}
        self.unread_groups = tuple(name for name, _ in self.layer_groups if name in unread)
        self.set_trainable_groups([name for name in learning if name not in self.unread_groups])
        self._would_learn = tuple(name for name in learning if name in self.unread_groups)
