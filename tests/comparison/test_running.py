"""How many runs are at work at a time."""

import pytest
import yaml

from tf_adapt import run_folder
from tf_adapt.comparison import running
from tf_adapt.comparison.runs import Outcomes
from tf_adapt.comparison.settings import load_comparison


class Quick:
    """The process of a run that is finished when it is first looked at."""

    returncode = 0

    def __init__(self, run, at_work: list):
        self.run, self.at_work = run, at_work

    def poll(self):
        scores = {"dev": {"accuracy": 1.0}, "test": {"accuracy": 1.0}, "metric": "accuracy"}
        run_folder.write_metrics(self.run.folder, scores | {"seconds": {"total": 1.0}})
        self.run.log.write_text("done\n")
        self.at_work.remove(self.run.folder)
        return 0


class Silent:
    """A display that shows nothing, and calls back when a run is finished."""

    def __init__(self, on_finished):
        self.on_finished = on_finished

    def update(self, outcomes, runs):
        pass

    def say_once(self, text):
        pass

    def finished(self, outcomes, run):
        self.on_finished()


@pytest.mark.parametrize("held", [0, 1])
def test_a_run_that_another_process_holds_is_one_of_the_jobs(tmp_path, monkeypatch, held):
    content = {
        "data": {"dataset": "sample_classification", "source": "sample", "held_out": 0.2},
        "compare": {
            "encoders": ["elmo_small"],
            "adaptations": ["fine_tuning"],
            "learning_rates": [3.0e-3, 1.0e-3, 3.0e-4],
            "seeds": 1,
        },
        "training": {"epochs": 1, "batch_size": 32},
    }
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(content), "utf-8")
    outcomes = Outcomes(load_comparison(tmp_path / "config.yaml"), tmp_path / "out")
    monkeypatch.setattr(running, "POLL_SECONDS", 0)
    at_work, most, finished = [], [], []

    def start(run, threads, cache):
        run.folder.mkdir(parents=True, exist_ok=True)
        at_work.append(run.folder)
        most.append(len(at_work))
        return Quick(run, at_work)

    monkeypatch.setattr(running, "_start", start)
    orphan = run_folder.locked(next(outcomes.waiting()).folder)

    def one_more():
        finished.append(len(at_work))
        if held and len(finished) == 2:  # the others are done: the orphan comes to its end
            orphan.__exit__(None, None, None)

    if held:
        orphan.__enter__()
    running.run_all(outcomes, 2, 1, tmp_path, Silent(one_more))
    assert max(most) == 2 - held
    assert len(finished) == 3
    assert next(outcomes.waiting(), None) is None
