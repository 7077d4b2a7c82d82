"""Signals as cells: what is laid over what, their names, their order, and their report."""

import json
from dataclasses import replace
from types import SimpleNamespace

import finished_runs
import numpy as np
import pytest
import yaml
from click.testing import CliRunner
from sketch import SKETCH
from worker_here import WorkerHere

from tf_adapt.commands.students import check
from tf_adapt.comparison import winner_export, written_report
from tf_adapt.comparison.cell_results import seed_results
from tf_adapt.comparison.comparing import compare
from tf_adapt.comparison.execution import local
from tf_adapt.comparison.execution.executors import Resources
from tf_adapt.comparison.execution.outcomes import Outcomes
from tf_adapt.comparison.execution.runs import remember_failure
from tf_adapt.comparison.plan import students
from tf_adapt.comparison.plan.cells import different_settings
from tf_adapt.comparison.plan.dry_run import dry_run
from tf_adapt.comparison.plan.settings import load_comparison
from tf_adapt.comparison.plan.signals import in_words
from tf_adapt.comparison.plan_in_words import lines
from tf_adapt.comparison.signal_results import signals_in_words
from tf_adapt.config.reading import load_config
from tf_adapt.errors import ConfigError, DataError
from tf_adapt.runs import checkpoints, run_folder
from tf_adapt.training.train import train

pytestmark = pytest.mark.usefixtures("unmeasured")
PAIRS = {"dataset": "sample_pair_classification", "source": "sample", "train_examples": 32}
TOGETHER = {"tasks": {"pairs": {"data": PAIRS}}, "target": "words", "sampling": "uniform"}


def writer(write_config, tiny_bert, folder):
    """Writes a comparison with these signals, and `first.yaml`, a config to start from."""
    first = {
        "data": PAIRS,
        "encoder": {"handle": str(tiny_bert)},
        "adaptation": "fine_tuning",
        "training": {"epochs": 1, "batch_size": 16, "learning_rate": 1e-2, "seed": 7},
    }
    (folder / "first.yaml").write_text(yaml.safe_dump(first), "utf-8")

    def write(signals, **changes):
        # Of two layers: a student may keep one.
        plain = {"encoders": [str(tiny_bert)], "adaptations": ["fine_tuning"]}
        plain |= {"seeds": 1, "heads": None, "training": {"epochs": 1}}
        return write_config(signals=signals, **plain | changes)

    return write


@pytest.fixture
def write(write_config, tiny_bert, tmp_path):
    return writer(write_config, tiny_bert, tmp_path)


@pytest.fixture
def first(tmp_path):
    return {"config": str(tmp_path / "first.yaml")}


def named(comparison):
    return {cell.signal: cell for cell in comparison.cells}


def test_each_signal_is_a_cell_of_each_adaptation(write, first):
    signals = {"alone": {}, "after_pairs": {"start": first}, "together": TOGETHER}
    settings = {"fine_tuning": {"training": {"weight_decay": 0.2, "warmup": 0.3}}}
    signals["longer"] = {"training": {"epochs": 5, "weight_decay": 0.5}}
    path = write(signals, adaptations=["fine_tuning", "top_layers"], settings=settings)
    found = load_comparison(path)
    assert [cell.name.partition("-")[2] for cell in found.cells] == [
        f"{adaptation}-{signal}"
        for adaptation in ("fine_tuning", "top_layers")
        for signal in ("after_pairs", "alone", "longer", "together")  # as they are in the file
    ]
    cells = named(found)
    assert cells["alone"].settings["signal"] == "alone" and cells["alone"].config.start is None
    assert cells["after_pairs"].config.start.config == first["config"]
    tuned = {cell.signal: cell.config.training for cell in found.cells[:4]}
    assert {name: one.weight_decay for name, one in tuned.items()} == {
        "after_pairs": 0.2,
        "alone": 0.2,
        "longer": 0.5,
        "together": 0.2,
    }
    assert {one.warmup for one in tuned.values()} == {0.3}
    assert tuned["longer"].epochs == 5 and tuned["alone"].epochs == 1
    together = cells["together"].config
    assert list(together.tasks) == ["words", "pairs"] and together.target == "words"
    # dev is scored, in every cell: the comparison's own data are cut alike.
    assert together.tasks["words"].data == cells["alone"].config.data == found.data
    assert found.data.held_out == 0.1 and together.tasks["pairs"].data.held_out is None
    assert {"training.epochs", "training.weight_decay"}.isdisjoint(different_settings(found.cells))
    assert different_settings(found.cells[:4]) == {}


