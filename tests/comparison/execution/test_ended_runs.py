"""Runs that end on other machines: their results, and those that do not end."""

import signal
import subprocess
from types import SimpleNamespace

from commands import Command

from tf_adapt.comparison.execution import late_results, node_process
from tf_adapt.comparison.execution.late_results import LateResults


def test_a_result_that_is_not_seen_yet_is_waited_for(tmp_path, monkeypatch):
    clock = SimpleNamespace(monotonic=lambda: clock.now, now=0.0)
    monkeypatch.setattr(late_results, "time", clock)
    late, finished = LateResults(), []
    done, never, failed = (Command(tmp_path / name) for name in ("done", "never", "failed"))
    for run, code in ((done, 0), (never, 0), (failed, 4)):
        late.add(run, code)
    assert late.seen(finished.__contains__) == [(failed, 4)]
    finished.append(done)
    assert late.runs == [done, never]
    assert late.seen(finished.__contains__) == [(done, 0)]
    clock.now = late_results.SHOWN_SECONDS + 1
    assert late.seen(finished.__contains__) == [(never, 0)] and late.runs == []


def test_a_run_that_does_not_end_is_killed(monkeypatch):
    monkeypatch.setattr(node_process, "GRACE_SECONDS", 0.1)
    deaf = subprocess.Popen(["sh", "-c", "trap '' TERM; echo; exec sleep 60"], stdout=-1)
    deaf.stdout.readline()
    node_process.end(deaf)
    deaf.stdout.close()
    assert deaf.returncode == -signal.SIGKILL
