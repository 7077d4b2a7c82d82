"""What an export and an exported module say of themselves."""

import re

from finished_runs import METRICS

from tf_adapt.config.reading import config_from
from tf_adapt.serving.exports.card_sections import OverSeeds
from tf_adapt.serving.exports.model_card import export_card, module_card, plain_card
from tf_adapt.training.resolving.origin import origin_of

KINDS = (
    *("classification", "multilabel_classification", "regression"),
    *("pair_classification", "pair_regression", "tagging", "span_extraction"),
)
UNLABELLED = ("regression", "pair_regression", "span_extraction")


def config(**encoder):
    content = {
        "data": {"dataset": "sample_classification", "source": "sample"},
        "encoder": {"handle": "elmo_small"} | encoder,
        "adaptation": "fine_tuning",
        "training": {"epochs": 2, "batch_size": 8, "learning_rate": 1e-3},
    }
    return origin_of(config_from(content, "test"))


def task(kind="classification", labels=("no", "y\x1bes")):
    return {"kind": kind, "labels": None if kind in UNLABELLED else list(labels)}


def test_a_card_has_scores_with_their_seed_and_deviation():
    metrics = METRICS | {"splits": {"dev": "a part of train"}, "truncated": {"dev": 3}}
    card = export_card(config(), task(), metrics, OverSeeds(3, 0.7, 0.02))
    assert card.startswith("# sample_classification: elmo_small, fine_tuning\n")
    assert "| dev | accuracy | 50.0 |" in card
    assert "of one seed (0)" in card
    assert "Over 3 seeds of the comparison that it comes from: accuracy 70.0 ± 2.0 on test." in card
    failed = "Over all seeds of the comparison that it comes from, each of which failed: accuracy"
    assert failed in export_card(config(), task(), METRICS, OverSeeds(0, 0.5, 0.0))
    repeats = "(all repeats of 5 folds, each of which failed)"
    assert repeats in export_card(config(), task(), METRICS, OverSeeds(0, 0.5, 0.0, folds=5))
    assert "- dev: a part of train; 3 texts were cut at the limit" in card
    assert "- 1,000 of 5,000 parameters were trained" in card
    assert "`no`, `y\\u001bes`" in card
    headings = ["How to call it", "Labels", "Data", "Scores", "Adaptation", "Costs", "Limits"]
    assert re.findall("^## (.*)$", card, re.MULTILINE) == [*headings, "Licence"]


def test_a_run_that_is_not_finished_has_no_scores():
    card = export_card(config(), task(), None)
    assert "The run was not finished: no score." in card
    assert "## Costs" not in card


def test_the_call_is_python_for_the_task():
    for kind in KINDS:
        for card in (plain_card(task(kind)), export_card(config(), task(kind), METRICS)):
            (snippet,) = re.findall("```python\n(.*?)```", card, re.DOTALL)
            lines = snippet.splitlines()
            assert lines[0].startswith("import tensorflow_text")
            compile(snippet, "card", "exec")
            names = {
                "tagging": "tokens=",
                "pair_classification": "text_b=",
                "pair_regression": "text_b=",
                "span_extraction": "context=",
            }
            assert names.get(kind, "text=") in snippet
        assert 'ta.HubEncoder("THIS_FOLDER"' in module_card(config(), METRICS)


def test_an_encoders_card_names_the_prompts_which_are_no_part_of_it():
    card = module_card(config(prompts="query: "), METRICS)
    assert '`["query: "]` before each text, which is no part of it' in card
    assert "Prompts" not in module_card(config(), METRICS)


def test_the_licence_is_what_the_module_says(tmp_path):
    card = export_card(config(), task(), METRICS)
    assert (
        "the module elmo_small says:\n\n> **Licence.** As a work derived in part from CC BY-SA 3.0"
        in card
    )
    (tmp_path / "README.md").write_text("# A module\n\n**Licence.** MIT\x1b.\n\nMore.\n", "utf-8")
    for found in (
        export_card(config(handle=str(tmp_path)), task(), METRICS),
        module_card(config(handle=str(tmp_path)), METRICS),
    ):
        assert "> **Licence.** MIT\\u001b.\n\nThose of the training data" in found


def test_the_licence_of_a_module_that_is_not_here_is_unknown(tmp_path):
    gone = tmp_path / "gone"
    gone.mkdir()
    for found in (config(handle=str(gone)), config(handle="https://tfhub.dev/google/elmo/3")):
        gone.exists() and gone.rmdir()
        card = export_card(found, task(), METRICS)
        assert "their licences apply. This card does not know them.\n" in card
