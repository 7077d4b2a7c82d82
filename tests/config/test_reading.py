import math
from pathlib import Path

import pytest
import yaml

from hub_modules.shipped import PRETRAINED
from hub_modules.storage.strict_yaml import float_text, parse_yaml
from tf_adapt.comparison.plan.settings import load_comparison
from tf_adapt.config.data_sections import HOME
from tf_adapt.config.paths import resolve_paths
from tf_adapt.config.reading import config_from, dump_config, load_config
from tf_adapt.errors import ConfigError
from tf_adapt.printing.words import did_you_mean
from tf_adapt.report.shift import worst

CONFIGS = Path(__file__).resolve().parents[2] / "configs"
VALID = """\
data: {dataset: mrpc, source: tfds}
encoder: {handle: HANDLE}
adaptation: fine_tuning
training:
  epochs: 3
  batch_size: 32
  learning_rate: 2.0e-5
"""
OWN_PAIRS = {
    "format": "tsv",
    "kind": "pair_classification",
    "train": "train.tsv",
    "dev": "dev.tsv",
    "columns": {"text_a": "first", "text_b": "second", "label": "gold"},
}


@pytest.fixture
def config_file(tmp_path) -> Path:
    path = tmp_path / "config.yaml"
    path.write_text(VALID.replace("HANDLE", str(tmp_path)), encoding="utf-8")
    return path


def test_values_and_defaults(config_file):
    config = load_config(config_file)
    assert config.data.dataset == "mrpc"
    assert config.training.learning_rate == 2e-5
    assert (config.head, config.head_dropout, config.training.warmup) == ("default", None, 0.1)
    assert config.training.patience is None
    assert config.training.seed == 0


def test_overrides_and_seed(config_file):
    overrides = ["training.epochs=1", "training.devices=cpu:2", "data.train_examples=64"]
    config = load_config(config_file, [*overrides, "training.patience=null"], seed=7)
    assert config.training.epochs == 1
    assert config.training.devices == "cpu:2"
    assert config.data.train_examples == 64
    assert config.training.seed == 7


def test_override_makes_a_missing_section(config_file):
    path = config_file
    path.write_text(path.read_text().split("training:")[0])
    rates = ["training.epochs=1", "training.batch_size=8", "training.learning_rate=0.001"]
    assert load_config(path, rates).training.batch_size == 8


def test_dump_reads_back_equal(config_file, tmp_path):
    config = load_config(config_file, ["training.learning_rate=1.0e-7", "training.warmup=0"])
    copy = tmp_path / "copy.yaml"
    copy.write_text(dump_config(config), encoding="utf-8")
    assert load_config(copy) == config
    assert set(yaml.safe_load(dump_config(config))["training"]) == set(
        type(config.training).model_fields
    )


def test_resolved_paths_do_not_depend_on_the_folder(config_file, tmp_path, monkeypatch):
    (tmp_path / "module").mkdir()
    monkeypatch.chdir(tmp_path)
    overrides = ["encoder.handle=module", "data.source=files", "data.data_dir=texts"]
    config = resolve_paths(load_config(config_file, overrides))
    assert config.encoder.handle == str(tmp_path / "module")
    assert config.data.data_dir == str(tmp_path / "texts")
    url = resolve_paths(load_config(config_file, ["encoder.handle=https://example.org/bert/1"]))
    assert url.encoder.handle == "https://example.org/bert/1"


def test_own_files(config_file, tmp_path):
    content = yaml.safe_load(config_file.read_text()) | {"data": OWN_PAIRS}
    config = config_from(content, "here")
    assert config.data.columns.text_b == "second"
    assert config.data.columns.group is None
    assert config.data.test is None


def test_own_files_may_have_groups(config_file):
    for kind in ["classification", "pair_classification", "pair_regression"]:
        columns = {"text_a": "first", "label": "gold", "group": "source"}
        columns |= {"text_b": "second"} if kind.startswith("pair") else {}
        data = OWN_PAIRS | {"kind": kind, "columns": columns}
        config = config_from(yaml.safe_load(config_file.read_text()) | {"data": data}, "here")
        assert config.data.columns.group == "source"
        assert config_from(yaml.safe_load(dump_config(config)), "here") == config


