"""The config of a comparison: cells, names, rates, and every mistake with its place."""

import pytest
import yaml

from tf_adapt.comparison.plan.cells import Extension, different_settings
from tf_adapt.comparison.plan.extension import extended
from tf_adapt.comparison.plan.settings import load_comparison
from tf_adapt.errors import ConfigError

CONTENT = {
    "about": {"summary": "what is compared", "expected": "nothing", "minutes": 1},
    "data": {"dataset": "sample_classification", "source": "sample"},
    "compare": {
        "encoders": [
            "elmo_small",
            {"handle": "bert_small", "learning_rates": [3.0e-4, 1.0e-4]},
            {"handle": "bert_small", "pretrained": False},
        ],
        "adaptations": ["feature_extraction", {"name": "two_stage", "head_epochs": 2}],
        "heads": ["default"],
        "learning_rates": {"default": [1.0e-3, 3.0e-4], "feature_extraction": [3.0e-3, 1.0e-3]},
        "seeds": 2,
    },
    "training": {"epochs": 3, "batch_size": 32},
}


@pytest.fixture
def load(tmp_path):
    def read(*overrides, seeds=None, **changes):
        path = tmp_path / "config.yaml"
        path.write_text(yaml.safe_dump(CONTENT | changes), "utf-8")
        return load_comparison(path, overrides, seeds)

    return read


def test_cells_are_encoders_times_adaptations_times_heads(load):
    found = load("compare.heads=[default, bcn]")
    assert [cell.name for cell in found.cells][:5] == [
        "elmo_small-feature_extraction",
        "elmo_small-feature_extraction-bcn",
        "elmo_small-two_stage_head_epochs_2",
        "elmo_small-two_stage_head_epochs_2-bcn",
        "bert_small-feature_extraction",
    ]
    assert len(found.cells) == 12
    assert found.cells[-1].name == "bert_small-untrained-two_stage_head_epochs_2-bcn"
    assert [cell.pretrained for cell in found.cells[-4:]] == [False] * 4
    assert found.cells[-1].config.adaptation.head_epochs == 2
    assert found.seeds == (0, 1)
    assert found.summary == "what is compared"
    assert found.trials == 2
    assert found.threads == 1
    assert load("compare.threads=4").threads == 4


def test_an_encoders_own_rates_come_first_then_those_of_the_adaptation(load):
    rates = {cell.name: cell.rates for cell in load().cells}
    assert rates["elmo_small-feature_extraction"] == (3e-3, 1e-3)
    assert rates["elmo_small-two_stage_head_epochs_2"] == (1e-3, 3e-4)
    assert rates["bert_small-feature_extraction"] == (3e-4, 1e-4)
    assert rates["bert_small-untrained-feature_extraction"] == (3e-3, 1e-3)


def test_each_cell_is_what_train_takes(load):
    for cell in load().cells:
        assert cell.config.training.learning_rate == cell.rates[0]
        assert cell.config.training.epochs == 3
        assert cell.config.training.seed == 0


def test_epochs_by_adaptation(load):
    found = load("compare.epochs={feature_extraction: 9}").cells
    assert [cell.config.training.epochs for cell in found] == [9, 3] * 3
    found = load("compare.epochs={default: 5, feature_extraction: 9}").cells
    assert [cell.config.training.epochs for cell in found] == [9, 5] * 3
    without = {"training": {"batch_size": 32}}
    found = load("compare.epochs={default: 5}", **without).cells
    assert [cell.config.training.epochs for cell in found] == [5, 5] * 3
    found = load("compare.epochs={feature_extraction: 9}", **without).cells
    assert [cell.config.training.epochs for cell in found] == [9, 6] * 3


def test_widths_by_head_or_adaptation(load):
    found = load("compare.head_units={feature_extraction: 50}").cells
    assert [cell.config.head_units for cell in found] == [50, None] * 3
    found = load("compare.heads=[bcn, linear]", "compare.head_units={bcn: 60}").cells
    assert [cell.config.head_units for cell in found] == [60, None] * 6


