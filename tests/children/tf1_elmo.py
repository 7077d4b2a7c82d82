"""A TF1-format module with google/elmo's signatures, as its publishers wrote them."""

from pathlib import Path

import tensorflow as tf

v1 = tf.compat.v1


def write_tf1_elmo(folder: Path, width: int = 4) -> Path:
    """Word vectors are a table's rows, by length of the word; the layers are multiples of them."""
    with tf.Graph().as_default(), v1.Session() as session:
        table = v1.get_variable("bilm/table", initializer=tf.range(30.0 * width))
        table = tf.reshape(table, [30, width])
        text = v1.placeholder(tf.string, [None])
        words = tf.strings.split(text).to_tensor("")
        lengths = tf.cast(tf.strings.split(text).row_lengths(), tf.int32)
        tokens = v1.placeholder(tf.string, [None, None])
        sequence_len = v1.placeholder(tf.int32, [None])
        session.run(v1.global_variables_initializer())
        builder = v1.saved_model.Builder(str(folder))
        builder.add_meta_graph_and_variables(
            session,
            [],
            signature_def_map={
                "default": signature({"strings": text}, outputs(table, words, lengths)),
                "tokens": signature(
                    {"tokens": tokens, "sequence_len": sequence_len},
                    outputs(table, tokens, sequence_len),
                ),
            },
        )
        builder.save()
    (folder / "tfhub_module.pb").write_bytes(b"\x08\x03")
    return folder


def outputs(table, tokens, lengths) -> dict:
    word_emb = tf.gather(table, tf.strings.length(tokens))
    both = tf.concat([word_emb, word_emb], axis=-1)
    mask = tf.sequence_mask(lengths, tf.shape(tokens)[1], tf.float32)[..., None]
    return {
        "word_emb": word_emb,
        "lstm_outputs1": both * 2,
        "lstm_outputs2": both * 3,
        "elmo": both * 2,
        "default": tf.reduce_sum(both * 2 * mask, 1) / tf.reduce_sum(mask, 1),
    }


def signature(inputs: dict, results: dict):
    info = v1.saved_model.build_tensor_info
    return v1.saved_model.build_signature_def(
        {name: info(tensor) for name, tensor in inputs.items()},
        {name: info(tensor) for name, tensor in results.items()},
    )