WRONG_FILES = [
    ({"columns": {"text_a": "x", "label": "y"}}, r"data\.columns\.text_b: needed"),
    ({"kind": "classification"}, r"data\.columns\.text_b: not a column"),
    ({"kind": "tagging"}, r"data\.format: expected conll"),
    ({"format": "conll"}, r"data\.format: expected conll"),
    (
        {"kind": "tagging", "format": "conll", "columns": {"words": 0, "tags": 1, "group": "x"}},
        r"data\.columns\.group: not a column of kind: tagging",
    ),
    ({"columns": OWN_PAIRS["columns"] | {"group": 2}}, r"columns\.group: expected the name"),
    ({"colums": {}}, r"data\.colums: unknown key; did you mean columns\?"),
    ({"columns": {"txt_a": "x"}}, r"data\.columns\.txt_a: unknown key; did you mean text_a\?"),
    (
        {"columns": {"text": "x", "text_a": "x", "text_b": "y", "label": "z"}},
        r"data\.columns\.text: expected one of text and text_a, which are the same, got both",
    ),
    ({"labels": [False, True]}, r"data\.labels\.0: .*got False; YAML reads yes, no"),
    ({"label_range": [0]}, r"data\.label_range: expected two numbers"),
]


def test_own_files_refused(config_file):
    for change, message in WRONG_FILES:
        content = yaml.safe_load(config_file.read_text()) | {"data": OWN_PAIRS | change}
        with pytest.raises(ConfigError, match=message):
            config_from(content, "here")


OVERRIDES = [
    ("training.strategy=multi_worker", None),
    ("data.source=files", r"data\.data_dir: expected the folder"),
    ("encoder.handle=bert_smal", r"or keras:PRESET, got 'bert_smal'; did you mean bert_small\?"),
    ("encoder.handle=bge_small_en", "; a preset of keras-hub is given as keras:bge_small_en"),
    ("data.dataset=mrcp", r"expected one of .*mrpc.*did you mean mrpc\?"),
    ("data.dataset=sst2_phrases", r"expected 'sst2', as 'sst2_phrases' is called now"),
    ("training", "expected KEY=VALUE"),
    ("encoder.handle.x=1", "handle is a value, not a section"),
    ("learning_rate=1.0", r"did you mean training\.learning_rate\?"),
]


def test_overrides_are_checked(config_file):
    for override, message in OVERRIDES:
        if message is None:
            assert load_config(config_file, [override]).training.strategy == "multi_worker"
            continue
        with pytest.raises(ConfigError, match=message):
            load_config(config_file, [override])


def test_strategy_excludes_devices(config_file):
    overrides = ["training.strategy=multi_worker", "training.devices=all"]
    with pytest.raises(ConfigError, match=r"training\.strategy: expected null"):
        load_config(config_file, overrides)


def test_line_of_the_problem(config_file):
    path = config_file
    path.write_text(path.read_text().replace("batch_size: 32", "batch_size: '32'"))
    with pytest.raises(ConfigError, match=r"config\.yaml:6: training\.batch_size: .*got '32'"):
        load_config(path)


def test_float_text_is_a_number_for_yaml():
    for value in [2e-5, 1e-3, 1e16, 0.1, 3.5e-320, 1e300, 123456.75]:
        text = float_text(value)
        read = yaml.safe_load(text)
        assert isinstance(read, float)
        assert math.isclose(read, value)


def test_lines_of_keys():
    content, lines = parse_yaml("a:\n  b: 1\n  c:\n    - {d: 2}\n", "here")
    assert content == {"a": {"b": 1, "c": [{"d": 2}]}}
    assert lines == {("a",): 1, ("a", "b"): 2, ("a", "c"): 3, ("a", "c", 0, "d"): 4}


def test_nearest_name():
    assert did_you_mean("bert_smal", ["bert_small", "elmo_small"]) == "; did you mean bert_small?"
    assert did_you_mean("xyz", ["bert_small"]) == ""


