"""Training labels from several sources, in words."""

from typing import Any

from tf_adapt.printing.words import counted, visible

_METHODS = {"dawid_skene": "Dawid and Skene's model", "majority": "their majority"}
MOST_SOURCES = 10


def weak_in_words(facts: dict[str, Any]) -> str:
    """One sentence on the `weak` of a run's `metrics.json`."""
    sources = facts["sources"]
    parts = [
        f"{counted(facts['votes'], 'vote')} for {counted(facts['examples'], 'example')}",
        _METHODS[facts["aggregate"]],
    ]
    if facts["agreement"] is not None:
        parts.append(f"{100 * facts['agreement']:.1f} % of the pairs of votes agree")
    parts += [
        f"estimated accuracies {_accuracies(sources)}",
        f"mean entropy of the labels {facts['entropy']:.2f} nats",
        f"{100 * facts['undecided']:.1f} % of the examples without a label above 0.5",
    ]
    return f"trained on labels from {counted(len(sources), 'source')}: {'; '.join(parts)}"


def _accuracies(sources: dict[str, dict[str, Any]]) -> str:
    known = {
        name: source["accuracy"]
        for name, source in sources.items()
        if source["accuracy"] is not None
    }
    if len(known) <= MOST_SOURCES:
        return ", ".join(f"{visible(name)} {value:.2f}" for name, value in known.items())
    return f"from {min(known.values()):.2f} to {max(known.values()):.2f}"