def test_a_signal_may_be_for_some_adaptations(write):
    signals = {
        "alone": {},
        "big": {"adaptations": ["tune"], "ensemble": 2},
        "small": {"adaptations": ["tune"], "teacher": {"signal": "big"}},
        "slow": {"adaptations": ["top_layers"], "optimizer": {"decay": 0.4}},
    }
    adaptations = ["fine_tuning", "top_layers"]
    cells = load_comparison(write(signals, adaptations=adaptations)).cells
    found = [(cell.config.adaptation.name, cell.signal) for cell in cells]
    expected = {("fine_tuning", name) for name in ("alone", "big", "small")}
    assert set(found) == expected | {("top_layers", "alone"), ("top_layers", "slow")}
    taught = {cell.signal: cell.teacher for cell in cells}
    assert taught["small"] == cells[found.index(("fine_tuning", "big"))].name
    said = in_words(cells[found.index(("top_layers", "slow"))].laid)
    assert said == "optimizer: {decay: 0.4} (with top_layers alone)"
    signals["small"] = {"teacher": {"signal": "big"}}
    with pytest.raises(ConfigError, match="small.teacher.signal: .*that top_layers has too"):
        load_comparison(write(signals, adaptations=adaptations))


def test_a_signal_may_be_for_some_encoders(write, first, tiny_bert):
    """So that cells of another encoder need not begin where this one does."""
    signals = {"alone": {}, "after_pairs": {"start": first, "encoders": [str(tiny_bert)]}}
    encoders = ["elmo_small", str(tiny_bert)]
    found = load_comparison(write(signals, encoders=encoders))
    named = [(cell.name.partition("-")[0], cell.signal) for cell in found.cells]
    assert named == [("elmo_small", "alone"), *[("tiny_bert", one) for one in sorted(signals)]]
    assert list(found.starts) == [first["config"]]
    (laid,) = (cell.laid for cell in found.cells if cell.signal == "after_pairs")
    assert in_words(laid) == f"start: {{config: {first['config']}}} (with {tiny_bert} alone)"
    signals["small"] = {"teacher": {"signal": "after_pairs"}}
    with pytest.raises(ConfigError, match="small.teacher.signal: .*has too on elmo_small, got aft"):
        load_comparison(write(signals, encoders=encoders))
    signals["small"] |= {"encoders": [str(tiny_bert)]}
    assert len(load_comparison(write(signals, encoders=encoders)).cells) == 4
    with pytest.raises(
        ConfigError, match="one for every adaptation of every encoder, got none for fine_tuning"
    ):
        load_comparison(write({"x": {"encoders": ["elmo_small"]}}, encoders=encoders))
    with pytest.raises(
        ConfigError, match="x.encoders: expected some of compare.encoders .*elmo_sm"
    ):
        load_comparison(write({"alone": {}, "x": {"encoders": ["elmo"]}}, encoders=encoders))


