"""Pages with places for what is made of the published comparisons, and of the tables of
docs/*.json.

A place is between `<!-- made: KIND NAME -->` and `<!-- /made -->`; kinds are the keys of
`BLOCKS`, a name is that of a comparison, what the names of several begin with, or `all`.
"""

import re

from benchmarks.results import blocks
from benchmarks.results.abroad import abroad_block
from benchmarks.results.blocks import Contents
from benchmarks.results.costs import costs_block
from benchmarks.results.families import families_block
from benchmarks.results.few_labels import few_labels_block
from benchmarks.results.predicted import predicted_block
from benchmarks.results.ranking import ranking_block
from tf_adapt.errors import ConfigError

PAGES = (
    "README.md",
    "docs/results.md",
    "docs/results_analyses.md",
    "hub_modules/pretrained/bert_small/README.md",
    "docs/what_we_found.md",
    "docs/table2.md",
    "docs/parity.md",
    "docs/guide_adaptations.md",
)
BLOCKS = blocks.BLOCKS | {
    "predicted": predicted_block,
    "ranking": ranking_block,
    "abroad": abroad_block,
    "costs": costs_block,
    "families": families_block,
    "few_labels": few_labels_block,
}
_PLACE = re.compile(r"<!-- made: (\w+) (\w+) -->\n.*?<!-- /made -->", re.DOTALL)


def made(text: str, contents: Contents, page: str) -> str:
    """A page with its places filled anew.

    Raises:
        ConfigError: a place is of another kind, or of a comparison that is not published.
    """

    def filled(place: re.Match) -> str:
        kind, name = place.groups()
        if kind not in BLOCKS or kind == "comparison" and name not in contents:
            raise ConfigError(
                f"{page}: `made: {kind} {name}`: expected one of {', '.join(BLOCKS)}, and the name "
                "of a folder of docs/results"
            )
        block = BLOCKS[kind](contents, name).rstrip("\n")
        return f"<!-- made: {kind} {name} -->\n\n{block}\n\n<!-- /made -->"

    return _PLACE.sub(filled, text)


def not_shown(texts: list[str], contents: Contents) -> list[str]:
    """The comparisons that no place shows."""
    places = [place.groups() for text in texts for place in _PLACE.finditer(text)]
    return [
        name
        for name in contents
        if not any(
            name == other if kind == "comparison" else name.startswith(other)
            for kind, other in places
        )
    ]
