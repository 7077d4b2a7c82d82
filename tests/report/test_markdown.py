import re
from dataclasses import replace

import pytest
import report_contents as contents
from markdown_it import MarkdownIt

from tf_adapt.printing.words import visible
from tf_adapt.report.markdown import escaped, fenced, to_markdown
from tf_adapt.report.sections import sections

ALLOWED_HTML = re.compile(r"</?details>|<summary>[^<>]*</summary>|<br>|\s")


def parsed(text):
    return MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).parse(text)


def inline_tokens(text):
    return [child for token in parsed(text) for child in token.children or []]


TEXTS = [
    visible(contents.HOSTILE),
    "bert_small",
    "_a_ __b__ a_b_ _",
    "`` ` \\` \\",
    "<b>&lt;&#60; & &amp;",
    "[x](y) ![x](y) <http://e.x>",
    "**a** *b* ~~c~~ ~",
    "a\\|b|c",
    "ש_לום_",
]


@pytest.mark.parametrize("before", ["", "- ", "# ", "| a |\n| --- |\n| "])
def test_escaped_text_is_read_as_it_is(before):
    for text in TEXTS:
        tokens = inline_tokens(before + "x " + escaped(text) + " x")
        kept = [token for token in tokens if token.content and token.content.strip() != "a"]
        assert {token.type for token in kept} <= {"text", "text_special"}
        assert "".join(token.content for token in kept) == f"x {text} x"


def test_code_is_read_as_it_is():
    for line in ["plain", "`", "a ``` b", "~~~~", "`" * 9]:
        (token,) = parsed(fenced([line, "next"]))
        assert (token.type, token.content) == ("fence", f"{line}\nnext\n")


def test_only_folding_and_line_breaks_are_html(every):
    for report in every:
        text = (report / "report.md").read_text("utf-8")
        tokens = parsed(text)
        found = [token.content for token in tokens if token.type == "html_block"]
        found += [token.content for token in inline_tokens(text) if token.type == "html_inline"]
        for part in found:
            assert ALLOWED_HTML.sub("", part) == ""
        everything = "".join(found)
        assert everything.count("<details>") == everything.count("</details>") > 2


def test_links_and_pictures_are_only_ours(every):
    for report in every:
        text = (report / "report.md").read_text("utf-8")
        tokens = inline_tokens(text)
        assert not [token for token in tokens if token.type == "link_open"]
        for token in tokens:
            if token.type == "image":
                assert (report / token.attrs["src"]).is_file()


def test_every_row_of_a_table_is_as_wide_as_its_head(every):
    for report in every:
        widths, tables = [], 0
        for token in parsed((report / "report.md").read_text("utf-8")):
            if token.type == "table_open":
                tables, widths = tables + 1, []
            elif token.type == "tr_open":
                widths.append(0)
            elif token.type in ("th_open", "td_open"):
                widths[-1] += 1
            elif token.type == "table_close":
                assert len(set(widths)) == 1
        expected = [line for line in (report / "report.md").read_text("utf-8").splitlines()
                    if re.fullmatch(r"\|( :?--:? \|)+", line)]  # fmt: skip
        assert tables == len(expected) > 3


def test_the_verdict_is_the_title_and_sections_are_in_order(reports):
    tokens = parsed((reports / "complete" / "report.md").read_text("utf-8"))
    titles = [
        (token.tag, following.content)
        for token, following in zip(tokens, tokens[1:], strict=False)
        if token.type == "heading_open"
    ]
    assert titles == [
        ("h1", contents.complete().verdict.sentence),
        *(
            ("h2", title)
            for title in (
                "What this rests on", "Scores",
                "Learning curves: how many labels tuning needs", "Costs", "Pairwise tests",
                "Learning curves", "Which layers are used", "Which labels are confused",
                "Where the cells disagree", "Each label", "Can probabilities be trusted",
                    "How it was chosen", "To repeat it",
            )
        ),
    ]  # fmt: skip


def test_what_a_head_reads_is_said_of_each_encoder():
    cells = [contents.cell(name, "fine_tuning", (0.8,)) for name in ("a", "b")]
    cells = [replace(one, reads=f"the states of {one.encoder}") for one in cells]
    text = to_markdown(sections(contents.comparison(cells, seeds=(0,))))
    for name in ("a", "b"):
        head = cells[0].head
        assert f"The head reads the states of {name} ({name}, fine_tuning, {head})." in text


def test_no_direction_leaks(reports):
    text = (reports / "hostile" / "report.md").read_text("utf-8")
    assert not re.search("[\u202a-\u202e\u2066\u2067]", text)
    for line in text.splitlines():
        assert line.count("\u2068") == line.count("\u2069")


def test_colours_have_words(reports):
    text = (reports / "complete" / "report.md").read_text("utf-8")
    assert "🔴 **65.1 ± 1.1** (linear; tune: 🔥 − ❄ +3.4)" in text
    assert "🔵 **64.6 ± 0.7** (esim; freeze: 🔥 − ❄ −3.7)" in text