def test_an_encoder_of_a_signal_is_for_one_encoder(write, tiny_bert):
    other = {"encoder": {"handle": "bert_small"}}
    encoders = ["elmo_small", str(tiny_bert)]
    with pytest.raises(
        ConfigError,
        match=r"signals.other.encoder: expected keys .*got handle, with .* \(encoders: \[elmo_sm",
    ):
        load_comparison(write({"alone": {}, "other": other}, encoders=encoders))
    signals = {"alone": {}, "other": other | {"encoders": ["elmo_small"]}}
    assert len(load_comparison(write(signals, encoders=encoders)).cells) == 3
    with pytest.raises(ConfigError, match="two cells are called .*; list each encoder"):
        load_comparison(write({"other": other}, encoders=["elmo_small", "elmo_small"]))


def test_heads_of_slices_are_a_signal(write, tmp_path):
    path = write({"without": {}, "with_heads": {"slice_heads": True}})
    content = yaml.safe_load(path.read_text()) | {"slices": {"who": {"words": ["who"]}}}
    path.write_text(yaml.safe_dump(content), "utf-8")
    comparison = load_comparison(path)
    assert {name: cell.config.slice_heads for name, cell in named(comparison).items()} == {
        "without": False,
        "with_heads": True,
    }
    assert not comparison.slice_heads and different_settings(comparison.cells) == {}
    found = {cell["settings"]["signal"]: cell for cell in dry_run(comparison)["cells"]}
    sizes = [found[name]["parameters"]["total"] for name in ("without", "with_heads")]
    assert sizes[1] - sizes[0] == 4 * (16 + 1)  # a linear head of 4 labels on 16 units
    content["compare"]["signals"] = {"together": TOGETHER}
    path.write_text(yaml.safe_dump(content), "utf-8")
    (cell,) = load_comparison(path).cells  # the slices are those of the own task
    assert cell.config.of_task("words").slices == comparison.slices
    folds = write({"x": {"slice_heads": True, "leave_out_parts": 2}})
    with pytest.raises(
        ConfigError, match="x.slice_heads: expected false together with leave_out_parts"
    ):
        load_comparison(folds)


def test_a_start_waits_for_nothing_and_its_cells_for_it(write, first, tmp_path, monkeypatch):
    path = write({"alone": {}, "after_pairs": {"start": first}}, seeds=2)
    outcomes = Outcomes(load_comparison(path), tmp_path / "out")
    start, *others = outcomes.waiting()
    assert start.cell.name == "start_first" and start.seed == 7
    assert start.arguments()[-1] == "7" and start.folder.parent.parent.name == "start_first"
    assert {run.cell.signal for run in others} == {"alone"} and len(others) == 2
    assert outcomes.unfinished_cells() == 2 and outcomes.counts() == (0, 5)
    monkeypatch.setattr(Outcomes, "is_over", lambda self, run: self.is_start(run))
    after = [run for run in outcomes.waiting() if run.cell.signal == "after_pairs"]
    assert len(after) == 2
    given = " ".join(after[0].arguments())
    assert f'--set start.run="{start.folder}" --set start.config=null' in given
    config = load_config(path_of_cell(after[0], outcomes), overrides_of(after[0]))
    assert config.start.run == str(start.folder) and config.start.config is None


def path_of_cell(run, outcomes):
    from tf_adapt.config.reading import dump_config

    run.config.parent.mkdir(parents=True, exist_ok=True)
    run.config.write_text(dump_config(run.cell.config), "utf-8")
    return run.config


def overrides_of(run):
    arguments = run.arguments()
    return [arguments[n + 1] for n, one in enumerate(arguments) if one == "--set"]


def test_a_part_of_train_is_of_the_own_task(write, tmp_path):
    path = write({"together": TOGETHER}, data={"train_examples": None}, train_examples=[8, "all"])
    outcomes = Outcomes(load_comparison(path), tmp_path / "out").of_sizes()[0]
    (run,) = outcomes.final_runs(outcomes.comparison.cells[0])
    assert "tasks.words.data.train_examples=8" in run.arguments()
    config = load_config(path_of_cell(run, outcomes), overrides_of(run))
    assert config.tasks["words"].data.train_examples == 8
    assert config.tasks["pairs"].data.train_examples == 32


