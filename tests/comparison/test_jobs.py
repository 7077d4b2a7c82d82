"""How many processes a machine takes."""

from tf_adapt.comparison.execution import jobs

GB = 10**9
MACHINES = [
    (6, 1, 4, None, False, 4),  # as many as cores
    (3, 1, 4, 64 * GB, False, 3),  # as cells
    (6, 1, 4, 7 * GB, False, 2),  # as 3 GB each
    (6, 2, 5, 64 * GB, False, 2),  # a process has two threads
    (6, 8, 4, 64 * GB, False, 1),
    (6, 1, 4, GB, False, 1),
    (0, 1, 4, 64 * GB, False, 1),  # nothing is left to run
    (6, 1, 4, 64 * GB, True, 1),
]


def test_processes_at_a_time(monkeypatch):
    for cells, threads, cores, memory, gpu, expected in MACHINES:
        monkeypatch.setattr(jobs, "cores", lambda given=cores: given)
        monkeypatch.setattr(jobs, "free_memory", lambda given=memory: given)
        monkeypatch.setattr(jobs, "has_gpu", lambda given=gpu: given)
        assert jobs.jobs_at_once(cells, threads) == expected
