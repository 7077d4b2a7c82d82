"""Commands about pretrained modules: `tf-adapt module …` and `tf-adapt encode`."""

import click

from tf_adapt.console import flat, json_option, print_result, start_tensorflow
from tf_adapt.errors import ConfigError

SOURCES = ("bilm-tf", "google-bert", "huggingface", "keras-nlp")

_trust_option = click.option(
    "--trust", is_flag=True, help="Accept a module without a manifest: its program runs as yours."
)


@click.group()
def module() -> None:
    """Pretrained modules: convert foreign weights, look inside."""


@module.command()
@click.option(
    "--from",
    "source_format",
    type=click.Choice(SOURCES),
    required=True,
    help="Format of the weights.",
)
@click.argument("source")
@click.option("--out", required=True, metavar="DIR", help="New folder for the module.")
@click.option(
    "--lower-case/--cased",
    default=None,
    help="Whether text is lower-cased first, where the source does not say.",
)
def convert(source_format: str, source: str, out: str, lower_case: bool | None) -> None:
    """Writes a Hub module from the weights in SOURCE."""
    start_tensorflow()
    import importlib

    from hub_modules.export import write_module

    try:
        reader = importlib.import_module(f"hub_modules.sources.{source_format.replace('-', '_')}")
        found = reader.read(source, lower_case)
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"--from {source_format} needs the package {error.name}; install the extra: "
            "pip install 'tf_adapt[convert]'"
        ) from None
    write_module(found, out)
    if found.left_out:
        click.echo(f"left out, for the encoder has no use for it: {', '.join(found.left_out)}")
    click.echo(f"module: {out}")


@module.command(name="export")
@click.argument("run")
@click.option("--out", required=True, metavar="DIR", help="New folder for the module.")
def export_module(run: str, out: str) -> None:
    """Writes the encoder of a trained RUN as a module again."""
    start_tensorflow()
    from tf_adapt.module_export import export_module as export_encoder

    click.echo(f"module: {export_encoder(run, out)}")


@module.command()
@click.argument("handle")
@_trust_option
@json_option
def inspect(handle: str, trust: bool, as_json: bool) -> None:
    """Shows layers, groups, widths, parameters and hashes of a module."""
    start_tensorflow()
    from tf_adapt.inspecting import inspect_module

    found = inspect_module(handle, trust)
    print_result(found, [f"{name}: {value}" for name, value in flat(found)], as_json)


@click.command()
@click.argument("handle")
@click.option("--input", "source", required=True, metavar="FILE", help="One text a line.")
@click.option(
    "--output", required=True, metavar="FILE", help="HDF5, one data set a line, as bilm-tf."
)
@_trust_option
def encode(handle: str, source: str, output: str, trust: bool) -> None:
    """Writes the states of every layer of a module for each text of a file."""
    from tf_adapt.data.formats import Record
    from tf_adapt.data.formats.text import no_examples, read_lines

    start_tensorflow()
    from tf_adapt.encoder import HubEncoder
    from tf_adapt.predicting import encode as encode_texts
    from tf_adapt.predicting import write_features

    lines = enumerate(read_lines(source), start=1)
    texts = [Record(line, where=f"{source}:{number}") for number, line in lines]
    if not texts:
        raise no_examples(source)
    encoder = HubEncoder(handle, trainable=False, trust=trust)
    features = encode_texts(encoder, texts, progress=True)
    write_features(output, features)
    click.echo(f"features of {len(features)} texts: {output}")