@pytest.mark.slow
def test_dry_run_shows_signals_and_what_is_trained_first(write, first):
    path = write({"alone": {}, "after_pairs": {"start": first}, "together": TOGETHER})
    found = dry_run(load_comparison(path))
    assert found["first"] == [first["config"]] and found["runs"] == 4
    trained = {cell["settings"]["signal"]: cell["parameters"] for cell in found["cells"]}
    assert trained["together"]["trainable"] > trained["alone"]["trainable"]  # a head more
    said = lines(found)
    assert f"trains first, once: {first['config']}" in said
    assert "runs: 4 = 1 that others start from + 3 cells × 1 seed" in said


MISTAKES = [
    ({"a b": {}}, "compare.signals.a b: expected a name of letters, digits and _"),
    ([], "compare.signals: expected a section by name"),
    ({"x": None}, "compare.signals.x: expected"),
    ({"x": {"strat": {}}}, "compare.signals.x.strat: .*start"),
    ({"x": {"head": "bcn"}}, "compare.signals.x.head: expected as compare.heads"),
    ({"x": {"training": {"seed": 3}}}, "x.training.seed: expected as compare.seeds"),
    ({"x": {"start": {}}}, r"config.yaml:\d+: start: expected either run, .*got neither"),
    ({"x": {"start": {"config": "nowhere.yaml"}}}, r"config.yaml:\d+: start.config:"),
    ({"x": TOGETHER | {"target": None}}, "x.target: expected a name for .*got null"),
    ({"x": TOGETHER | {"target": "pairs"}}, "x.target: .*got pairs, which is one of them"),
    ({"x": {"target": "words"}}, r"config.yaml:\d+: target: expected null without tasks"),
    (
        {"x": {"tasks": {"pairs": {"data": PAIRS | {"datset": 1}}}, "target": "words"}},
        "compare.signals.x.tasks.pairs.data.datset: ",
    ),
    ({"x": TOGETHER | {"ensemble": 2}}, "x.ensemble: expected null together with tasks, got 2"),
    ({"x": {"ensemble": 1}}, "compare.signals.x.ensemble: expected a whole number from 2"),
    (
        {"x": {"leave_out_parts": 1}},
        "compare.signals.x.leave_out_parts: expected a whole number from 2",
    ),
    (
        {"x": TOGETHER | {"leave_out_parts": 3}},
        "x.leave_out_parts: expected null together with tasks, got 3",
    ),
    (
        {"x": {"ensemble": 2, "leave_out_parts": 3}},
        "x.leave_out_parts: expected null together with ensemble, got",
    ),
    ({"x": {"teacher": {"weight": 0.5}}}, "x.teacher: expected either run or signal, got nei"),
    (
        {"big": {}, "x": {"teacher": {"signal": "bgi"}}},
        r"config.yaml:\d+: compare.signals.x.teacher.signal: .*\(big\), got bgi.*mean.*big",
    ),
    ({"x": {"teacher": {"signal": "x"}}}, r"x.teacher.signal: .*\(there is none\), got x"),
    ({"x": {"adaptations": ["top_layers"]}}, "signals: expected at least one for every adap"),
    ({"x": {}, "y": {"adaptations": ["freeze"]}}, "y.adaptations: .*got .feature_extraction"),
    ({"x": {}, "y": {"adaptations": ["fine"]}}, "compare.signals.y.adaptations"),
    ({"x": TOGETHER | {"teacher": {"run": "a"}}}, r"config.yaml:\d+: teacher: expected null"),
]


def test_c1_mistakes(write):
    for signals, message in MISTAKES:
        with pytest.raises(ConfigError, match=message):
            load_comparison(write(signals))


WITH_CRF = [
    ("elmo_small", {"big": {"ensemble": 3}, "small": {"teacher": {"signal": "big"}}}),
    (
        "bert_small",
        {
            "big": {"encoder": {"handle": "elmo_small"}},
            "small": {"teacher": {"signal": "big"}},
        },
    ),
]


