"""What frozen states predict of 🔥 − ❄ on each data set, from the others, beside what was found."""

from benchmarks.results.blocks import NOTHING, Contents, as_table, data_name
from benchmarks.results.differences import rows
from tf_adapt.analysis.estimate.predicting import FEWEST, RULES, checked, held_out
from tf_adapt.analysis.pooling.effects import FAMILIES
from tf_adapt.printing import words

FAMILY = "accuracy"


def predicted_block(contents: Contents, prefix: str) -> str:
    """A row for each encoder of a comparison with measures, then how the rules do."""
    known = [
        row
        for row in rows(contents)
        if row.probe is not None and FAMILIES.get(row.metric) == FAMILY
    ]
    if len({row.dataset for row in known}) < FEWEST:
        return NOTHING
    predicted, rules = held_out(known), checked(known)
    lines = [
        [
            data_name(row.dataset),
            row.encoder,
            words.signed_points(row.difference),
            *(words.signed_points(predicted[name][place]) for name in RULES),
        ]
        for place, row in enumerate(known)
    ]
    right = [f"{rule['right']} of {rule['of']}" for rule in rules.values()]
    errors = [words.score(rule["error"]) for rule in rules.values()]
    lines += [["right signs", "", "", *right], ["mean error", "", "", *errors]]
    return as_table(["data", "encoder", "found", *RULES], lines)
