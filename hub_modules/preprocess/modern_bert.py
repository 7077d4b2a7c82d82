"""ModernBERT's inputs: byte-level BPE ids of texts in NFC, packed as BERT's."""

import unicodedata
from collections.abc import Mapping, Sequence

from hub_modules.native.untracked import Untracked
from hub_modules.preprocess.added_tokens import AddedTokens
from hub_modules.preprocess.bert import SPECIAL_TOKENS
from hub_modules.preprocess.byte_pairs import BytePairTokenizer
from hub_modules.preprocess.pieces import PiecePreprocessor
from hub_modules.preprocess.word_pieces import UNKNOWN

NORMAL_FORM = "NFC"


class ModernBertPreprocessor(PiecePreprocessor):
    """Text → NFC → byte-level BPE ids → `[CLS] a [SEP]` or `[CLS] a [SEP] b [SEP]`; the vocabulary
    is exported with it.

    Args:
        vocabulary: pieces in the order of their ids, with `[CLS]`, `[SEP]`, `[PAD]`, `[MASK]` and
            `[UNK]`.
        merges: see `BytePairTokenizer`.
        added: the arguments of `AddedTokens`.

    Source: answerdotai/ModernBERT, tokenizer.json.
    """

    def __init__(
        self, vocabulary: Sequence[str], merges: Sequence[str], added: Mapping[str, dict[str, int]]
    ):
        ids = {piece: number for number, piece in enumerate(vocabulary)}
        special = {name: ids[piece] for name, piece in SPECIAL_TOKENS.items()}
        special["vocab_size"] = len(vocabulary)
        tokenizer = BytePairTokenizer(ids, merges, ids[UNKNOWN], normal_form=NORMAL_FORM)
        normalized = {
            unicodedata.normalize(NORMAL_FORM, content): number
            for content, number in added["normalized"].items()
        }
        tokens = AddedTokens(added["as_written"], normalized)
        super().__init__(tokenizer, special, ids[UNKNOWN], doubled=False, blank=" ", added=tokens)
        self.vocabulary, self.merges = Untracked(list(vocabulary)), Untracked(list(merges))
        self.added = Untracked({name: dict(added[name]) for name in ("as_written", "normalized")})
