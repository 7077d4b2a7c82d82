import re
from html.parser import HTMLParser

import report_contents as contents

from tf_adapt.printing.words import visible
from tf_adapt.report import blocks
from tf_adapt.report.html import to_html
from tf_adapt.report.paper_table import paper_table

VOID = {"meta", "br", "wbr"}
SVG = "svg"


class Page(HTMLParser):
    """Elements, their attributes and texts; fails where a tag is not closed in its place."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.elements, self.texts = [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        names = [name for name, _ in attributes]
        assert len(names) == len(set(names)), (tag, names)
        self.elements.append((tag, dict(attributes), tuple(self.open)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        assert SVG in self.open, f"<{tag}/> is XML"
        self.elements.append((tag, dict(attributes), tuple(self.open)))

    def handle_endtag(self, tag):
        assert tag not in VOID or self.open[-1] == tag
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("style", "title"):
            self.texts.append(data)

    def of(self, tag):
        return [attributes for name, attributes, _ in self.elements if name == tag]


def page_of(report):
    return Page((report / "report.html").read_text("utf-8"))


def test_nothing_runs_and_nothing_is_fetched(every):
    for report in every:
        page = page_of(report)
        for tag, attributes, _ in page.elements:
            assert tag not in ("script", "iframe", "object", "embed", "link", "base", "form", "img")
            for name, value in attributes.items():
                assert not name.startswith("on")
                if name in ("src", "href", "xlink:href", "data", "action", "srcset"):
                    assert value.startswith("#")
        text = (report / "report.html").read_text("utf-8")
        assert "@import" not in text
        assert set(re.findall(r"url\((.)", text)) <= {"#"}
        (policy,) = [a["content"] for a in page.of("meta") if "http-equiv" in a]
        assert policy == "default-src 'none'; style-src 'unsafe-inline'"


def test_what_readers_and_phones_need(every):
    for report in every:
        page = page_of(report)
        assert (report / "report.html").read_text("utf-8").startswith("<!DOCTYPE html>\n")
        assert page.of("html") == [{"lang": "en"}]
        named = {a["name"]: a["content"] for a in page.of("meta") if "name" in a}
        assert named["viewport"] == "width=device-width, initial-scale=1"
        assert named["color-scheme"] == "light dark"
        assert len(page.of("title")) == len(page.of("main")) == len(page.of("h1")) == 1
        for table in [inside for tag, _, inside in page.elements if tag == "table"]:
            assert table[-1] == "div"
        for attributes in page.of("th"):
            assert attributes["scope"] in ("col", "row")
        for attributes in page.of("svg"):
            assert attributes["role"] == "img"
            icons = ("tuned", "frozen")
            assert attributes["aria-label"] in icons or len(attributes["aria-label"]) > 20
        scrolling = [a for a in page.of("div") if a.get("class") == "scroll"]
        figures = [a for a in page.of("svg") if a.get("class") != "icon"]
        assert len(scrolling) == len(page.of("table")) + len(figures) > 4
        for attributes in scrolling:
            assert (attributes["role"], attributes["tabindex"]) == ("region", "0")
            assert attributes["aria-label"]


def test_on_a_narrow_screen_the_column_of_the_recommended_cell_is_beside_the_names():
    content = contents.complete()
    page = to_html("", [paper_table(content)], {})
    recommended = next(c for c in content.cells if c.id == content.verdict.recommended)
    (table,) = re.findall("<table>.*</table>", page, re.S)
    heads = re.findall('<th scope="col"[^>]*>', table)
    (main,) = [number for number, head in enumerate(heads) if "main" in head]
    columns = paper_table(content).columns
    assert recommended.adaptation in columns[main]
    rows = re.findall("<tr>.*?</tr>", table, re.S)[1:]
    for row in rows:
        fields = re.findall("<t[hd][^>]*>", row)
        assert [number for number, field in enumerate(fields) if "main" in field] == [main]
    assert 'class="table' in page and " reordered" in page and " wide" in page


def test_ids_are_unique(every):
    for report in every:
        page = page_of(report)
        ids = [attributes["id"] for _, attributes, _ in page.elements if "id" in attributes]
        assert len(ids) == len(set(ids))
        assert ids


def test_tables_are_rectangular(every):
    for report in every:
        text = (report / "report.html").read_text("utf-8")
        tables = re.findall(r"<table>.*?</table>", text, flags=re.S)
        for table in tables:
            rows = re.findall(r"<tr>(.*?)</tr>", table, flags=re.S)
            assert len({len(re.findall(r"<t[hd][ >]", row)) for row in rows}) == 1
        assert len(tables) > 3


def test_foreign_text_is_text(reports):
    page = Page((reports / "hostile" / "report.html").read_text("utf-8"))
    shown = "".join(page.texts)
    assert shown.count(visible(contents.HOSTILE)) > 20
    assert not re.search("[\x00-\x08\u202a-\u202e\u2066-\u2069\ud800]", shown)
    directions = [a.get("dir") for a in page.of("dd") if "dir" in a]
    assert directions == ["auto"] * 3


def test_every_command_is_there_as_it_is(reports):
    text = (reports / "complete" / "report.html").read_text("utf-8")
    blocks = re.findall(r'<pre tabindex="0"><code>(.*?)</code></pre>', text, flags=re.S)
    commands = [line for block in blocks for line in block.split("\n")]
    content = contents.complete()
    expected = [content.command, *(c for cell in content.cells for c in cell.commands)]
    assert sorted(commands) == sorted(expected)


def test_colour_never_stands_alone(reports):
    text = (reports / "complete" / "report.html").read_text("utf-8")
    found = re.findall(r'<strong class="(tune|freeze)">.*?</strong> <small>(.*?)</small>', text)
    assert len(found) == 2
    for tone, note in found:
        assert re.search(rf'{tone}: <svg class="icon" [^>]*aria-label="tuned">', note)


def test_the_papers_symbols_need_no_font_that_has_them(every):
    for report in every:
        text = re.sub("<[^>]*>", "", (report / "report.html").read_text("utf-8"))
        assert "🔥" not in text
        assert "\N{SNOWFLAKE}" not in text


def test_what_to_type_is_code():
    page = to_html("", [blocks.Items(["Run 3 more seeds (`--seeds 5`) of <b> & `c"])], {})
    assert "<li>Run 3 more seeds (<code>--seeds 5</code>) of &lt;b&gt; &amp; `c</li>" in page


def test_names_are_not_cut_inside(reports):
    text = (reports / "complete" / "report.html").read_text("utf-8")
    assert '<span class="name">feature_extraction</span>' in text
    assert "<wbr>" not in text


def test_a_long_verdict_is_smaller(reports):
    assert "\n<h1>Tune bert" in (reports / "complete" / "report.html").read_text("utf-8")
    assert '\n<h1 class="long">' in (reports / "hostile" / "report.html").read_text("utf-8")


def test_the_matrix_is_shaded_by_the_share_of_the_row(reports):
    text = (reports / "complete" / "report.html").read_text("utf-8")
    shades = re.findall(r"background:rgb\(47 127 193 / (\d+)%\)", text)
    assert len(shades) == 18
    # bert_small fine_tuning: 641 of 785.
    assert str(round(641 / 785 * 55)) in shades
