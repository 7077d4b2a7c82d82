"""keras-hub's preprocessing, which pads all to one length: here the shortest that fits."""

import keras_hub
import numpy as np


class LongestOfAll:
    """Texts (or pairs of them) to the inputs of `BertBackbone`."""

    def __init__(self, tokenizer, segments: list[list[str]]):
        units = np.sum([[len(row) for row in tokenizer(texts)] for texts in segments], axis=0)
        self.tokenizer = tokenizer
        self.packer = keras_hub.layers.MultiSegmentPacker(
            sequence_length=int(units.max()) + len(segments) + 1,
            start_value=tokenizer.cls_token_id,
            end_value=tokenizer.sep_token_id,
            pad_value=tokenizer.pad_token_id,
        )

    def __call__(self, *segments: list[str]) -> dict:
        packed = self.packer(tuple(self.tokenizer(texts) for texts in segments))
        token_ids, segment_ids = map(np.asarray, packed)
        mask = (token_ids != self.tokenizer.pad_token_id).astype("int32")
        return {"token_ids": token_ids, "segment_ids": segment_ids, "padding_mask": mask}
