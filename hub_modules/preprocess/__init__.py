"""Text → ids, in the graph: the same code in tf.data during training and in SavedModels."""

from hub_modules.preprocess.bert import BertPreprocessor
from hub_modules.preprocess.causal import CausalPreprocessor
from hub_modules.preprocess.elmo import ElmoPreprocessor, ElmoTokensPreprocessor
from hub_modules.preprocess.hub_contract import SavedModelPreprocessor, hub_preprocessor
from hub_modules.preprocess.lstm_words import LstmPreprocessor
from hub_modules.preprocess.modern_bert import ModernBertPreprocessor
from hub_modules.preprocess.prompts import PromptedPreprocessor
from hub_modules.preprocess.segments import cut_words, split_words, truncate
from hub_modules.preprocess.sentence import SentencePreprocessor
from hub_modules.preprocess.whole_texts import tokenized, tokenizers
from hub_modules.preprocess.words import WordsPreprocessor

__all__ = [
    "BertPreprocessor",
    "CausalPreprocessor",
    "ElmoPreprocessor",
    "ElmoTokensPreprocessor",
    "LstmPreprocessor",
    "ModernBertPreprocessor",
    "PromptedPreprocessor",
    "SavedModelPreprocessor",
    "SentencePreprocessor",
    "WordsPreprocessor",
    "cut_words",
    "hub_preprocessor",
    "split_words",
    "tokenized",
    "tokenizers",
    "truncate",
]