def test_settings_by_adaptation_are_laid_over_the_shared_ones(load):
    plain = load(schedule={"name": "cosine_decay", "per_phase": False}, optimizer={"decay": 0.4})
    found = load(
        "compare.settings.feature_extraction={optimizer: {decay: null}, head_dropout: 0.5}",
        "compare.settings.feature_extraction.training={weight_decay: 0, warmup: 0.2}",
        "compare.settings.two_stage.schedule={per_phase: true}",
        schedule={"name": "cosine_decay", "per_phase": False},
        optimizer={"decay": 0.4},
    )
    frozen, tuned = (cell.config for cell in found.cells[:2])
    assert (frozen.optimizer.decay, tuned.optimizer.decay) == (None, 0.4)
    assert (frozen.schedule.per_phase, tuned.schedule.per_phase) == (False, True)
    assert (frozen.schedule.name, tuned.schedule.name) == ("cosine_decay", "cosine_decay")
    assert (frozen.head_dropout, tuned.head_dropout) == (0.5, None)
    assert (frozen.training.weight_decay, tuned.training.weight_decay) == (0, 0.01)
    assert (frozen.training.warmup, frozen.training.epochs, frozen.training.batch_size) == (
        0.2,
        3,
        32,
    )
    # What is not named stays, and so do names and rates, of all encoders alike.
    assert [cell.name for cell in found.cells] == [cell.name for cell in plain.cells]
    assert [cell.rates for cell in found.cells] == [cell.rates for cell in plain.cells]
    assert found.cells[4].config.head_dropout == 0.5
    same = tuned.model_copy(update={"schedule": plain.cells[1].config.schedule})
    assert same == plain.cells[1].config


def test_settings_by_default_are_those_of_adaptations_that_are_not_named(load):
    found = load(
        "compare.settings.default={head_dropout: 0.3}",
        "compare.settings.feature_extraction={training: {clip_norm: null}}",
    )
    frozen, tuned = (cell.config for cell in found.cells[:2])
    assert (frozen.head_dropout, frozen.training.clip_norm) == (None, None)
    assert (tuned.head_dropout, tuned.training.clip_norm) == (0.3, 1.0)


def test_poolings_for_all_cells_or_by_adaptation(load):
    shared = load(head_pooling="mean").cells
    assert {cell.config.head_pooling for cell in shared} == {"mean"}
    own = load("compare.settings.feature_extraction={head_pooling: max}", head_pooling="mean").cells
    assert [cell.config.head_pooling for cell in own] == ["max", "mean"] * 3
    found = different_settings(own)["head_pooling"]
    assert list(found.values()) == ["max", "mean"] * 3


def test_a_penalty_of_one_adaptation(load):
    with pytest.raises(ConfigError, match="penalties.l2_sp: expected null with feature_extraction"):
        load(penalties={"l2_sp": {"alpha": 0.5}})
    found = load("compare.settings.two_stage.penalties={l2_sp: {alpha: 0.5}}").cells
    assert [cell.config.penalties.l2_sp is None for cell in found] == [True, False] * 3


@pytest.mark.parametrize(
    ("test", "score_on", "held_out", "expected"),
    [
        (False, "test", None, 0.1),  # dev has to play test
        (False, "test", 0.25, 0.25),
        (False, "dev", None, 0.1),
        (True, "test", None, None),
        (True, "dev", None, 0.1),
        (True, "dev", 0.25, 0.25),
        (True, "test", 0.25, "expected null where there is a test split, got 0.25.*score_on: dev"),
    ],
)
def test_what_chooses_is_not_what_is_scored(load, tmp_path, test, score_on, held_out, expected):
    (tmp_path / "data").mkdir()
    if test:
        (tmp_path / "data" / "test.tsv").write_text("")
    data = {"dataset": "sst2_sentences", "data_dir": str(tmp_path / "data"), "held_out": held_out}

    def found():
        return {
            cell.config.data.held_out
            for cell in load(f"compare.score_on={score_on}", data=data).cells
        }

    if isinstance(expected, str):
        with pytest.raises(ConfigError, match=rf"config.yaml:\d+: data.held_out: {expected}"):
            found()
    else:
        assert found() == {expected}


def test_an_encoder_from_the_hub_is_called_by_its_name(load):
    urls = [f"https://tfhub.dev/tensorflow/bert_{case}/4" for case in ("cased", "uncased")]
    found = load(f"compare.encoders={urls}", "compare.adaptations=[fine_tuning]").cells
    assert [cell.name for cell in found] == ["bert_cased-fine_tuning", "bert_uncased-fine_tuning"]


def test_texts_of_pairs_read_apart_are_another_cell(load):
    encoders = "[bert_small, {handle: bert_small, pairs: separate}]"
    found = load(f"compare.encoders={encoders}", "compare.learning_rates=[1.0e-3]").cells
    assert [cell.name for cell in found][::2] == [
        "bert_small-feature_extraction",
        "bert_small-separate-feature_extraction",
    ]


