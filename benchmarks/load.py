"""`python -m benchmarks.load`: `tf-adapt serve` under load, by clients of locust, on one machine.

Prints a table in Markdown: MiniLM with a linear classifier, sentences of SST-2, one text a request;
and before it the seconds from the command to its first answer, and its memory. Needs locust (`pip
install locust`) and the extras [serve] and, with `--format openvino`, [light].
"""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import click
import numpy as np

from benchmarks.serving import export_of
from benchmarks.settings import Settings
from benchmarks.side_by_side.environments import CHILDREN, variables

CLIENTS, MANY = 50, 500
HEADER = ("scene", "answers a second", "median, ms", "95 %", "99 %", "answers by status")


@dataclass
class Served:
    """A running `tf-adapt serve`, the folder of its model's versions, and the seconds from the
    command to its first answer."""

    process: subprocess.Popen
    port: int
    versions: Path
    first_answer: float = 0.0

    def get(self, path: str) -> str:
        """The body of an answer."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=5) as answer:
            return answer.read().decode()

    def answered(self, text: str) -> bool:
        """Whether it answers one text."""
        body = json.dumps({"instances": [text]}).encode()
        url = f"http://127.0.0.1:{self.port}/v1/models/m:predict"
        try:
            with urllib.request.urlopen(url, body, timeout=60) as answer:
                return answer.status == 200
        except OSError:
            return False

    def megabytes(self) -> float:
        """Memory of the process (resident)."""
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024


@click.command()
@click.option("--shared", envvar="TF_ADAPT_SHARED", required=True, type=click.Path(path_type=Path))
@click.option("--minilm", default="modules/minilm_l6_h384", type=click.Path(path_type=Path))
@click.option("--format", "form", default="savedmodel", help="Of the export.")
@click.option("--precision", default=None, help="Of the export.")
@click.option("--engine", default="tensorflow", help="Of the server.")
@click.option("--seconds", default=60, help="Of each scene.")
@click.option("--soak", default=600, help="Seconds of the last scene; 0: without it.")
def main(
    shared: Path,
    minilm: Path,
    form: str,
    precision: str | None,
    engine: str,
    seconds: int,
    soak: int,
) -> None:
    """Plays all scenes and prints what was answered."""
    with tempfile.TemporaryDirectory() as work:
        settings = Settings(shared.resolve(), minilm.resolve(), False, Path(work))
        texts = settings.file("texts", settings.sst2()[:1000])
        export = Path(export_of(settings, precision, form))
        scenes = Scenes(settings.work, export, texts, engine)
        scenes.start()
        click.echo(f"| {' | '.join(HEADER)} |\n| --- |{' ---: |' * 4} --- |")
        scenes.one_client(seconds // 2)
        scenes.batching(seconds)
        scenes.overload(seconds)
        scenes.new_version(seconds)
        scenes.stopped(seconds // 3)
        if soak:
            scenes.soak(soak)


@dataclass
class Scenes:
    """What is played: each scene has a server of its own and prints its rows."""

    work: Path
    export: Path
    texts: str
    engine: str

    def start(self) -> None:
        """Three starts, and what each holds in memory once it has answered."""
        for _ in range(3):
            with self.served() as served:
                click.echo(
                    f"first answer after {served.first_answer:.2f} s, {served.megabytes():.0f} MB"
                )

    def one_client(self, seconds: int) -> None:
        """The rate of one text after another, which batching has to beat."""
        with self.served("--batch-wait-ms", "0") as served:
            self.row("one client", self.asked(served, 1, seconds))

    def batching(self, seconds: int) -> None:
        """The same clients with batches of up to 32 and without."""
        for size in ("32", "1"):
            with self.served("--batch-size", size) as served:
                name = f"{CLIENTS} clients, batches of {size}"
                self.row(name, self.asked(served, CLIENTS, seconds))

    def overload(self, seconds: int) -> None:
        """More clients than the queue holds, then one client again."""
        with self.served("--queue", "64", "--max-rows", "64") as served:
            self.row(f"{MANY} clients, a queue of 64", self.asked(served, MANY, seconds))
            self.row("one client after them", self.asked(served, 1, seconds // 6))

    def new_version(self, seconds: int) -> None:
        """A version appears by renaming while all ask."""
        with self.served() as served:
            found = self.asked(served, CLIENTS, seconds, lambda: self.publish(served.versions, 2))
            self.row("a new version meanwhile", found)
            states = json.loads(served.get("/v1/models/m"))["model_version_status"]
            click.echo({one["version"]: one["state"] for one in states}, err=True)

    def stopped(self, seconds: int) -> None:
        """SIGTERM while all ask: what the server had accepted by then is answered."""
        with self.served() as served:
            found = self.asked(served, CLIENTS, seconds, served.process.terminate)
            self.row("SIGTERM meanwhile", found)
            click.echo(f"exit code {served.process.wait()}", err=True)

    def soak(self, seconds: int) -> None:
        """Whether memory grows."""
        with self.served() as served:
            sizes: list[float] = []
            stop = threading.Event()

            def watch() -> None:
                while not stop.wait(10):
                    sizes.append(served.megabytes())

            watcher = threading.Thread(target=watch)
            watcher.start()
            found = self.asked(served, CLIENTS, seconds)
            stop.set()
            watcher.join()
            self.row(f"{seconds / 60:g} minutes", found)
            parts = [f"{np.median(part):.0f}" for part in np.array_split(sizes, 5)]
            click.echo(f"\nMegabytes in each fifth of that time: {', '.join(parts)}.")

    @contextlib.contextmanager
    def served(self, *options: str) -> Iterator[Served]:
        """A server of the export as version 1 of `m`, ready."""
        versions = Path(tempfile.mkdtemp(dir=self.work))
        self.publish(versions, 1)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        command = ["-m", "tf_adapt", "serve", f"m={versions}", "--port", str(port), "--trust"]
        command += ["--engine", self.engine, *options]
        text = json.loads(Path(self.texts).read_text("utf-8"))[0]
        # As a user starts it: all cores.
        began = time.perf_counter()
        with open(self.work / "serve.log", "w") as log:
            process = subprocess.Popen([sys.executable, *command], stdout=log, stderr=log)
        found = Served(process, port, versions)
        try:
            while not found.answered(text):
                if process.poll() is not None:
                    raise click.ClickException((self.work / "serve.log").read_text()[-2000:])
                time.sleep(0.02)
            found.first_answer = time.perf_counter() - began
            # The first calls are slower.
            self.asked(found, 4, 3)
            yield found
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait()

    def publish(self, versions: Path, number: int) -> None:
        """The export as another version, by renaming."""
        aside = versions.parent / f"aside_{versions.name}_{number}"
        shutil.copytree(self.export, aside)
        aside.rename(versions / str(number))

    def asked(
        self, served: Served, clients: int, seconds: int, half_way: Callable | None = None
    ) -> dict:
        """What clients were answered; `half_way` is called after half of the time."""
        result = self.work / "result.json"
        result.unlink(missing_ok=True)
        told = {
            "LOAD_TEXTS": self.texts,
            "LOAD_PATH": "/v1/models/m:predict",
            "LOAD_RESULT": str(result),
        }
        command = ["-m", "locust", "-f", str(CHILDREN / "load_clients.py"), "--headless"]
        command += ["--host", f"http://127.0.0.1:{served.port}", "-u", str(clients)]
        command += ["-r", str(clients), "-t", f"{seconds}s", "--stop-timeout", "30"]
        command += ["--only-summary", "--loglevel", "ERROR"]
        with open(self.work / "locust.log", "w") as log:
            process = subprocess.Popen(
                [sys.executable, *command],
                env=variables() | told,
                stdout=log,
                stderr=log,
                cwd=os.fspath(self.work),
            )
        if half_way is not None:
            time.sleep(seconds / 2)
            half_way()
        if process.wait() or not result.exists():
            said = (self.work / "locust.log").read_text()[-2000:]
            raise click.ClickException(
                f"locust failed; pip install locust where it is missing\n{said}"
            )
        return json.loads(result.read_text("utf-8"))

    def row(self, scene: str, found: dict) -> None:
        """One line of the table."""
        times = found["milliseconds"] or [0.0]
        rate = len(times) / found["seconds"]
        numbers = [f"{rate:.0f}", *(f"{np.percentile(times, at):.1f}" for at in (50, 95, 99))]
        statuses = ", ".join(f"{name}: {count:,}" for name, count in found["answers"].items())
        click.echo(f"| {scene} | {' | '.join(numbers)} | {statuses} |")


if __name__ == "__main__":
    main()
