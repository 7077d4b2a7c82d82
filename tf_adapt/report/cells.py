"""The cells of a comparison ranked by score, and their names in tables and figures."""

from collections import Counter
from dataclasses import dataclass

from hub_modules.families import joins_pairs
from tf_adapt.paper import FROZEN, SYMBOLS
from tf_adapt.printing.words import shortened, visible
from tf_adapt.report.scored_cells import ScoredCell

SEPARATOR = " · "


@dataclass(frozen=True)
class Ranked:
    """A cell with its rank and name.

    Attributes:
        number: rank in `ranked`, from 1; the same in every table and figure.
        plain: the name without symbols, for figures, whose fonts lack them.
        name: the number, and the name with symbols.
    """

    number: int
    plain: str
    name: str
    cell: ScoredCell

    def fitted(self, length: int) -> str:
        """Number and plain name in about `length` characters; the encoder is shortened first."""
        encoder, *others = self.plain.split(SEPARATOR)
        rest = SEPARATOR.join([shortened(part, length // 2) for part in others])
        room = length - len(f"{self.number}. ") - len(rest) - len(SEPARATOR) * bool(rest)
        name = SEPARATOR.join([shortened(encoder, max(room, 12)), *([rest] if rest else [])])
        return shortened(f"{self.number}. {name}", length)


def ranked(cells: list[ScoredCell]) -> list[Ranked]:
    """The cells, best mean first, then those without a trained seed, then those without a mean;
    ties keep their order."""
    places = sorted(range(len(cells)), key=lambda place: _before(cells[place], place))
    plain = [_name(cell, symbols=False) for cell in cells]
    full = [_name(cell, symbols=True) for cell in cells]
    counts = Counter(plain)
    if max(counts.values(), default=1) > 1:  # the ids differ in something else
        plain = full = [visible(cell.id) for cell in cells]
    return [
        Ranked(number, plain[place], f"{number}. {full[place]}", cells[place])
        for number, place in enumerate(places, 1)
    ]


def encoder_of(cell: ScoredCell) -> tuple:
    """The identity of an encoder: its module, how it encodes pairs, whether rows end in a new
    token, the windows of long texts, what is put before texts, how it is executed."""
    module, prompts = cell.module or cell.encoder, tuple(cell.prompts)
    return (module, cell.pairs, cell.classification_token, cell.long, prompts, cell.execution)


def encoder_name(cell: ScoredCell) -> str:
    """`bert_small untrained, separate texts`: the module, `untrained` if it has random weights, and
    the non-default parts of `encoder_of`."""
    parts = [visible(cell.encoder) + ("" if cell.pretrained else " untrained")]
    parts += [] if reads_as_usual(cell) else [f"{cell.pairs} texts"]
    parts += ["classification token"] if cell.classification_token else []
    parts += [] if cell.long is None else [f"windows {cell.long}"]
    parts += [] if cell.execution is None else [cell.execution]
    return ", ".join(parts)


def reads_as_usual(cell: ScoredCell) -> bool:
    """Whether pairs are encoded as by the paper's encoder of this family, jointly or separately, or
    as windows have to be."""
    return cell.long is not None or cell.pairs == (
        "joint" if joins_pairs(cell.family) else "separate"
    )


def variant(cell: ScoredCell) -> str:
    """The head and the non-default settings: `linear, every 25`."""
    parts = [cell.head, *(f"{key} {value}" for key, value in cell.settings.items())]
    return visible(", ".join(parts))


def best_of(order: list[Ranked], frozen: bool) -> Ranked | None:
    """The best pretrained cell with a confusion matrix, among frozen encoders or the others."""
    for entry in order:
        cell = entry.cell
        known = cell.results.mean is not None and cell.confusion and cell.pretrained
        if known and (cell.adaptation == FROZEN) == frozen:
            return entry
    return None


def _before(cell: ScoredCell, place: int) -> tuple:
    mean = cell.results.mean
    return (mean is None, not cell.results.trained, -(mean or 0.0), place)


def _name(cell: ScoredCell, symbols: bool) -> str:
    adaptation = cell.adaptation
    symbol = f"{SYMBOLS[adaptation]} " if symbols and adaptation in SYMBOLS else ""
    return SEPARATOR.join([encoder_name(cell), f"{symbol}{visible(adaptation)}", variant(cell)])
