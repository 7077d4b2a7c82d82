"""What frozen states predict of 🔥 − ❄ on each data set, from the others, beside what was found."""

from benchmarks.results.blocks import NOTHING, Contents, as_table, data_name
from benchmarks.results.differences import rows
from tf_adapt.analysis.estimate.predicting import FEWEST, REGRESSION, checked, held_out
from tf_adapt.analysis.pooling.effects import FAMILIES
from tf_adapt.printing import words

FAMILY = "accuracy"


def predicted_block(contents: Contents, prefix: str) -> str:
    """A row for each encoder of a comparison with measures, then how this and simpler rules do."""
    known = [
        row
        for row in rows(contents)
        if row.probe is not None and FAMILIES.get(row.metric) == FAMILY
    ]
    if len({row.dataset for row in known}) < FEWEST:
        return NOTHING
    predicted, rules = held_out(known)[REGRESSION], checked(known)
    lines = [
        [
            data_name(row.dataset),
            row.encoder,
            f"{words.signed_points(row.difference)} ({words.interval(row.interval)})",
            words.signed_points(guess),
        ]
        for row, guess in zip(known, predicted, strict=True)
    ]
    errors = [
        [name, f"{rule['right']} of {rule['of']}", words.score(rule["error"])]
        for name, rule in rules.items()
    ]
    of_data = as_table(["data", "encoder", "found", "predicted"], lines)
    return f"{of_data}\n\n{as_table(['rule', 'right signs', 'mean error'], errors)}"
