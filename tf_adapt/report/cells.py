"""The cells of a comparison in the order of their scores, with one name for each everywhere."""

from collections import Counter
from dataclasses import dataclass

from tf_adapt.paper import FROZEN, SYMBOLS
from tf_adapt.words import shortened, visible

SEPARATOR = " · "


@dataclass(frozen=True)
class Ranked:
    """A cell and what it is called.

    Attributes:
        number: its place in `ranked`, from 1; the same in every table and figure.
        plain: its name without symbols, for figures, whose fonts lack them.
        name: number, and name with symbols.
        cell: as in `report.json`.
    """

    number: int
    plain: str
    name: str
    cell: dict

    def fitted(self, length: int) -> str:
        """Number and plain name in about `length` characters; the encoder is shortened first."""
        encoder, *others = self.plain.split(SEPARATOR)
        rest = SEPARATOR.join([shortened(part, length // 2) for part in others])
        room = length - len(f"{self.number}. ") - len(rest) - len(SEPARATOR) * bool(rest)
        name = SEPARATOR.join([shortened(encoder, max(room, 12)), *([rest] if rest else [])])
        return shortened(f"{self.number}. {name}", length)


def ranked(cells: list[dict]) -> list[Ranked]:
    """The cells, best mean first, then those of which no seed trained, then those without a mean;
    equal ones as they came."""
    places = sorted(range(len(cells)), key=lambda place: _before(cells[place], place))
    plain = [_name(cell, symbols=False) for cell in cells]
    full = [_name(cell, symbols=True) for cell in cells]
    counts = Counter(plain)
    if max(counts.values(), default=1) > 1:  # the ids differ in something else
        plain = full = [visible(cell["id"]) for cell in cells]
    return [
        Ranked(number, plain[place], f"{number}. {full[place]}", cells[place])
        for number, place in enumerate(places, 1)
    ]


def encoder_of(cell: dict) -> tuple:
    """What an encoder is: the same module, read and executed in the same way."""
    return (cell["module"] or cell["encoder"], cell["pairs"], cell["execution"])


def encoder_name(cell: dict) -> str:
    """`bert_small untrained, separate texts`: whether it is the baseline without pretraining, and
    what of `encoder_of` is not the usual way."""
    parts = [visible(cell["encoder"]) + ("" if cell["pretrained"] else " untrained")]
    parts += [] if reads_as_usual(cell) else [f"{cell['pairs']} texts"]
    parts += [] if cell["execution"] is None else [cell["execution"]]
    return ", ".join(parts)


def reads_as_usual(cell: dict) -> bool:
    """Whether the texts of a pair are read as the paper's encoder of this family reads them."""
    return cell["pairs"] == ("joint" if cell["family"] == "bert" else "separate")


def variant(cell: dict) -> str:
    """The head and the settings that are not defaults: `linear, every 25`."""
    settings = cell.get("settings") or {}
    parts = [cell["head"], *(f"{key} {value}" for key, value in settings.items())]
    return visible(", ".join(parts))


def best_of(order: list[Ranked], frozen: bool) -> Ranked | None:
    """The best pretrained cell with a confusion matrix whose encoder stayed frozen, or did not."""
    for one in order:
        cell = one.cell
        known = cell["mean"] is not None and cell["confusion"] and cell["pretrained"]
        if known and (cell["adaptation"] == FROZEN) == frozen:
            return one
    return None


def _before(cell: dict, place: int) -> tuple:
    return (cell["mean"] is None, not cell["trained"], -(cell["mean"] or 0.0), place)


def _name(cell: dict, symbols: bool) -> str:
    adaptation = cell["adaptation"]
    symbol = f"{SYMBOLS[adaptation]} " if symbols and adaptation in SYMBOLS else ""
    return SEPARATOR.join([encoder_name(cell), f"{symbol}{visible(adaptation)}", variant(cell)])