def test_every_shipped_config_is_valid(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("configs").symlink_to(CONFIGS)  # configs name each other from the project's root
    paths = [path for path in sorted(CONFIGS.rglob("*")) if path.is_file()]
    assert [path for path in paths if path.suffix not in (".yaml", ".md")] == []
    files = [path for path in paths if path.suffix == ".yaml"]
    assert len(files) > 1
    for path in files:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
        encoders = content["compare"]["encoders"] if "compare" in content else [content["encoder"]]
        for encoder in encoders:
            handle = encoder if isinstance(encoder, str) else encoder["handle"]
            assert not Path(handle).is_absolute(), path
            converted_first = "/" in handle and "://" not in handle
            if converted_first and not Path(handle).exists():
                Path(handle).parent.mkdir(parents=True, exist_ok=True)
                Path(handle).symlink_to(PRETRAINED / "bert_small")
        if "compare" in content:
            assert load_comparison(path).summary is not None, path
        else:
            assert load_config(path).about is not None, path


def test_documents_of_tfds_have_no_boundaries():
    with pytest.raises(ConfigError, match="training.document_context: expected false with source"):
        load_config(
            CONFIGS / "names.yaml",
            ["data.source=tfds", "data.dataset=conll2003", "training.document_context=true"],
        )


def test_an_adaptation_is_a_name_or_a_section(config_file):
    name = load_config(config_file).adaptation
    assert (name.name, name.every, name.patience) == ("fine_tuning", None, None)
    every = ["adaptation.name=gradual_unfreezing", "adaptation.every=2"]
    section = load_config(config_file, every).adaptation
    # Complete: what was left out has the defaults of its adaptation.
    assert (section.every, section.unit, section.patience) == (2, "epochs", None)
    assert load_config(config_file, ["adaptation=gradual_unfreezing"]).adaptation.unit == "epochs"
    adapters = load_config(config_file, ["adaptation=adapters"]).adaptation
    assert (adapters.kind, adapters.size) == ("bottleneck", 64)
    assert (adapters.in_layers, adapters.activation, adapters.operation) == (None, "gelu", "dense")
    lora = load_config(
        config_file, ["adaptation={name: lora, alpha: 4, in_layers: [0]}"]
    ).adaptation
    assert (lora.rank, lora.alpha, lora.target, lora.in_layers) == (8, 4.0, ["query", "value"], [0])
    assert load_config(config_file, ["adaptation=bitfit"]).adaptation.rank is None


UNFIT = [
    (
        "data.shifted={'../x y': a.tsv}",
        r"data.shifted.../x y: .*names \(letters, digits, _ and -, at most 40; .*got '../x y'",
    ),
    ("data.shifted={home: a.tsv}", "data.shifted.home: .*not home, which reports .*got 'home'"),
    ("data.shifted={}", "data.shifted: expected .*got an empty section"),
    ("adaptation=thaw", "adaptation.name: expected one of feature_extraction"),
    ("adaptation=lp_ft", r"adaptation.name: .*got 'lp_ft'; did you mean two_stage\?"),
    ("adaptation.name=LP-FT", r"got 'LP-FT'; did you mean two_stage\?"),
    ("adaptation=setfit", r"adaptation.name: .*got 'setfit'; did you mean contrastive\?"),
    ("adaptation=fine_tunning", r"got 'fine_tunning'; did you mean fine_tuning\?"),
    ("adaptation={name: lora, target: [querys]}", r"target.0: .*'querys'; did you mean query\?"),
    ("optimizer.layer_wise=0.9", r"optimizer.layer_wise: unknown key; did you mean decay\?"),
    ("optimizer.llrd=0.9", r"optimizer.llrd: unknown key; did you mean decay\?"),
    (
        "training.layerwise_decay=0.9",
        r"training.layerwise_decay: unknown key; did you mean optimizer\.decay\?",
    ),
    ("adaptation=[fine_tuning]", "adaptation: expected a name, or a section.*got a list"),
    ("adaptation.every=2", "adaptation.every: not a key of fine_tuning, which takes reinit"),
    ("adaptation=two_stage; adaptation.layers=2", "not a key of two_stage, .* head_epochs, patie"),
    ("adaptation=lora; adaptation.rank=0", "adaptation.rank: .* from 1 to .*, got 0"),
    ("adaptation=lora; adaptation.alpha=0", "adaptation.alpha: .* above 0, or null, got 0"),
    (
        "adaptation={name: lora, target: [query, values]}",
        "target.1: expected a list of some of query, key, value, .* output, got 'values'",
    ),
    ("adaptation={name: lora, target: []}", "adaptation.target: expected a list of some"),
    ("adaptation={name: lora, target: [key, key]}", "target: .*once, got key, key"),
    ("adaptation={name: lora, in_layers: [-1]}", "adaptation.in_layers.0: .*, got -1"),
    ("adaptation={name: lora, in_layers: [1, 1]}", "in_layers: expected each once, got 1, 1"),
    ("adaptation={name: lora, layers: 1}", "layers: not a key of lora, which takes rank, alp"),
    ("adaptation={name: bitfit, rank: 8}", "rank: not a key of bitfit, which takes none"),
    (
        "adaptation={name: adapters, kind: projected_attention, in_layers: [0]}",
        "adaptation.in_layers: expected no such key with kind: projected_attention",
    ),
    ("adaptation={name: adapters, operation: pooling}", "operation: expected dense or conv"),
    ("adaptation=chain_thaw; adaptation.every=0", "adaptation.every: .* from 1 to"),
    ("adaptation=chain_thaw; adaptation.unit=hours", "adaptation.unit: expected epochs"),
    ("adaptation={name: chain_thaw, unit: steps, patience: 1}", "patience: expected unit: epochs"),
    ("optimizer.name=rmsprop", "optimizer.name: expected adamw, sgd, lamb or lion"),
    ("optimizer.momentum=0.9", "optimizer.momentum: .*only sgd takes one"),
    ("optimizer.decay=0", "optimizer.decay: expected a number above 0, up to 1"),
    ("optimizer.factors={head: -1.0}", "optimizer.factors.head: .* at least 0, got -1.0"),
    ("optimizer.decay=0.4; optimizer.factors={head: 1.0}", "factors: expected null"),
    ("schedule.name=step", "schedule.name: expected linear_decay, slanted_triangular"),
    ("schedule.name=slanted_triangular; training.warmup=0", "training.warmup: .*got 0"),
    (
        "schedule.per_phase=true; adaptation={name: two_stage, patience: 1}",
        "schedule.per_phase: expected false together with adaptation.patience",
    ),
    ("schedule.first_phase=9.0", "schedule.first_phase: expected 1 without schedule.per_phase"),
    ("penalties.l2_sp={alpha: 0.0}", "penalties.l2_sp.alpha: expected a number above 0"),
    ("adaptation=freeze; penalties.l2_sp={alpha: 1.0}", "l2_sp: expected null with feature_ext"),
    ("auxiliary.distillation={weight: 0.0}", "auxiliary.distillation.weight: .* above 0"),
    ("auxiliary.language_model={weight: 1.0, final_weight: 0.5}", "expected both or neither"),
    ("penalties.ewc={weight: 1.0}", "penalties.ewc.fisher: expected the path of a file"),
]


def test_what_does_not_fit_an_adaptation_is_refused(config_file):
    for overrides, message in UNFIT:
        with pytest.raises(ConfigError, match=message):
            load_config(config_file, overrides.split("; "))


def test_poolings_fit_the_kind_of_task(config_file):
    tagging = ["data.dataset=sample_tagging", "data.source=sample"]
    pair = load_config(config_file, ["head_pooling=mean"])
    assert (pair.head_pooling, pair.head_word_pieces) == ("mean", None)
    assert load_config(config_file, [*tagging, "head_word_pieces=max"]).head_word_pieces == "max"
    for overrides, message in (
        (["head_pooling=sum"], "head_pooling: expected first, last, mean, max, or null"),
        (["head_word_pieces=mean"], "head_word_pieces: expected null for pair_classification, got"),
        (
            ["head=concat_pooling", "training.batch_size=1"],
            "training.batch_size: expected at least 2 with head: concat_pooling",
        ),
        ([*tagging, "head_pooling=mean"], "head_pooling: expected null for tagging, whose heads"),
    ):
        with pytest.raises(ConfigError, match=message):
            load_config(config_file, overrides)


def test_paths_of_penalties_are_resolved(config_file, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    config = resolve_paths(load_config(config_file, ["penalties.ewc={fisher: f.npz}"]))
    assert config.penalties.ewc.fisher == str(tmp_path / "f.npz")


def test_freeze_and_tune_are_stored_under_their_names(config_file):
    for word, name in [("freeze", "feature_extraction"), ("tune", "fine_tuning")]:
        for override in (f"adaptation={word}", f"adaptation.name={word}"):
            config = load_config(config_file, [override])
            assert config.adaptation.name == name
            assert f"name: {name}" in dump_config(config)
            assert config == load_config(config_file, [f"adaptation={name}"])


def test_text_is_short_for_text_a(config_file):
    columns = {"text": "review", "label": "stars"}
    data = OWN_PAIRS | {"kind": "classification", "columns": columns}
    content = yaml.safe_load(config_file.read_text()) | {"data": data}
    config = config_from(content, "here")
    assert (config.data.columns.text_a, columns) == ("review", {"text": "review", "label": "stars"})
    assert config_from(yaml.safe_load(dump_config(config)), "here") == config
    config_file.write_text(yaml.safe_dump(content))
    assert load_config(config_file, ["data.columns.text=body"]).data.columns.text_a == "body"
    assert load_config(config_file, ["data.columns.text_a=body"]).data.columns.text_a == "body"


def test_all_problems_are_said_at_once_the_mistyped_key_first(config_file):
    text = config_file.read_text().replace("learning_rate", "learning_rat")
    text = text.replace("epochs: 3", "epochs: 0").replace("mrpc", "mrpc, held_out: 2")
    config_file.write_text(text + "head: bnc\nadaption: x\n")
    with pytest.raises(ConfigError) as caught:
        load_config(config_file)
    assert [problem.split("config.yaml")[-1] for problem in str(caught.value).split(" | ")] == [
        ":1: data.held_out: expected a share of train between 0 and 1, or null, got 2",
        ":7: training.learning_rat: unknown key; did you mean learning_rate?",
        ":9: adaption: unknown key; did you mean adaptation?",
        ":8: head: expected default, linear, max_pooling, bi_attention, skip_thoughts, infersent, "
        "cosine, euclidean, bcn, concat_pooling, esim, linear_tagger, "
        "crf, bilstm, bilstm_crf, span_extractor, got 'bnc'; did you mean bcn?",
        ":5: training.epochs: expected a whole number from 1 to 1000000, or null for the default, "
        "got 0",
    ]


def test_problems_beyond_single_keys_are_said_at_once_with_their_lines(config_file):
    text = config_file.read_text().replace("fine_tuning", "{name: chain_thaw, layers: 1}")
    text = text.replace("mrpc, source: tfds", "mrcp")
    config_file.write_text(text + "optimizer: {momentum: 0.9, decay: 0.4, factors: {head: -1.0}}\n")
    with pytest.raises(ConfigError) as caught:
        load_config(config_file)
    keys = [problem.split(": ")[:2] for problem in str(caught.value).split(" | ")]
    assert [(place.split(".yaml:")[-1], key) for place, key in keys] == [
        ("3", "adaptation.layers"),
        ("8", "optimizer.momentum"),
        ("8", "optimizer.factors"),
        ("8", "optimizer.factors.head"),
        ("1", "data.dataset"),
        ("1", "data.data_dir"),
    ]


def test_no_more_than_ten_problems_are_listed(config_file):
    config_file.write_text(config_file.read_text() + "".join(f"head{n}: 1\n" for n in range(14)))
    with pytest.raises(ConfigError) as caught:
        load_config(config_file)
    problems = str(caught.value).split(" | ")
    assert (len(problems), problems[-1]) == (11, "and 4 more")


def test_the_name_that_no_domain_may_have_is_that_of_the_reports():
    assert worst.HOME == HOME
