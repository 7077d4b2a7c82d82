"""The source task of an encoder: the loss that its module was pretrained with, on any text.

BERT: the masked word pieces; ELMo: the next and the previous word; causal: the next word piece,
AWD-LSTM: the next word, both with the output tied to the word embeddings.
"""

import numpy as np

from hub_modules.find import find_module
from hub_modules.native.inference_graph import InferenceGraph
from hub_modules.output_files import has_output_layer
from tf_adapt.data.batches import PreparedData, sorted_batches
from tf_adapt.encoder.hub_encoder import HubEncoder
from tf_adapt.errors import ConfigError, DataError
from tf_adapt.models.language_objectives import (
    GET_OUTPUT_LAYER,
    OBJECTIVES,
    language_model_objective,
)

BATCH_SIZE = 16


def check_source_task(encoder: HubEncoder, where: str) -> None:
    """Checks that the loss of an encoder's source task can be computed; loads no output layer.

    Args:
        where: the key of the config that asks for it.

    Raises:
        ConfigError: the family has no source task here, the encoder does not run natively, or the
            module has no output layer or no [MASK].
    """
    module = f"module {encoder.handle}"
    if encoder.family not in OBJECTIVES:
        raise ConfigError(
            f"{where}: expected a BERT, an ELMo, a causal module or an AWD-LSTM, whose pretraining "
            f"is a language model, got {module} of the family {encoder.family}; remove the section"
        )
    if encoder.execution != "native":
        raise ConfigError(
            f"{where}: expected encoder.execution: native, got {encoder.execution} ({module}); "
            "remove one of them"
        )
    row = OBJECTIVES[encoder.family]
    if not row.has_output_layer:
        return
    if not has_output_layer(find_module(encoder.handle)):
        raise ConfigError(
            f"{where}: expected a module with the output layer of its pretraining "
            f"(output_layer.npz), got {module}, which has none; "
            f"{GET_OUTPUT_LAYER}, or remove the section"
        )
    if row.masks and "mask_id" not in encoder.preprocessor.special_token_ids:
        raise ConfigError(
            f"{where}: expected [MASK] in the vocabulary, got none ({module}); remove the section"
        )


def source_loss(encoder: HubEncoder, text: PreparedData) -> tuple[float, int]:
    """Mean loss of an encoder's source task over all targets, and their number.

    In inference mode; the masked pieces depend on the text alone, so that all encoders of one
    module are asked the same.

    Raises:
        DataError: the text has no target.
    """
    dataset, _ = sorted_batches(text, BATCH_SIZE)
    objective = language_model_objective(encoder)
    graph = InferenceGraph(
        encoder, lambda inputs: objective(inputs, encoder=encoder, training=False)
    )
    inputs = dataset.map(lambda columns, _: columns["a"])
    losses_of, total, count = graph.for_pass(inputs.element_spec), 0.0, 0
    for batch in inputs:
        losses = losses_of(batch).numpy()
        real = losses[losses >= 0]
        total, count = total + float(real.sum(dtype=np.float64)), count + len(real)
    if not count:
        raise DataError(
            "forgetting.text: expected text of which words are predicted, got "
            f"{len(text.lengths)} lines with none; give more text"
        )
    return total / count, count