def test_seeds_of_the_command_line(load):
    assert load(seeds=5).seeds == (0, 1, 2, 3, 4)


MISTAKES = [
    ("compare.seeds=0", "compare.seeds: expected a whole number from 1 to 1000"),
    ("compare.encoders=[/]", "encoder.handle: expected the name of a shipped module ("),
    (f"compare.epochs={{default: {10**30}}}", "training.epochs: expected a whole number from"),
    ("compare.score_on=train", "compare.score_on: expected test or dev, got 'train'"),
    ("compare.threads=0", "compare.threads: expected a whole number from 1 to 1024, got 0"),
    ("compare.threads=true", "compare.threads: expected a whole number"),
    ("compare.encodrs=[a]", "did you mean encoders"),
    ("compare.encoders=[]", "compare.encoders: expected a list of handles"),
    ("compare.encoders=[{handl: a}]", "compare.encoders.0"),
    ("compare.encoders=[nowhere]", "encoder.handle"),
    ("compare.encoders=elmo_small", "compare.encoders: expected a list"),
    ("compare.encoders=[elmo_small, elmo_small]", "two cells are called"),
    ("compare.adaptations=[fine_tunin]", "compare.adaptations.0.name"),
    ("compare.adaptations=[{name: fine_tuning, every: 2}]", "not a key of fine_tuning"),
    ("compare.heads=[bcn, nonsense]", "head: expected"),
    ("compare.learning_rates={default: [fast]}", "compare.learning_rates.default.0"),
    ("compare.learning_rates={default: []}", "at least one rate"),
    ("compare.learning_rates=[1.0e-3, 1.0e-3]", "each once"),
    ("compare.learning_rates=[-1.0e-3, 1.0e-3]", "above 0"),
    ("compare.learning_rates=[1.0e-3]", "the same number of rates"),
    ("compare.epochs={default: 0}", "training.epochs"),
    ("compare.epochs={default: many}", "compare.epochs.default"),
    ("compare.encoders=5", "compare.encoders: expected a list"),
    ("compare.learning_rates={fine_tunning: [0.1]}", "did you mean fine_tuning"),
    ("compare.epochs={feature_extration: 5}", "did you mean feature_extraction"),
    ("compare.head_units={lineer: 5}", "did you mean linear"),
    ("training.strategy=multi_worker", "training.strategy: expected null"),
    ("compare=3", "expected"),
    ("head=bcn", "head: expected as compare.heads"),
    ("head_units=9", "head_units: expected as compare.head_units"),
    ("encoder.handle=elmo_small", "encoder: expected as compare.encoders"),
    ("training.learning_rate=0.1", "training.learning_rate: expected as compare.learning"),
    ("training.seed=1", "training.seed: expected as compare.seeds"),
    ("compare.head_units={linear: wide}", "compare.head_units.linear"),
    ("training.epochs=0", "training.epochs"),
    ("training=null", "training"),
]


# Of `compare.settings`; both without it.
IN_SETTINGS = [
    ("={fine_tunning: {}}", ".fine_tunning: expected one of default, "),
    ("={fine_tunning: {}}", ".fine_tunning: .*did you mean fine_tuning"),
    ("=[1]", ": expected a section by adaptation"),
    ("=null", ": expected a section by adaptation"),
    (".default=5", ".default: expected a section"),
    (".default.optimzer={decay: 0.4}", ".default.optimzer: unknown key; did you mean optimizer"),
    (".default.decay=0.4", ".default.decay: unknown key; did you mean optimizer.decay"),
    (".default.optimizer={decai: 0.4}", ".default.optimizer.decai: unknown .* you mean decay"),
    (
        ".default.optimizer={decay: '0.4'}",
        ".default.optimizer.decay: expected a number above 0, up",
    ),
    # No such cell.
    (".chain_thaw.training={weight_decay: -1}", ".chain_thaw.training.weight_decay: .* least 0"),
    (".default.training={learning_rate: 0.1}", ".default.training.learning_rate: expected as comp"),
    (".default.training={seed: 1}", ".default.training.seed: expected as compare.seeds"),
    (".two_stage.training={epochs: 1}", ".two_stage.training.epochs: expected as compare.epochs"),
    (".default.head=bcn", ".default.head: expected as compare.heads"),
    (".default.head_units=9", ".default.head_units: expected as compare.head_units"),
    (".default.encoder={}", ".default.encoder: expected as compare.encoders"),
    (".default.adaptation=x", ".default.adaptation: expected as compare.adaptations"),
    (".default.data={}", ".default.data: unknown key; expected one of auxiliary, head_dropout"),
]


