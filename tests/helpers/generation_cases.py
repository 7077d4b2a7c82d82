"""Cases of decoding for a GPT-2, in the words of transformers' `generate`."""

import numpy as np
import tensorflow as tf

from tf_adapt.generation.decoding import Decoding
from tf_adapt.generation.generator import TokenGenerator

# Beams and length penalty; the others are greedy.
SEARCHES = [(1, 1.0), (2, 1.0), (3, 0.0), (3, -1.0), (4, 2.0), (5, 0.6), (8, 1.0)]


def random_cases(seed: int, words: int, most: int) -> list[dict]:
    """Prompts of unequal lengths, ends that often come and that seldom come.

    Args:
        words: ids are below.
        most: of tokens in a prompt.
    """
    random = np.random.default_rng(seed)
    cases = []
    for beams, length_penalty in SEARCHES:
        for ends in (1, 3, words // 8):
            lengths = random.integers(1, most, size=3)
            cases.append(
                {
                    "prompts": [random.integers(0, words, size=n).tolist() for n in lengths],
                    "ends": random.choice(words, ends, replace=False).tolist(),
                    "max_new_tokens": int(random.integers(4, 12)),
                    "num_beams": beams,
                    "length_penalty": length_penalty,
                }
            )
    return cases


def continued(tokens: TokenGenerator, case: dict) -> list[list[int]]:
    """What we continue a case's prompts with; rows are as long as its longest."""
    rows = tf.ragged.constant(case["prompts"], dtype=tf.int32)
    inputs = {
        "input_word_ids": rows.to_tensor(),
        "input_mask": tf.sequence_mask(rows.row_lengths(), dtype=tf.int32),
    }
    settings = Decoding(
        case["max_new_tokens"], beams=case["num_beams"], length_penalty=case["length_penalty"]
    )
    return tokens(inputs, case["ends"], settings).numpy().tolist()


def up_to_the_end(rows: list[list[int]], ends: list[int]) -> list[list[int]]:
    """Without the padding, of which one implementation may write more than the other."""
    cut = []
    for row in rows:
        places = [place for place, token in enumerate(row) if token in ends]
        cut.append(row[: places[0] + 1] if places else row)
    return cut
