"""The section of a report on what was forgotten: losses, distances, groups, cells without."""

from dataclasses import replace

import report_contents as contents

from tf_adapt.printing.words import NOTHING
from tf_adapt.report.cells import ranked
from tf_adapt.report.content import to_json
from tf_adapt.report.forgetting import forgetting
from tf_adapt.report.markdown import to_markdown
from tf_adapt.report.scored_cells import Forgetting, Spread
from tf_adapt.report.sections import sections

BERT = Forgetting(
    task="masked_language_model",
    texts=73,
    targets=1235,
    before=5.1849,
    after=Spread(5.1977, 0.0123),
    distances={"embeddings": Spread(0.0032, 0.0001), "all": Spread(0.0087, 0.0002)},
)
ELMO = Forgetting(
    task="bidirectional_language_model",
    texts=1,
    targets=12,
    before=4.8,
    after=Spread(4.75, None),
    distances={"lstm_0": Spread(0.02, None), "all": Spread(0.01, None)},
)


def texts(row):
    return [entry.text for (entry,) in row]


def cells():
    return [
        replace(contents.cell("bert", "fine_tuning", (0.8, 0.82)), forgetting=BERT),
        replace(contents.cell("elmo", "fine_tuning", (0.7,)), forgetting=ELMO),
        contents.cell("bert", "top_layers", (0.6,)),
    ]


def test_losses_beside_score_and_distance():
    order = ranked(cells())
    (section,) = forgetting(order)
    assert section.title == "What was forgotten"
    table, groups = section.blocks
    assert texts(table.rows[0]) == [
        order[0].name,
        "81.0 ± 1.4",
        "5.1849",
        "5.1977 ± 0.0123",
        "+0.0128",
        "0.0087 ± 0.0002",
    ]
    assert texts(table.rows[1])[1:] == ["70.0", "4.8000", "4.7500", "−0.0500", "0.0100"]
    assert len(table.rows) == 2  # the third cell did not measure it
    assert "1,235 masked word pieces in 73 lines" in table.caption
    assert "12 next and previous words in 1 line)" in table.caption
    (distances,) = groups.blocks
    assert distances.columns == ["cell", "embeddings", "lstm_0"]
    assert texts(distances.rows[0])[1:] == ["0.0032 ± 0.0001", NOTHING]
    assert texts(distances.rows[1])[1:] == [NOTHING, "0.0200"]


def test_the_section_is_in_the_report_only_where_it_was_measured():
    content = contents.complete()
    assert forgetting(ranked(content.cells)) == []
    assert "forgotten" not in to_markdown(sections(content))
    measured = [replace(one, forgetting=BERT) for one in content.cells]
    content = replace(content, cells=measured)
    assert "## What was forgotten" in to_markdown(sections(content))
    assert to_json(content)["cells"][0]["forgetting"]["before"] == 5.1849