def test_mistakes(load):
    for override, message in MISTAKES:
        with pytest.raises(ConfigError) as error:
            load(override)
        assert message in str(error.value)
    for override, message in IN_SETTINGS:
        with pytest.raises(ConfigError, match=f"--set: compare.settings{message}"):
            load(f"compare.settings{override}")
    with pytest.raises(ConfigError, match="cells of two_stage.: optimizer.factors: expected null"):
        load("compare.settings.two_stage.optimizer={decay: 0.4, factors: {head: 1.0}}")


def test_a_runs_config_is_no_comparison(tmp_path):
    path = tmp_path / "config.yaml"
    path.write_text("data: {}\n", "utf-8")
    with pytest.raises(ConfigError, match="one called compare"):
        load_comparison(path)


def test_a_mistake_is_shown_with_its_line(tmp_path):
    path = tmp_path / "config.yaml"
    lines = "compare:\n  encoders: [elmo_small]\n  adaptations: "
    for rest, message in (
        ("\n  - fine_tunning\n", "3: compare.adaptations.0"),
        (
            "[fine_tuning]\n  settings:\n    fine_tuning:\n      schedule: {name: step}\n",
            "6: compare.settings.fine_tuning.schedule.name: expected linear_decay",
        ),
    ):
        path.write_text(lines + rest)
        with pytest.raises(ConfigError, match=rf"config.yaml:{message}"):
            load_comparison(path)


def test_settings_that_are_not_the_same_in_all_cells_are_known(load):
    own = "compare.settings={feature_extraction: {optimizer: {decay: 0.4}}}"
    cells = load("compare.epochs={feature_extraction: 9}", own).cells
    found = different_settings(cells)
    assert set(found) == {"training.epochs", "optimizer.decay"}
    assert set(found["training.epochs"].values()) == {9, 3}
    assert found["optimizer.decay"][cells[0].name] == 0.4
    assert different_settings(load().cells) == {}


def test_freeze_and_tune_are_stored_under_their_names(load):
    tables = {
        "learning_rates": {"freeze": [3.0e-3], "tune": [1.0e-4]},
        "epochs": {"freeze": 9, "tune": 2},
        "settings": {"tune": {"head_dropout": 0.3}},
        "head_units": {"freeze": 50},
        "heads": ["default"],
        "encoders": [
            "bert_small",
            {"handle": "elmo_small", "learning_rates": {"freeze": [6.0e-3], "tune": [1.0e-3]}},
        ],
    }
    found = load(compare=tables | {"adaptations": ["freeze", {"name": "tune"}]})
    long = {"freeze": "feature_extraction", "tune": "fine_tuning"}
    written_out = {
        key: {long[word]: value for word, value in table.items()}
        for key, table in tables.items()
        if key not in ("encoders", "heads")
    }
    rates = {"feature_extraction": [6.0e-3], "fine_tuning": [1.0e-3]}
    encoders = ["bert_small", {"handle": "elmo_small", "learning_rates": rates}]
    written_out |= {"encoders": encoders, "adaptations": list(long.values())}
    same = load(compare=written_out | {"heads": ["default"]})
    assert found == same
    assert found.cells[0].name == "bert_small-feature_extraction"
    assert [cell.config.training.epochs for cell in found.cells] == [9, 2, 9, 2]
    # An override takes the place of what the file says in the other word.
    found = load(
        "compare.epochs.tune=4",
        compare=written_out | {"encoders": encoders, "adaptations": ["tune"]},
    )
    assert found.cells[0].config.training.epochs == 4


def test_one_adaptation_in_two_words_is_refused(load):
    with pytest.raises(
        ConfigError,
        match=r"yaml:\d+: compare.epochs.tune: expected one of tune and fine_tuning, .*both",
    ):
        load(compare=CONTENT["compare"] | {"epochs": {"tune": 1, "fine_tuning": 2}})