def test_c1_a_crf_teaches_or_is_taught(write):
    for encoder, signals in WITH_CRF:
        data = {"dataset": "sample_tagging"}
        path = write(signals, data=data, encoders=[encoder], learning_rates=None)
        with pytest.raises(
            ConfigError, match="compare.heads: .* for signal small .*got default of elm"
        ):
            load_comparison(path)
        path = write(signals, data=data, encoders=[encoder], heads=["bilstm"], learning_rates=None)
        assert len(load_comparison(path).cells) == 2


BAD_TEXTS = [
    ("text\tlabel\nwho\tperson\n", "cell .*-small: .*more.tsv:2: expected texts without labels"),
    ("text\n" + 600 * "who " + "\n", "cell .*-small: .*more.tsv:2: .*truncate: true"),
]


@pytest.mark.slow
def test_texts_for_a_teacher_to_come_are_read_before_anything_is_trained(
    write, shallow_bert, tmp_path
):
    """By a dry run too."""
    texts = tmp_path / "more.tsv"
    teacher = {"signal": "big", "unlabelled": str(texts)}
    signals = {"big": {}, "small": {"teacher": teacher}}
    comparison = load_comparison(write(signals, encoders=[str(shallow_bert)]))
    for refusing, (content, message) in zip(
        (dry_run, lambda comparison: compare(comparison, tmp_path / "out")), BAD_TEXTS, strict=True
    ):
        texts.write_text(content, "utf-8")
        with pytest.raises(DataError, match=message):
            refusing(comparison)
    assert not (tmp_path / "out").exists()


def test_tasks_of_all_cells_are_signals(write, tmp_path):
    path = write({"alone": {}})
    content = yaml.safe_load(path.read_text()) | {"target": "words"}
    path.write_text(yaml.safe_dump(content), "utf-8")
    with pytest.raises(ConfigError, match="target: .*in compare.signals alone"):
        load_comparison(path)


def test_an_ensembles_members_come_first_and_its_students_last(write, tmp_path, monkeypatch):
    signals = {
        "both": {"ensemble": 2},
        "small": {"encoder": {"keep_layers": [0]}, "teacher": {"signal": "both", "weight": 0.7}},
    }
    path = write(signals, seeds=2)
    comparison = load_comparison(path)
    cells = named(comparison)
    assert cells["small"].teacher == cells["both"].name and cells["both"].together == 2
    assert (
        cells["small"].config.teacher.run == "both" and cells["small"].config.teacher.weight == 0.7
    )
    outcomes, over = Outcomes(comparison, tmp_path / "out"), set()
    monkeypatch.setattr(Outcomes, "metrics", lambda self, run: {} if run.folder in over else None)
    order = []
    while waiting := list(outcomes.waiting()):
        order.append([(run.cell.signal, run.seed, run.together) for run in waiting])
        over.add(waiting[0].folder)
    assert order[0] == [("both", seed, 0) for seed in (2000, 2001, 2002, 2003)]
    # An ensemble as soon as its members are there; a student when its own teacher is.
    assert order[2] == [("both", 0, 2), ("both", 2002, 0), ("both", 2003, 0)]
    assert order[3] == [("both", 2002, 0), ("both", 2003, 0), ("small", 0, 0)]
    assert order[-1] == [("small", 1, 0)] and outcomes.counts() == (8, 8)
    (first, second) = outcomes.final_runs(cells["both"])
    members = [str(run.folder) for run in second.members]
    assert second.arguments() == ["ensemble", *members, "--out", str(second.folder)]
    assert len({run.folder for run in (*first.members, *second.members, first, second)}) == 6
    student = outcomes.final_runs(cells["small"])[1]
    assert f'teacher.run="{second.folder}"' in student.arguments()
    config = load_config(path_of_cell(student, outcomes), overrides_of(student))
    assert config.teacher.run == str(second.folder) and config.encoder.keep_layers == [0]


