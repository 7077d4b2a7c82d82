"""The names of heads in configs. Imports no TensorFlow."""

# "default" and the keys of `tf_adapt.heads.table.HEADS`.
HEAD_NAMES = (
    "default",
    "linear",
    "max_pooling",
    "bi_attention",
    "skip_thoughts",
    "infersent",
    "cosine",
    "euclidean",
    "bcn",
    "concat_pooling",
    "esim",
    "linear_tagger",
    "crf",
    "bilstm",
    "bilstm_crf",
    "span_extractor",
)
# Their width is `head_units`.
LSTM_HEADS = ("bcn", "esim", "bilstm", "bilstm_crf")
# Their answers are whole paths of tags.
CRF_HEADS = ("crf", "bilstm_crf")
# They read two texts apart, and nothing of them but how similar they are.
SIMILARITY_HEADS = ("cosine", "euclidean")
# The input of `linear` and of the heads for two vectors is the pooled vector, which ELMo and word
# vectors have not, unless a pooling is named. All other heads work on every encoder that has a
# state for each word.
ON_VECTORS = ("linear", "skip_thoughts", "infersent", *SIMILARITY_HEADS)