def test_each_of_two_stages_is_a_whole_training_unless_the_config_says_otherwise(load):
    adaptations = ["freeze", "tune", "two_stage", {"name": "two_stage", "head_epochs": 1}]
    compare = CONTENT["compare"] | {"encoders": ["elmo_small"], "adaptations": adaptations}
    changes = {"compare": compare | {"epochs": {"freeze": 15}}}

    def stages(*overrides):
        configs = [cell.config for cell in load(*overrides, **changes).cells[2:]]
        return [(c.adaptation.head_epochs, c.training.epochs) for c in configs], configs

    found, (whole, plain) = stages()
    assert found == [(15, 15 + 3), (1, 3)]
    assert (whole.schedule.per_phase, plain.schedule.per_phase) == (True, False)
    assert whole.schedule.first_phase == 3.1  # 2e-3 / 6.5e-4
    found, (whole, _) = stages("compare.settings.two_stage.schedule.per_phase=false")
    assert found[0] == (15, 18) and not whole.schedule.per_phase
    assert stages("compare.epochs.tune=5")[0] == [(15, 15 + 5), (1, 3)]
    changes["compare"]["adaptations"] = ["freeze", "tune", "two_stage"]
    assert stages("compare.epochs.two_stage=4")[0] == [(None, 4)]
    longer = extended(load(**changes), {"two_stage": Extension(True, (), {})}).cells[2]
    assert longer.more_epochs == 15 + 2 * 3  # the head's stage stays


def test_rates_where_the_config_names_none(load):
    encoders = ["elmo_small", "bert_small", "https://tfhub.dev/x/bert/1"]
    adaptations = ["freeze", "tune", "two_stage", "adapters"]
    cells = load(compare={"encoders": encoders, "adaptations": adaptations}).cells
    rates = {cell.name: cell.rates for cell in cells}
    assert {len(tried) for tried in rates.values()} == {3}
    assert rates["elmo_small-feature_extraction"] == rates["bert_small-feature_extraction"]
    assert rates["elmo_small-fine_tuning"] == (3e-3, 1e-3, 3e-4)
    assert rates["elmo_small-two_stage_head_epochs_3"] == (3e-3, 1e-3, 3e-4)
    assert rates["bert_small-fine_tuning"] == rates["bert-fine_tuning"] == (3e-4, 1e-4, 3e-5)
    assert rates["bert_small-adapters"] == (3e-3, 1e-3, 3e-4)
    cells = load(compare={"encoders": ["bert_small"], "adaptations": ["lora", "bitfit"]}).cells
    rates = {cell.name: cell.rates for cell in cells}
    assert rates == {
        "bert_small-lora": (3e-3, 1e-3, 5e-4),
        "bert_small-bitfit": (3e-3, 1e-3, 3e-4),
    }
    # Those of the config go first; then every cell must have as many.
    with pytest.raises(ConfigError, match="expected the same number of rates for every cell"):
        load(
            compare={
                "encoders": [{"handle": "elmo_small", "learning_rates": [1.0e-3]}, "bert_small"],
                "adaptations": ["tune"],
            }
        )


def test_lists_in_the_name_of_a_cell(load):
    lora = {"name": "lora", "rank": 2, "target": ["query", "key"], "in_layers": [2, 3]}
    compare = {"encoders": ["bert_small"], "adaptations": ["lora", lora]}
    plain, cell = load(compare=compare).cells
    assert plain.name == "bert_small-lora"
    assert cell.name == "bert_small-lora_rank_2_target_query+key_in_layers_2+3"
    assert cell.settings == {"rank": 2, "target": "query+key", "in_layers": "2+3"}


def test_all_problems_are_said_at_once(load):
    compare = CONTENT["compare"] | {"epochs": {"tunes": 1}, "sedes": 3}
    with pytest.raises(ConfigError) as caught:
        load(compare=compare, head="linear", training={"epochs": 3, "batch_sise": 32})
    problems = [problem.split(": ", 1)[1] for problem in str(caught.value).split(" | ")]
    assert [problem.split(":")[0] for problem in problems] == [
        "compare.sedes",
        "head",
        "training.batch_sise",
    ]
    del compare["sedes"]
    with pytest.raises(
        ConfigError, match=r"compare.epochs.tunes: expected one of .* \| .*data.genre"
    ):
        load(compare=compare, data=CONTENT["data"] | {"genre": 3})
    # What is wrong in every cell is said once.
    with pytest.raises(ConfigError) as caught:
        load(data={"dataset": "mrcp", "source": "tfds"})
    assert str(caught.value).count("mrcp") == 1
