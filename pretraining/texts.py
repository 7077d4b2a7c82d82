"""Running text for the encoders that ship: from clones, cleaned, without the benchmarks' texts.

    python pretraining/texts.py CLONES BENCHMARKS OUT [--words 40000000]

CLONES has OWNER+NAME/repo, a git folder, for each repository of `SOURCES`. OUT/paragraphs.txt.gz
gets a paragraph a line and a blank line between documents (for BERT); OUT/sentences.txt.gz gets the
same paragraphs in words as of the Penn Treebank, sentences parted by tabs (for ELMo).
"""

import argparse
import gzip
import hashlib
import html
import json
import random
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from nltk.tokenize import NLTKWordTokenizer

# Repository, commit, paths, form of the files.
SOURCES = {
    "Wikipedia": ("jason-feng/wikiVisual", "1c0fac9", r"text/A\w/wiki_\d+", "extract"),
    "Wikinews": ("jshepp27/countaBot", "eac9439", r"text/AA/wiki_\d+", "json"),
    "Gutenberg I": ("AmanSharma0710/wss22", "e73e5d9", r"books/.*\.txt", "book"),
    "Gutenberg II": ("logicx24/Text-Search-Engine", "ae227a6", r"corpus/.*\.txt", "book"),
    "speeches": ("nltk/nltk", "a8a85af", r"corpora/(state_union|inaugural)/\d.*\.txt", "plain"),
}
LEFT_OUT = {"pg100.txt", "pg2542.txt"}  # drama: Shakespeare, Ibsen
PASSAGE = 12  # paragraphs of a book that stay together
GUARD = 8  # consecutive words that a benchmark may not share
FUNCTION_WORDS = """
the of and a to in is was that it he she for on with as his her at by be had not are but from or
have an they which you were their been has would there this i all will one who we so what when if
its into than more no them some could out other my can only about up then do
"""
ABBREVIATIONS = """
mr mrs ms dr prof rev st sr jr hon gen col capt lt sgt gov sen rep pres no vol fig vs etc inc ltd
co corp jan feb mar apr jun jul aug sep sept oct nov dec e.g i.e cf al ca u.s u.k
"""
COMMON, SHORTENED = frozenset(FUNCTION_WORDS.split()), frozenset(ABBREVIATIONS.split())
QUOTES = str.maketrans("“”„«»‘’‚‐‑–—−\u00a0", '"""""\'\'\'-----\u0020')
END = re.compile(r"(\S+?[.!?][\"')\]]*)\s+(?=[\"'(\[]?[A-Z0-9])")
WORD = re.compile(r"[a-z0-9]+")
TREEBANK = NLTKWordTokenizer()


