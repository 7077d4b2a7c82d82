"""What a run would cache of its frozen layers, and where: for `tf-adapt train --dry-run`."""

import functools
from typing import Any

from tf_adapt.adaptation.frozen_layers import layers_to_keep
from tf_adapt.config.training_sections import FeaturesConfig
from tf_adapt.data.batches import PreparedData
from tf_adapt.encoder.feature_budget import Budget
from tf_adapt.encoder.feature_cache import kept_parts
from tf_adapt.encoder.feature_parts import kept_dtype, layer_part, megabytes
from tf_adapt.layers.head_inputs import head_inputs_of
from tf_adapt.models.adapted_model import AdaptedModel
from tf_adapt.training.kinds import KINDS
from tf_adapt.training.plan import Plan


def cache_plan(
    features: FeaturesConfig,
    plan: Plan,
    model: AdaptedModel,
    data: dict[str, PreparedData],
    cached: bool = False,
    in_several_processes: bool = False,
) -> dict[str, Any] | None:
    """What is cached of each split; None where nothing can be cached.

    Has `outputs` (names of what is kept; for an encoder that is frozen in part the layers that the
    first epochs start from), `dtype`, and for each split `megabytes` of the larger text column and
    `home`: memory, disk, or null with a `reason`.

    Args:
        cached: whether frozen encoders have a cache on disk, as in a comparison.
        in_several_processes: whether several processes train the same model.
    """
    encoder = model.encoder
    if KINDS[model.task.kind].head_encoder(model) is None:
        return None
    if encoder.trainable_groups and in_several_processes:
        return None
    dtype = kept_dtype(encoder, features.dtype)
    cached = cached or features.cache is not None
    has_folder = cached or not in_several_processes
    budget = Budget(features.limit_mb, features.disk_limit_mb, has_folder)
    outputs: dict[str, None] = {}
    splits = {}
    for split, prepared in data.items():
        if encoder.trainable_groups:
            names, needed = _states(plan, model, prepared, budget, dtype)
            first, what = False, "states of {} texts at each frozen layer"
        else:
            parts, needed = kept_parts(
                prepared, encoder, head_inputs_of(model.head), features.dtype
            )
            names = [part.name for part in parts]
            first, what = cached, "features of {} texts"
        outputs |= dict.fromkeys(names)
        home = budget.home(needed, first)
        reason = budget.too_large(what.format(len(prepared.lengths)), needed)
        splits[split] = {
            "megabytes": round(needed, 1),
            "home": home,
            **({} if home else {"reason": reason}),
        }
    if not outputs:
        return None
    return {"outputs": list(outputs), "dtype": dtype.name, "splits": splits}


def kept_line(kept: dict[str, Any]) -> str:
    """One line for a terminal, and another for each split that is not cached."""
    splits = kept["splits"].items()
    homes = {"memory": "in memory", "disk": "on disk"}
    places = ", ".join(
        f"{split} {plan['megabytes']:,.1f} MB {homes[plan['home']]}"
        for split, plan in splits
        if plan["home"]
    )
    lines = [f"kept of frozen layers: {', '.join(kept['outputs'])} in {kept['dtype']}"]
    lines[0] += f" ({places})" if places else " (nothing)"
    return "\n".join(
        lines + [f"{split}: {plan['reason']}" for split, plan in splits if not plan["home"]]
    )


def _states(
    plan: Plan, model: AdaptedModel, prepared: PreparedData, budget: Budget, dtype
) -> tuple[list[str], float]:
    """The layers of the first pass of a run over a split, and the megabytes of their states."""
    encoder = model.encoder
    reads_all = head_inputs_of(model.head).layers == "all"
    if encoder.execution != "native" or encoder.long is not None or reads_all:
        return [], 0.0
    names = encoder.layer_names
    one_layer = megabytes(prepared, encoder, [layer_part(names[0], 0, encoder.output_width)], dtype)
    room = int(budget.most // one_layer)
    for phase, (start, _) in enumerate(plan.stretches()):
        epoch = -(-start // plan.steps_per_epoch)
        layers = functools.partial(
            layers_to_keep,
            plan.adaptation,
            plan.groups,
            names,
            plan.epochs,
            plan.steps_per_epoch,
            epoch,
            phase,
        )
        if epoch < plan.epochs and (wanted := layers(room=len(names))):
            fitting = layers(room=room)
            return fitting or wanted[:1], one_layer * max(len(fitting), 1)
    return [], 0.0
