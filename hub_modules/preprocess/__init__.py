"""Text → ids, in the graph: the same code in tf.data while training and in SavedModels."""

from hub_modules.preprocess.bert import BertPreprocessor
from hub_modules.preprocess.elmo import ElmoPreprocessor, ElmoTokensPreprocessor
from hub_modules.preprocess.hub_contract import SavedModelPreprocessor, hub_preprocessor
from hub_modules.preprocess.segments import cut_words, split_words, truncate

__all__ = [
    "BertPreprocessor",
    "ElmoPreprocessor",
    "ElmoTokensPreprocessor",
    "SavedModelPreprocessor",
    "cut_words",
    "hub_preprocessor",
    "split_words",
    "truncate",
]
