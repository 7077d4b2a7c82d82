"""The command that talks with a trained model of dialogues."""

import sys

import click

from tf_adapt.commands.console import PATH, start_tensorflow, trust_option


@click.command()
@click.argument("run", type=PATH)
@click.option(
    "--persona",
    multiple=True,
    metavar="TEXT",
    help="A fact about the model; several, one each time. By default those of the run's first test "
    "dialogue.",
)
@click.option("--max-new-tokens", type=int, default=40, show_default=True, help="Of a reply.")
@click.option(
    "--temperature", type=float, default=0.7, show_default=True, help="0: no draw, always the same."
)
@click.option("--top-k", type=int, default=0, show_default=True, help="Of so many tokens; 0: all.")
@click.option("--top-p", type=float, help="Of so much probability; by default 0.9.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of the draws.")
@trust_option
def chat(
    run: str,
    persona: tuple[str, ...],
    max_new_tokens: int,
    temperature: float,
    top_k: int,
    top_p: float | None,
    seed: int,
    trust: bool,
) -> None:
    """Talks with a RUN of kind: dialog: a line in, a reply out; from a pipe replies alone."""
    from tf_adapt.generation.decoding import Decoding

    nucleus = (0.9 if temperature else 1.0) if top_p is None else top_p
    decoding = Decoding(max_new_tokens, temperature, top_k, nucleus)
    start_tensorflow()
    from tf_adapt.training.finished.chat import chat_of_run

    talk, chosen = chat_of_run(run, persona, decoding, seed, trust)
    click.echo(f"persona: {' '.join(chosen)}", err=True)
    is_terminal = sys.stdin.isatty()
    for line in _lines(is_terminal):
        text = line.rstrip("\n")
        click.echo(talk.reply(text) if text.strip() else "")


def _lines(is_terminal: bool):
    """What is typed, to the end of the input (Ctrl-D)."""
    while True:
        if is_terminal:
            click.echo("> ", nl=False)
        line = sys.stdin.readline()
        if not line:
            return
        yield line
