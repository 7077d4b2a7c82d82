"""Starts a command and waits for its end, or for its first line."""

import json
import subprocess

from answering import Work, answer


def prepared(job: dict) -> Work:
    """`command`, with `{turn}` for the number of the turn; `request`: a job for a child, the
    answer to which is waited for; `skip_warm_up`: for what takes long."""

    def run(turn):
        if turn is None and job["skip_warm_up"]:
            return None
        command = [part.replace("{turn}", f"turn_{turn}") for part in job["command"]]
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        if job["request"] is None:
            _, errors = process.communicate()
            if process.returncode:
                raise RuntimeError(f"{command}: {errors[-1000:]}")
            return process
        request = {"job": job["request"], "turn": 0, "calls": 1, "outputs": None}
        process.stdin.write(json.dumps(request) + "\n")
        process.stdin.flush()
        if not process.stdout.readline():
            raise RuntimeError(f"{command}: {process.stderr.read()[-1000:]}")
        process.kill()
        return process

    return Work(run, lambda process: {})


if __name__ == "__main__":
    answer(prepared)
