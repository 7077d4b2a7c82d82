"""What tables 3 to 6 of the paper say beside its guidelines, and how sure its scores are."""

from tf_adapt import paper

ONE_SCORE = (
    "One test score for each cell, without deviations: no test says which of these differences "
    "another seed would turn round."
)
FIVE_SEEDS = (
    f"The mean of five seeds with a deviation of about {paper.DEVIATION_OF_NER}, and a "
    "difference no larger than that; one dataset, no test."
)


def nothing() -> tuple[str, ...]:
    """No sentence."""
    return ()


def needs_attention() -> tuple[str, ...]:
    """A sentence on table 3, pairs with ELMo."""
    return (
        "🔥 needs attention between the words of both sentences (table 3, dev, with / without): "
        f"{_two(paper.TABLE_3)}.",
    )


def needs_lstm() -> tuple[str, ...]:
    """A sentence on table 5, tagging with ELMo."""
    rows = "; ".join(f"{how}, {head} {score}" for (how, head), score in paper.TABLE_5.items())
    return (f"❄ needs a BiLSTM below the CRF, 🔥 does not (table 5, dev, five seeds): {rows}.",)


def read_jointly() -> tuple[str, ...]:
    """A sentence on table 4, pairs with BERT."""
    return (
        "❄ read both sentences jointly (table 4, dev, jointly / separately): "
        f"{_two(paper.TABLE_4)}.",
    )


def read_jointly_and_genres() -> tuple[str, ...]:
    """Sentences on tables 4 and 6, classification of pairs with BERT."""
    return (*read_jointly(), _of_genres())


def _of_genres() -> str:
    """A sentence on table 6: correlation with domain divergence, and its power with five genres."""
    found = {
        name: f"r = {r:.2f}, p = {p:.2f}".replace("-", "−")
        for name, (r, p) in paper.TABLE_6_CORRELATIONS.items()
    }
    return (
        "The divergence between BERT's pretraining corpora and a genre of MNLI has no significant "
        "correlation with what models of that genre reach (table 6, dev; computed from it: with "
        f"❄ {found[paper.FROZEN]}; with 🔥 − ❄ {found['difference']}). Of five genres only |r| ≥ "
        f"{paper.TABLE_6_SMALLEST_SIGNIFICANT:.2f} would be significant: they do not show that "
        "domains do not matter."
    )


def _two(table: dict[str, tuple[float, float]]) -> str:
    return ", ".join(f"{name} {first} / {second}" for name, (first, second) in table.items())