@pytest.mark.parametrize("size", [None, 8])
def test_students_of_a_teacher_that_diverged_have_failed(write, tmp_path, size):
    signals = {"alone": {}, "big": {"ensemble": 2}, "small": {"teacher": {"signal": "big"}}}
    sizes = {} if size is None else {"train_examples": [size, "all"]}
    path = write(
        signals, seeds=2, learning_rates=[1.0e-2, 1.0e-3], data={"train_examples": None}, **sizes
    )
    outcomes = Outcomes(load_comparison(path), tmp_path / "out")
    for one in outcomes.of_sizes():
        for run in one.trials(named(outcomes.comparison)["big"]):
            assert not any(map(outcomes.failed, one.trials(named(outcomes.comparison)["small"])))
            remember_failure(run, "not finite")
    assert {run.cell.signal for run in outcomes.waiting()} == {"alone"}
    assert outcomes.unfinished_cells() == 1
    for run in [run for one in outcomes.of_sizes() for run in one.trials(one.comparison.cells[0])]:
        remember_failure(run, "not finite")
    over, total = outcomes.counts()
    assert over == total == 6 * len(outcomes.of_sizes())
    small = named(outcomes.comparison)["small"]
    baseline = SimpleNamespace(scores={"dev": 0.5, "test": 0.5})
    splits = SimpleNamespace(kind="classification")
    scored = SimpleNamespace(splits=splits, predictions={}, baseline=baseline)
    assert seed_results(outcomes, small, scored).outcomes == ["diverged", "diverged"]
    said = signals_in_words(outcomes, "accuracy")
    assert said["small"][1] == (
        f"{small.name} failed, for all runs of its teacher {small.teacher} diverged"
    )
    assert len(said["alone"]) == len(said["big"]) == 1


def test_members_of_an_ensemble_have_the_same_part_of_train(write, tmp_path):
    path = write(
        {"both": {"ensemble": 2}}, data={"train_examples": None}, train_examples=[8, "all"]
    )
    outcomes = Outcomes(load_comparison(path), tmp_path / "out").of_sizes()[0]
    (run,) = outcomes.final_runs(outcomes.comparison.cells[0])
    assert all("data.train_examples_seed=0" in one.arguments() for one in run.members)


def test_each_member_leaves_out_another_part(write, tmp_path):
    signals = {"both": {"ensemble": 3}, "parts": {"leave_out_parts": 3}}
    path = write(signals, data={"train_examples": None}, train_examples=[30], seeds=2)
    outcomes = Outcomes(load_comparison(path), tmp_path / "out").of_sizes()[0]
    cell = named(outcomes.comparison)["parts"]
    runs = outcomes.final_runs(cell)
    for run in runs:
        folds = []
        for member in run.members:
            config = load_config(path_of_cell(member, outcomes), overrides_of(member))
            assert config.data.train_examples_seed == config.data.leave_out.seed == run.seed
            assert config.data.leave_out.of == 3
            folds.append(config.data.leave_out.part)
        assert folds == [0, 1, 2]
    folders = {run.folder for one in runs for run in (one, *one.members)}
    assert len(folders) == 2 + 2 * 3


def test_c1_a_part_is_left_out_already(write):
    path = write({"parts": {"leave_out_parts": 2}}, data={"leave_out": {"of": 3, "part": 1}})
    with pytest.raises(
        ConfigError, match=r"config.yaml:\d+: data.leave_out: .* null beside leave_out_parts"
    ):
        load_comparison(path)


def test_c1_more_parts_than_examples(write, tmp_path):
    path = write(
        {"parts": {"leave_out_parts": 5}}, data={"train_examples": None}, train_examples=[4]
    )
    for refused in (dry_run, lambda comparison: compare(comparison, tmp_path / "out")):
        with pytest.raises(ConfigError, match="parts.leave_out_parts: expected at most 4, .*got 5"):
            refused(load_comparison(path))


