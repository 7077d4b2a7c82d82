"""A module that ships, as HuggingFace's format has it."""

from answering import Work, answer

from tf_adapt.training.finished.module_export import export_huggingface


def prepared(job: dict) -> Work:
    """`module`, a name → the folder `path`."""

    def run(turn):
        export_huggingface(job["module"], job["path"])

    return Work(run, lambda result: {})


if __name__ == "__main__":
    answer(prepared)
