"""Figures: the same numbers give the same bytes, and every line and corpus is named."""

import xml.etree.ElementTree as ET

import pytest

from tf_adapt.analysis.domain_figure import domain_figure
from tf_adapt.analysis.figures import information_figure, probe_figure
from tf_adapt.report.figures.drawing import draw


def panels(count: int = 3) -> list[dict]:
    layers = [
        {
            "layer": layer,
            "score": 0.5 + layer / 10,
            "bits": layer / 10,
            "random_labels": [0.001] * 5,
            "random_representations": [0.001] * 5,
        }
        for layer in range(4)
    ]
    series = [{"label": label, "layers": layers} for label in ("pretrained", "fine_tuning")]
    panel = {"metric": "accuracy", "constant": 0.5, "examples": {"train": 1000, "dev": 60}}
    return [panel | {"dataset": f"data{number}", "series": series} for number in range(count)]


NOTHING = [{"layer": 0, "bits": 0.001, "random_labels": [0.001], "random_representations": [0.001]}]
GENRES = {
    "corpora": ["fiction", "slate", "travel"],
    "matrix": [[0.0, 0.2, 0.3], [0.2, 0.0, 0.1], [0.3, 0.1, 0.0]],
}


def references(genres: list[str]) -> dict:
    return {
        "references": [
            {
                "name": name,
                "genres": {
                    genre: {"divergence": 0.1 + place / 50, "own_sample": sample}
                    for place, genre in enumerate(genres)
                },
                "correlations": {"fine_tuning": {"pearson": 0.25, "p_value": 0.84}},
            }
            for name, sample in (("wiki", 0.05), ("all together", None))
        ]
    }


REFERENCES = GENRES | references(GENRES["corpora"])
SCORES = {
    "accuracies": {"fine_tuning": {"fiction": 0.7, "slate": 0.6}},
    "runs": [
        {"series": "fine_tuning", "accuracy": {"fiction": 0.68}},
        {"series": "fine_tuning", "accuracy": {"fiction": 0.72, "slate": 0.6}},
    ],
}
ONE = {"corpora": ["slate"], "matrix": [[0.0]]}
ALIKE = {"corpora": ["a", "b"], "matrix": [[0.0, 0.0], [0.0, 0.0]]}
FIGURES = {
    "probes": (lambda: probe_figure(panels()), ["data2 (1,000 train, 60 dev)", "fine_tuning"]),
    "one panel": (lambda: probe_figure(panels(1)), ["dev accuracy", "always the same answer"]),
    "information": (
        lambda: information_figure(panels()),
        ["mutual information (bits)", "check: random labels", "check: random states"],
    ),
    "nothing": (
        lambda: information_figure(
            [panels(1)[0] | {"series": [{"label": "a", "layers": NOTHING}]}]
        ),
        ["every layer is at the estimator's floor"],
    ),
    "genres": (lambda: domain_figure(GENRES), ["0.30", "slate", "How far apart the corpora are"]),
    "references": (
        lambda: domain_figure(REFERENCES),
        ["0.30", "wiki", "all together", "divergence of a genre from a reference"],
    ),
    "one genre": (lambda: domain_figure(ONE | references(["slate"])), ["slate", "all together"]),
    "scores": (
        lambda: domain_figure(REFERENCES | SCORES),
        [
            "fine_tuning: r = 0.25, p = 0.84",
            "divergence of a genre from all together",
            "accuracy on the genre",
        ],
    ),
    "files": (lambda: domain_figure(ALIKE), ["0.00", "a", "b"]),
}


@pytest.mark.slow
def test_a_figure_says_what_it_shows_and_is_the_same_again():
    for plot, texts in FIGURES.values():
        drawing = draw(plot)
        assert b"<dc:date>" not in drawing.svg
        root = ET.fromstring(drawing.svg)
        written = " ".join(part.text for part in root.iter("{http://www.w3.org/2000/svg}text"))
        for text in texts:
            assert text in written
    assert draw(plot) == drawing


def test_the_backend_and_style_of_the_user_stay_as_they_are():
    import matplotlib

    before = dict(matplotlib.rcParams)
    draw(probe_figure, panels(1))
    assert dict(matplotlib.rcParams) == before
