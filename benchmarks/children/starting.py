"""Starts a command and waits for its end, or for its first line."""

import json
import subprocess
import tempfile

from answering import Work, answer


def prepared(job: dict) -> Work:
    """`command`, with `{turn}` for the number of the turn; `request`: a job for a child, the
    answer to which is waited for; `skip_warm_up`: for what takes long."""

    def run(turn):
        if turn is None and job["skip_warm_up"]:
            return
        command = [part.replace("{turn}", f"turn_{turn}") for part in job["command"]]
        with tempfile.TemporaryFile(mode="w+") as errors:
            if not finished(command, job["request"], errors):
                errors.seek(0)
                raise RuntimeError(f"{command}: {errors.read()[-1000:]}")

    return Work(run, lambda result: {})


def finished(command: list[str], request: dict | None, errors) -> bool:
    """Whether it came to a good end, or answered."""
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True
    )
    if request is None:
        process.communicate()
        return process.returncode == 0
    asked = {"job": request, "turn": 0, "calls": 1, "outputs": None}
    process.stdin.write(json.dumps(asked) + "\n")
    process.stdin.flush()
    answered = bool(process.stdout.readline())
    process.kill()
    process.communicate()
    return answered


if __name__ == "__main__":
    answer(prepared)