def main() -> None:
    """Reads the arguments, then sources one after the other, then writes."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("clones", type=Path)
    options.add_argument("benchmarks", type=Path)
    options.add_argument("out", type=Path)
    options.add_argument("--words", type=int, default=40_000_000)
    given = options.parse_args()
    guard = guarded(given.benchmarks)
    seen: set[bytes] = set()
    documents: list[tuple[str, list[str]]] = []
    dropped: Counter[str] = Counter()
    for source in SOURCES:
        for paragraphs in source_documents(given.clones, source):
            kept = [one for one in map(cleaned, paragraphs) if one and new(one, seen)]
            safe = [one for one in kept if not shares(one, guard)]
            dropped[source] += len(kept) - len(safe)
            if sum(map(len, safe)) >= 500:
                documents.append((source, safe))
    documents = balanced(documents, given.words)
    given.out.mkdir(parents=True, exist_ok=True)
    counts = write(documents, given.out)
    for source in SOURCES:
        print(f"{source}: {counts[source]:,} words, {dropped[source]} paragraphs of benchmarks")


def source_documents(clones: Path, source: str) -> Iterator[list[str]]:
    """The documents of a source, each a list of raw paragraphs."""
    repository, commit, pattern, form = SOURCES[source]
    git = ["git", "-C", str(clones / repository.replace("/", "+") / "repo")]
    listing = subprocess.run([*git, "ls-tree", "-r", "--name-only", commit], **CAPTURED).stdout
    for name in sorted(listing.decode().splitlines()):
        if re.fullmatch(pattern, name) and Path(name).name not in LEFT_OUT:
            raw = subprocess.run([*git, "show", f"{commit}:{name}"], **CAPTURED).stdout
            yield from FORMS[form](raw.decode("utf-8", "replace"))


CAPTURED = {"capture_output": True, "check": True}


def extract(text: str) -> Iterator[list[str]]:
    """Articles of a Wikipedia extract; the first line is the title."""
    for article in re.findall(r"<doc [^>]*>\n(.*?)</doc>", text, re.DOTALL):
        yield article.splitlines()[1:]


def json_lines(text: str) -> Iterator[list[str]]:
    """Articles of a Wikinews extract in JSON lines."""
    for line in text.splitlines():
        yield json.loads(line)["text"].splitlines()


def book(text: str) -> Iterator[list[str]]:
    """Passages of a book of Project Gutenberg without what its publishers put around it."""
    begin = re.search(r"\*\*\* ?START OF.*?\*\*\*", text, re.DOTALL)
    end = re.search(r"\*\*\* ?END OF", text)
    yield from plain(text[begin.end() if begin else 0 : end.start() if end else len(text)])


def plain(text: str) -> Iterator[list[str]]:
    """Passages of a text with hard line ends, where a blank line parts paragraphs."""
    blocks = re.split(r"\n\s*\n", text.replace("\r", ""))
    paragraphs = [" ".join(block.split()) for block in blocks]
    for start in range(0, len(paragraphs), PASSAGE):
        yield paragraphs[start : start + PASSAGE]


FORMS = {"extract": extract, "json": json_lines, "book": book, "plain": plain}


def cleaned(paragraph: str) -> str | None:
    """A paragraph in one line and ASCII quotes, or None if it is no English prose."""
    text = html.unescape(paragraph).translate(QUOTES).replace("_", "")
    text = " ".join(re.sub(r"<[^>]*>|\(\s*[,;]*\s*\)|\[\d+\]", " ", text).split())
    if not 40 <= len(text) <= 6000:
        return None
    letters = sum(one.isalpha() or one == " " for one in text)
    plain_letters = sum(one.isascii() for one in text)
    if plain_letters < 0.96 * len(text) or letters < 0.85 * len(text):
        return None
    words = text.lower().split()
    return text if sum(word in COMMON for word in words) >= 0.18 * len(words) else None


def new(paragraph: str, seen: set[bytes]) -> bool:
    """Whether no paragraph before had the same first 160 letters."""
    letters = re.sub(r"[^a-z]", "", paragraph.lower())[:160]
    digest = hashlib.blake2b(letters.encode(), digest_size=8).digest()
    if digest in seen:
        return False
    seen.add(digest)
    return True


def guarded(benchmarks: Path) -> set[int]:
    """Hashes of all runs of `GUARD` words in the benchmarks' files."""
    found: set[int] = set()
    for path in sorted(benchmarks.rglob("*")):
        # WikiText's articles are training text, but for the validation part.
        if path.is_file() and path.suffix not in {".md", ".locked"} and "LICENSE" not in path.name:
            if path.name == "wiki.train.tokens.gz":
                continue
            text = path.read_text("utf-8")
            if path.parent.name == "conll2003":
                text = " ".join(line.split(" ")[0] for line in text.splitlines())
            for line in [text] if path.parent.name == "conll2003" else text.splitlines():
                found.update(runs(line))
    return found


def runs(text: str) -> Iterator[int]:
    """A hash of each `GUARD` consecutive words."""
    words = WORD.findall(text.lower())
    for start in range(len(words) - GUARD + 1):
        yield hash(tuple(words[start : start + GUARD]))


def shares(paragraph: str, guard: set[int]) -> bool:
    """Whether a paragraph has `GUARD` consecutive words of a benchmark."""
    return any(run in guard for run in runs(paragraph))


def sentences(paragraph: str) -> list[str]:
    """The sentences of a paragraph, by punctuation and a list of abbreviations."""
    found, begin = [], 0
    for match in END.finditer(paragraph):
        word = match.group(1).rstrip("\"')]").rstrip(".").lower().lstrip("(\"'")
        if match.group(1)[-1] == "." and (word in SHORTENED or len(word) == 1):
            continue
        found.append(paragraph[begin : match.end(1)])
        begin = match.end()
    return [*found, paragraph[begin:]]


def balanced(documents: list[tuple[str, list[str]]], most: int) -> list[tuple[str, list[str]]]:
    """In random order, all of the small sources and of Wikipedia what is left of `most` words."""
    order = random.Random(0)
    order.shuffle(documents)
    taken, words = [], 0
    for document in sorted(documents, key=lambda one: one[0] == "Wikipedia"):
        words += sum(len(paragraph.split()) for paragraph in document[1])
        if words > most:
            break
        taken.append(document)
    order.shuffle(taken)
    return taken


def write(documents: list[tuple[str, list[str]]], out: Path) -> Counter[str]:
    """Writes both forms; the words of each source."""
    counts: Counter[str] = Counter()
    with (
        gzip.open(out / "paragraphs.txt.gz", "wt", encoding="utf-8", compresslevel=3) as raw,
        gzip.open(out / "sentences.txt.gz", "wt", encoding="utf-8", compresslevel=3) as split,
    ):
        for source, paragraphs in documents:
            for paragraph in paragraphs:
                tokens = [words_of(one) for one in sentences(paragraph)]
                counts[source] += sum(map(len, tokens))
                raw.write(paragraph + "\n")
                split.write("\t".join(" ".join(words) for words in tokens) + "\n")
            raw.write("\n")
            split.write("\n")
    return counts


def words_of(sentence: str) -> list[str]:
    """The words of a sentence as in the Penn Treebank, with plain double quotes."""
    marks = {"``": '"', "''": '"'}
    return [marks.get(word, word) for word in TREEBANK.tokenize(sentence)]


if __name__ == "__main__":
    main()
