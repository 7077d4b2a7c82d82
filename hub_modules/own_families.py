"""The families of encoders whose modules are ours, and what is done with each."""

from hub_modules.by_family import bert, causal, elmo, lstm, modern_bert, mpnet
from hub_modules.by_family.row import Row

OWN_FAMILIES: dict[str, Row] = {
    "bert": bert.ROW,
    "elmo": elmo.ROW,
    "causal": causal.ROW,
    "lstm": lstm.ROW,
    "modern_bert": modern_bert.ROW,
    "mpnet": mpnet.ROW,
}
