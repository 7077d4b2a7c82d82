"""Pairs of encoders in the order of their tuned scores, counted by hand."""

from types import SimpleNamespace

from benchmarks.results import ranking
from tf_adapt.report.estimate.measures import MEASURES

# Two comparisons are on the data z; of others on x another part of train was learned.
TUNED = {name: {"a": 0.9, "b": 0.5} for name in ("v", "x", "y")} | {
    "z": {"a": 0.4, "b": 0.5},
    "z2": {"c": 0.6},
    "x more": {"c": 0.1},
}
# The best layer counts.
PROBES = {"a": [0.1, 0.7], "b": [0.2, 0.3], "c": [0.8, 0.1]}


def cell(encoder, mean):
    return SimpleNamespace(encoder=encoder, results=SimpleNamespace(mean=mean))


def test_pairs_that_are_ordered_as_tuned(monkeypatch):
    monkeypatch.setattr(ranking, "beginning", lambda contents, prefix: contents)
    monkeypatch.setattr(
        ranking,
        "tuned_and_frozen",
        lambda contents: [
            (None, None, cell(*one)) for name in contents for one in TUNED[name].items()
        ],
    )
    rows = [
        {"module": encoder} | dict.fromkeys(MEASURES, probe)
        for encoder, probes in PROBES.items()
        for probe in probes
    ]
    measured = {"ranking": rows}
    monkeypatch.setattr(
        ranking, "measures_of", lambda content, folder: content.dataset != "w" and measured or None
    )
    contents = {
        name: SimpleNamespace(dataset=name[0], examples={"train": 9 if " " in name else 5})
        for name in (*TUNED, "w")
    }
    lines = ranking.ranking_block(contents, "all").splitlines()
    # a > b on v, x and y, c > a and c > b on z; b > a there is missed, by the other data sets too.
    assert "| linear probe | 5 of 6 |" in lines
    assert f"| {ranking.STATIC} | 3 of 4 |" in lines
    assert "None is published" in ranking.ranking_block({}, "all")
