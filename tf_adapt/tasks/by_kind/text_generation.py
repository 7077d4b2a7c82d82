"""Settings of text generation; ROUGE and BLEU by their reference implementations (the extra
[generation]). Imports no TensorFlow."""

import importlib.util
from collections.abc import Sequence

from tf_adapt.errors import ConfigError

# Of a text that a run writes.
MAX_NEW_TOKENS = 40
ROUGE = ("rouge1", "rouge2", "rougeL")


def count_words(text: str) -> int:
    """The words of a text, between white space, at least 1: unlike its tokens the same for every
    encoder."""
    return max(1, len(text.split()))


def check_overlaps() -> None:
    """Checks that the scores can be computed.

    Raises:
        ConfigError: rouge-score or sacrebleu is not installed.
    """
    missing = [n for n in ("rouge_score", "sacrebleu") if importlib.util.find_spec(n) is None]
    if missing:
        raise ConfigError(
            f"text_generation: expected {' and '.join(missing)}, which compute ROUGE and BLEU, but "
            'not installed; pip install "tf-adapt[generation]"'
        )


def rouge(texts: Sequence[str], references: Sequence[str]) -> dict[str, list[float]]:
    """ROUGE-1, -2 and -L of each text (F1, from 0 to 1, without stemming), by name.

    Raises:
        ConfigError: as `check_overlaps`.

    Source: Lin 2004, "ROUGE".
    """
    check_overlaps()
    from rouge_score.rouge_scorer import RougeScorer

    scorer = RougeScorer(ROUGE)
    pairs = [scorer.score(*pair) for pair in zip(references, texts, strict=True)]
    return {name: [pair[name].fmeasure for pair in pairs] for name in ROUGE}


def overlaps(texts: Sequence[str], references: Sequence[str]) -> dict[str, float]:
    """The means of `rouge`, and BLEU of all texts (from 0 to 100), with sacrebleu's defaults.

    Raises:
        ConfigError: as `check_overlaps`.

    Source: Papineni et al. 2002, "BLEU"; Post 2018, "A Call for Clarity in Reporting BLEU Scores".
    """
    means = {name: sum(values) / len(values) for name, values in rouge(texts, references).items()}
    from sacrebleu.metrics import BLEU

    bleu = BLEU()
    return means | {"bleu": bleu.corpus_score(list(texts), [list(references)]).score}


def bleu_signature() -> str:
    """How sacrebleu computes BLEU: `nrefs:1|case:mixed|…`.

    Raises:
        ConfigError: as `check_overlaps`.
    """
    check_overlaps()
    from sacrebleu.metrics import BLEU

    bleu = BLEU()
    bleu.corpus_score(["a"], [["a"]])
    return str(bleu.get_signature())