SIGNALS = {
    "after_pairs": {"start": {"config": "first.yaml"}},
    "parts": {"leave_out_parts": 2},
    "small": {"encoder": {"keep_layers": [0]}, "teacher": {"signal": "parts"}},
}


@pytest.fixture(scope="module")
def made(config_writer, tiny_bert, tmp_path_factory):
    """A comparison of a start, an ensemble and its student.

    Returns:
        what writes its config with other signals, its folder, and what was found.
    """
    folder = tmp_path_factory.mktemp("signals")
    write = writer(config_writer(folder), tiny_bert, folder)
    path, out = write(SIGNALS), folder / "out"
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(local, "_start", WorkerHere)
        patch.setattr(students, "subprocess", SimpleNamespace(run=checked_here))
        patch.setattr("tf_adapt.report.write.draw", lambda *given: SKETCH)
        content = compare(load_comparison(path), out, resources=Resources(jobs=1))
    return write, out, content


def checked_here(command, **how):
    """In place of a process that checks students, which would import TensorFlow first."""
    done = CliRunner().invoke(check, command[command.index("check") + 1 :])
    return SimpleNamespace(returncode=done.exit_code, stderr=done.stderr)


def run_hash(folder):
    metrics = run_folder.finished_metrics(folder)
    return checkpoints.check(run_folder.best_folder(folder, metrics))["model.npz"]


@pytest.fixture
def beside(made, monkeypatch):
    """`made`, in the folder of its configs, without drawing reports again."""
    monkeypatch.chdir(made[1].parent)
    monkeypatch.setattr(written_report, "write_report", lambda content, out: None)
    return made


@pytest.mark.slow
def test_a_start_is_trained_first_with_the_bits_of_a_run_alone(beside, tmp_path):
    write, out, content = beside
    (start,) = out.glob("runs/start_first/*/seed_7")
    (run,) = out.glob("runs/*-after_pairs/*/seed_*/metrics.json")
    assert json.loads(run.read_text())["start"]["weights"] == run_hash(start)
    train(load_config("first.yaml"), tmp_path / "alone")
    assert run_hash(tmp_path / "alone") == run_hash(start)
    keys, chain = content.signals["after_pairs"]
    assert keys == "start: {config: first.yaml}"
    assert chain.startswith(f"every run starts from {start}: sample_pair_classification, fine")
    assert "trained first, once, in" in chain and content.start is None
    # The start is of its config's content: another one is another comparison.
    first = out.parent / "first.yaml"
    text = first.read_text()
    path = write(SIGNALS)
    first.write_text(text.replace("seed: 7", "seed: 8"), "utf-8")
    with pytest.raises(ConfigError, match="begun with another config of start_first: training.se"):
        compare(load_comparison(path), out, resources=Resources(jobs=1))
    first.write_text(text, "utf-8")


@pytest.mark.slow
def test_an_ensemble_and_its_student_are_cells(beside):
    write, out, content = beside
    shown = {cell.settings["signal"]: cell for cell in content.cells}
    parts, small = shown["parts"], shown["small"]
    trained = sorted(out.glob("runs/*-parts/*/seed_*/config.yaml"))
    folds = [yaml.safe_load(one.read_text())["data"]["leave_out"] for one in trained]
    assert folds == [{"of": 2, "part": number, "seed": 0} for number in (0, 1)]
    (folder,) = out.glob("runs/*-parts/*/seed_0")
    table = json.loads((folder / "ensemble.json").read_text())
    assert parts.results.scores == [table["results"]["test"]["ensemble"]]
    assert parts.costs.total_parameters == 2 * shown["after_pairs"].costs.total_parameters
    assert small.costs.total_parameters < parts.costs.total_parameters / 2
    assert parts.curves == [] and len(parts.commands) == 3
    assert content.signals["small"][1].startswith(
        f"each run, from that with its seed: the first learns from the answers of {folder}"
    )
    for changed in ({"leave_out_parts": 3}, {"ensemble": 2}, {}):
        with pytest.raises(ConfigError, match="the ensembles have changed since .*parts"):
            compare(
                load_comparison(write(SIGNALS | {"parts": changed})),
                out,
                resources=Resources(jobs=1),
            )
    comparison = load_comparison(write(SIGNALS))
    assert compare(comparison, out, resources=Resources(jobs=1)).signals == content.signals
    outcomes = Outcomes(comparison, out)
    run = outcomes.run(named(comparison)["after_pairs"], 1e-2, 0)
    other = replace(outcomes.run(named(comparison)["small"], 1e-2, 0), teacher=run)
    with pytest.raises(
        ConfigError, match="expected a run that learned from .*got one that learned"
    ):
        outcomes.metrics(other)


