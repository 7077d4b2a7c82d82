"""The cells of a comparison on test sets of other domains, from finished runs."""

from collections.abc import Mapping
from dataclasses import replace

from tf_adapt.comparison.answers import answers_of
from tf_adapt.comparison.execution.outcomes import Outcomes
from tf_adapt.comparison.kept.answers import FILE, KeptAnswers, file_of_domain
from tf_adapt.comparison.kept.shift import shifted_domains, training_number
from tf_adapt.data.gold_answers import gold_answers
from tf_adapt.data.splits.groups import item_groups, overlap
from tf_adapt.data.splits.read_splits import Splits
from tf_adapt.data.splits.shifted import domain_of, shifted_splits
from tf_adapt.report.content import Content


def with_shifted(
    content: Content,
    outcomes: Outcomes,
    splits: Splits,
    home: KeptAnswers,
    simple: Mapping[str, dict[str, list[list]]],
) -> tuple[Content, dict[str, KeptAnswers]]:
    """The content with what was found in other domains, if there are some; and all answers, by the
    names of their files.

    Args:
        home: the answers of the scored split.
        simple: by split the answers of simple models, see `references`.

    Raises:
        ArtifactError: as `answers_of`.
    """
    names = shifted_splits(splits.examples)
    if not names:
        return content, {FILE: home}
    abroad = {
        domain_of(name): _kept(content, outcomes, splits, name, simple.get(name, {}))
        for name in names
    }
    train = splits.pool or splits.examples["train"]
    domains = shifted_domains(
        content,
        home,
        abroad,
        {domain_of(name): splits.descriptions[name] for name in names},
        {domain_of(name): overlap(train, splits.examples[name]) for name in names},
    )
    files = {file_of_domain(name): answers for name, answers in abroad.items()}
    return replace(content, shifted=domains), {FILE: home} | files


def _kept(
    content: Content,
    outcomes: Outcomes,
    splits: Splits,
    split: str,
    simple: dict[str, list[list]],
) -> KeptAnswers:
    """The answers of every training, and of simple models, to the examples of a domain."""
    examples, cells = splits.examples[split], {}
    for cell in outcomes.comparison.cells:
        trainings = {
            training_number(run.seed, number, content.folds): one
            for run in outcomes.final_runs(cell)
            for number, one in (enumerate(run.folds) if run.folds else [(None, run)])
        }
        cells[cell.name] = {
            number: answers_of(one, splits.kind, split, len(examples))
            for number, one in trainings.items()
            if outcomes.metrics(one) is not None
        }
    gold = gold_answers(examples, splits.kind)
    return KeptAnswers(splits.scheme, gold, item_groups(examples), cells, simple)
