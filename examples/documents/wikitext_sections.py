"""Real documents with labels: sections of WikiText-2's articles, and what each is headed.

    python examples/documents/wikitext_sections.py data/wikitext2 data/wikitext_sections

Writes train.tsv and dev.tsv (every fifth article) with the columns text and label: 476 sections of
the six most frequent headings, 500 words in the middle, up to 6,000.
"""

import gzip
import re
import sys
from collections.abc import Iterator
from pathlib import Path

HEADINGS = ("History", "Reception", "Background", "Production", "Plot", "Legacy")
TITLE, HEADING = re.compile(r"= ([^=].*[^=]) ="), re.compile(r"= = ([^=].*[^=]) = =")


def main(source: Path, folder: Path) -> None:
    """Reads the articles, then writes both parts."""
    text = gzip.decompress((source / "wiki.train.tokens.gz").read_bytes()).decode("utf-8")
    rows = [one for one in sections(text) if one[1] in HEADINGS]
    folder.mkdir(parents=True)
    for name, is_dev in (("train", False), ("dev", True)):
        chosen = [(body, heading) for number, heading, body in rows if (number % 5 == 0) == is_dev]
        lines = ["\t".join(row) for row in (("text", "label"), *chosen)]
        (folder / f"{name}.tsv").write_text("\n".join(lines) + "\n", "utf-8")
        print(f"{name}: {len(chosen)} documents")


def sections(text: str) -> Iterator[tuple[int, str, str]]:
    """Number of the article, heading and words of each section, its subsections included."""
    number, heading, body = 0, "", []
    for line in [*(one.strip() for one in text.split("\n")), "= end ="]:
        title, found = TITLE.fullmatch(line), HEADING.fullmatch(line)
        if title or found:
            if heading and body:
                yield number, heading, " ".join(body)
            number, heading, body = number + bool(title), found[1] if found else "", []
        elif line and not line.startswith("= = ="):
            body.append(line)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
