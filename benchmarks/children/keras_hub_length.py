"""keras-hub's preprocessing, which pads all to one length: here the shortest that fits."""

import keras_hub


class LongestOfAll:
    """Texts (or pairs of them) to the inputs of `BertBackbone`."""

    def __init__(self, tokenizer, segments: list[list[str]]):
        self.tokenizer = tokenizer
        units = sum(tokenizer(texts).row_lengths().numpy() for texts in segments)
        self.packer = keras_hub.layers.MultiSegmentPacker(
            sequence_length=int(units.max()) + len(segments) + 1,
            start_value=tokenizer.cls_token_id,
            end_value=tokenizer.sep_token_id,
        )

    def __call__(self, *segments: list[str]) -> dict:
        token_ids, segment_ids = self.packer([self.tokenizer(texts) for texts in segments])
        return {
            "token_ids": token_ids,
            "segment_ids": segment_ids,
            "padding_mask": token_ids != self.tokenizer.pad_token_id,
        }