@pytest.mark.slow
def test_signals_are_in_report_and_verdict(beside, monkeypatch):
    write, out, content = beside
    assert [cell.settings["signal"] for cell in content.cells] == list(SIGNALS)  # sorted, too
    assert {cell.head for cell in content.cells} == {content.cells[0].head}
    for cell in content.cells:  # all on the same examples of one split
        assert np.sum(cell.confusion) == content.examples["test"]
        if cell.settings["signal"] != "parts":
            assert len(cell.curves) == 1 and cell.costs.training_seconds
    assert content.teacher is None
    report = (out / "report.md").read_text("utf-8")
    assert "signal small" in report and "Signal parts: leave_out_parts: 2" in report
    assert json.loads((out / "report.json").read_text())["signals"].keys() == SIGNALS.keys()
    assert " signal " in content.verdict.sentence
    # Of an ensemble too; its card is that of its own export.
    monkeypatch.setattr(
        winner_export, "_export", lambda run, folder: (folder / "1").mkdir(parents=True)
    )
    outcomes = Outcomes(load_comparison(write(SIGNALS)), out)
    best = next(cell.id for cell in content.cells if cell.settings["signal"] == "parts")
    verdict = replace(content.verdict, recommended=best)
    exported = winner_export.export_best(outcomes, replace(content, verdict=verdict), anyway=True)
    assert f"{best}-rate_" in exported and list((out / exported).iterdir()) == []


def test_what_is_said_of_a_given_teacher_of_votes_and_of_tasks(write, tmp_path):
    names = ("alone", "taught", "voted", "together")
    outcomes = Outcomes(load_comparison(write({name: {} for name in names})), tmp_path)
    scores = {"dev": {"accuracy": 0.5}, "test": {"accuracy": 0.5}}
    side = scores | {"parameters": 1000, "megabytes": 1, "serving_per_1000": 1}
    taught = {"run": "runs/big", "hash": "abc", "temperature": 2, "weight": 0.5, "unlabelled": 0}
    taught |= {"teacher": side, "student": side}
    voted = {"aggregate": "majority", "votes": 12, "examples": 4, "agreement": None, "sources": {}}
    voted |= {"entropy": 0.1, "undecided": 0, "votes_file": "votes.tsv"}
    task = {"dataset": "sample_pair_classification", "metric": "accuracy", "head": "linear"}
    task |= scores | {"splits": {}, "truncated": {}, "serving_per_1000": 1}
    learned = {
        "taught": {"taught": taught},
        "voted": {"weak": voted},
        "together": {"tasks": {"pairs": task, "words": task}, "target": "words"},
    }
    for run in list(outcomes.waiting()):
        finished_runs.finish(run.folder, **learned.get(run.cell.signal, {}))
    said = signals_in_words(outcomes, "accuracy")
    assert said["alone"] == ["nothing but the labels"]
    assert said["taught"][1].startswith("every run learns from the answers of runs/big (weight 0.5")
    assert said["voted"][1].startswith("every run is trained on labels from 0 sources: 12 votes")
    assert said["together"][1].startswith(
        "every run is trained on pairs too (sample_pair_classification), of which the first has"
    )
