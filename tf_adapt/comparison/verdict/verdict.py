"""The verdict of a comparison: the cell to use, how certain that is, and its costs. Pure functions.

`tf_adapt.statistics.relation` defines the relation of two cells.
*Decided*: the recommended cell is above the baseline, trained with every seed, and is ahead of
every other cell that trained, or alike and the cheapest. Untrained encoders are among the others,
but never recommended. An undecided verdict names what is undecided and what would decide it; until
then it recommends the best mean, or a cheaper cell that is shown to be alike.
"""

from dataclasses import replace

from tf_adapt.comparison.verdict.evidence import (
    SEEDS,
    evidence,
    first_lines,
    overlaps,
    unbeaten_reference,
)
from tf_adapt.comparison.verdict.guidelines import agreement
from tf_adapt.comparison.verdict.headline import (
    Headline,
    few_items,
    headline,
    not_ahead_of,
    nothing_learnt,
    too_few_items,
)
from tf_adapt.comparison.verdict.next_step import LABEL, TRAIN, train_safely
from tf_adapt.comparison.verdict.phrases import describe_all, failures
from tf_adapt.comparison.verdict.ranking import alone, ranking
from tf_adapt.comparison.verdict.shift import shift_in_short
from tf_adapt.comparison.verdict.training_ended import not_trained_to_the_end
from tf_adapt.printing.words import counted, score, visible
from tf_adapt.report.content import Agreement, Content, Verdict

# Scores of more shared texts than this are not those of new texts, which the headline must say.
SHARED = 0.05


def verdict(content: Content) -> Verdict:
    """The verdict on a comparison's results; its `exported` is set later."""
    results = ranking(content)
    if results is None:
        return _nothing_trained(content)
    headlined = headline(results)
    qualified = replace(headlined, qualified=[*headlined.qualified, *not_ahead_of(results)])
    failed = _failed_cells(content, results.names)
    return Verdict(
        sentence=" ".join(filter(None, [_sentence(headlined, content), shift_in_short(results)])),
        decided=headlined.decided,
        above_baseline=any(test.above for test in content.baseline.cells.values()),
        best=results.best,
        alternatives=results.open,
        recommended=results.recommended,
        next_step=_step(headlined, content),
        first=first_lines(results, headlined, failed),
        evidence=evidence(results, qualified, failed),
        guideline=agreement(content.cells, results.pairs, content.kind),
    )


def _step(headlined: Headline, content: Content) -> str:
    """Cells that are not trained to the end come before seeds and labels; a cell that is not above
    a simple model is not to be used yet."""
    if not headlined.decided and not_trained_to_the_end(content):
        return TRAIN
    unbeaten = headlined.names_cell and unbeaten_reference(content) is not None
    return LABEL if unbeaten else headlined.step.kind


def _sentence(headline: Headline, content: Content) -> str:
    """The headline as a sentence, with what qualifies any verdict: the number of failed seeds, of
    cells not trained to the end, of scored examples with a text of train or dev. Where a simple
    model is as good, it comes first."""
    failed = sum(cell.results.failed.total for cell in content.cells if cell.pretrained)
    told = [f"{counted(failed, content.seed)} failed"]
    told = [] if not failed or headline.tells_failures else told
    dropped = [] if content.budget is None else content.budget.dropped
    told += [f"{counted(len(dropped), 'cell')} dropped unscored"] if dropped else []
    unended = len(not_trained_to_the_end(content))
    told += [f"{counted(unended, 'cell')} not trained to the end"] if unended else []
    told += [f"of the scored examples {overlap}" for overlap in overlaps(content, SHARED)]
    sentence, simple = headline.sentence, unbeaten_reference(content)
    if simple is not None:
        name, reached = visible(simple.name), score(simple.score)
        if headline.names_cell:
            sentence = (
                f"Use the simple model, {name} ({reached}), or label more: no cell is shown to be "
                f"above it. Of the cells, {sentence[0].lower()}{sentence[1:]}"
            )
        else:
            told.append(f"no cell is shown to be above {name} at {reached}")
    return f"{sentence} ({'; '.join(told)})." if told else f"{sentence}."


def _failed_cells(content: Content, names: dict[str, str]) -> list[str]:
    """`B diverged in 2 of 3 seeds (…).` for each pretrained cell with failed seeds, or a total."""
    failed = [cell for cell in content.cells if cell.pretrained and cell.results.failed.total]
    if len(failed) <= 2:
        return [f"{names[cell.id]} {failures(cell.results, content)}." for cell in failed]
    total = sum(cell.results.failed.total for cell in failed)
    return [f"{counted(total, content.seed)} failed in {len(failed)} cells."]


def _nothing_trained(content: Content) -> Verdict:
    """The verdict if no seed of any pretrained cell trained: all failed, or none has finished."""
    scored = [c for c in content.cells if c.pretrained and c.results.mean is not None]
    best = max(scored, key=lambda cell: cell.results.mean, default=None)
    failed = _failed_cells(content, describe_all(content.cells))
    if best is None:
        headlined = Headline(
            f"Nothing to judge: no pretrained cell has finished with any {content.seed}",
            train_safely(content),
            names_cell=False,
        )
        first, why = [*headlined.step.sentences, *failed], {SEEDS: failed}
    else:
        results = alone(content, best)
        say = few_items if too_few_items(content) else nothing_learnt
        headlined = say(content, results.names[best.id], best)
        first = first_lines(results, headlined, failed)
        why = evidence(results, headlined, failed)
    return Verdict(
        sentence=_sentence(headlined, content),
        decided=False,
        above_baseline=False,
        best=None,
        alternatives=[],
        recommended=None if best is None else best.id,
        next_step=headlined.step.kind,
        first=first,
        evidence=why,
        guideline=Agreement(sentence="", agrees=None, families={}),
    )
