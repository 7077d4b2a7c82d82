"""The clients of `python -m benchmarks.load`, for locust: each asks for one text after another.

LOAD_TEXTS names a JSON file of texts, LOAD_PATH the path to ask, and LOAD_RESULT the file that gets
`{"answers": {status or error: count}, "milliseconds": [of each answer 200], "seconds": of asking}`.
"""

import json
import os
import random
import time
from collections import Counter
from pathlib import Path

from locust import FastHttpUser, events, task

TEXTS = json.loads(Path(os.environ["LOAD_TEXTS"]).read_text("utf-8"))
PATH, RESULT = os.environ["LOAD_PATH"], Path(os.environ["LOAD_RESULT"])
answers: Counter = Counter()
milliseconds: list[float] = []
began = time.monotonic()


class Client(FastHttpUser):
    """Asks without a pause, over one connection as long as the server keeps it."""

    @task
    def ask(self):
        """One text."""
        body = {"instances": [random.choice(TEXTS)]}
        start = time.perf_counter()
        with self.client.post(PATH, json=body, catch_response=True) as response:
            taken = time.perf_counter() - start
            response.success()  # the counts are ours
        if response.status_code == 200:
            milliseconds.append(taken * 1000)
        answers[str(response.status_code or type(response.error).__name__)] += 1
        if response.status_code == 429:
            time.sleep(float(response.headers.get("retry-after", 1)))
        elif not response.status_code:
            time.sleep(0.1)


@events.quitting.add_listener
def write(environment, **_):
    """Writes what was counted."""
    seconds = time.monotonic() - began
    found = {"answers": answers, "milliseconds": milliseconds, "seconds": seconds}
    RESULT.write_text(json.dumps(found), "utf-8")
