"""Commands about pretrained modules: `tf-adapt module …` and `tf-adapt encode`."""

import json

import click

from tf_adapt.commands.console import (
    HANDLE,
    PATH,
    engine_option,
    flat,
    json_option,
    print_result,
    quiet_option,
    start_tensorflow,
    trust_option,
)
from tf_adapt.errors import ArtifactError, ConfigError

stored_as_option = click.option(
    "--stored-as",
    type=click.Choice(("float32", "float16")),
    default="float32",
    help="float16: half the space; computed in float32.",
)
SOURCES = ("bilm-tf", "fastai", "google-bert", "huggingface", "keras-nlp", "tf1-elmo")


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
@click.argument("source", type=HANDLE)
@click.option("--out", required=True, type=PATH, metavar="DIR", help="New folder for the module.")
@click.option(
    "--lower-case/--cased",
    default=None,
    help="Whether text is lower-cased first, where the source does not say.",
)
@click.option(
    "--assume",
    "assumptions",
    multiple=True,
    metavar="KEY=VALUE",
    help="tf1-elmo: what the module does not hold, where it is not as in the published ELMo: "
    "activation, cell_clip, projection_clip (null for none), skip_connections, "
    "sentence_boundaries, forget_bias.",
)
@stored_as_option
@quiet_option
def convert(
    source_format: str,
    source: str,
    out: str,
    lower_case: bool | None,
    assumptions: tuple[str, ...],
    stored_as: str,
) -> None:
    """Writes a Hub module from the weights in SOURCE (tf1-elmo: also a URL; huggingface:
    also hf://ORG/NAME; keras-nlp: also keras: and the name of a preset)."""
    options = _assumed(source_format, assumptions)
    start_tensorflow()
    import importlib

    from hub_modules.export import write_module
    from hub_modules.keras_hub.handles import PREFIX, downloaded_preset, is_preset_name
    from hub_modules.storage.model_hubs import local_handle

    source = local_handle(source)
    try:
        reader = importlib.import_module(f"hub_modules.sources.{source_format.replace('-', '_')}")
        if source_format == "tf1-elmo":
            from hub_modules.find import encoder_folder, find_module

            source = encoder_folder(find_module(source))
        elif source_format == "keras-nlp" and is_preset_name(source):
            source = downloaded_preset(source.removeprefix(PREFIX), reader.BACKBONES)
        weights = reader.read(source, lower_case, **options)
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"--from {source_format} needs the package {error.name}; install the extra: "
            "pip install 'tf_adapt[convert]'"
        ) from None
    write_module(weights, out, stored_as=stored_as)
    if weights.left_out:
        click.echo(f"left out, for the encoder has no use for it: {', '.join(weights.left_out)}")
    click.echo(f"module: {out}")


def _assumed(source_format: str, assumptions: tuple[str, ...]) -> dict:
    from hub_modules.storage.strict_yaml import parse_yaml

    if assumptions and source_format != "tf1-elmo":
        raise ConfigError(
            f"--assume {assumptions[0]}: only --from tf1-elmo assumes anything; leave it out"
        )
    values = {}
    for assumption in assumptions:
        key, equals, text = assumption.partition("=")
        if not equals:
            raise ConfigError(f"--assume {assumption}: expected KEY=VALUE such as cell_clip=null")
        values[key.strip()] = parse_yaml(text, f"--assume {key}")[0]
    return {"assumed": values} if values else {}


@module.command()
@click.argument("teacher", type=HANDLE)
@click.option(
    "--keep-layers",
    required=True,
    metavar="0,2,5",
    help="The teacher's layers that the student begins with, from 0, the lowest.",
)
@click.option(
    "--text",
    "texts",
    required=True,
    multiple=True,
    type=PATH,
    metavar="FILE",
    help="Running text, one paragraph a line; .gz is unpacked. Once or more.",
)
@click.option("--out", required=True, type=PATH, metavar="DIR", help="New folder for the module.")
@click.option("--steps", type=int, help="Number of updates; or --minutes.")
@click.option("--minutes", type=float, help="Time for training, in all parts; or --steps.")
@click.option("--vocabulary", type=int, metavar="N", help="Keep the N most used word pieces.")
@click.option("--batch-size", type=int, help="Rows of the whole length in a batch (16).")
@click.option("--length", type=int, help="Longest row in word pieces (128).")
@click.option("--learning-rate", type=float, help="The highest rate (5e-4).")
@click.option("--warmup", type=float, help="Share of the training in which it rises (0.05).")
@click.option("--decay", type=click.Choice(("linear", "cosine")), help="How it falls (linear).")
@click.option("--seed", type=int, help="Of the order of the text (0).")
@click.option("--precision", type=click.Choice(("bfloat16",)), help="Else float32.")
@stored_as_option
@trust_option
@quiet_option
def distill(
    teacher: str, keep_layers: str, texts: tuple[str, ...], out: str, trust: bool, **settings
) -> None:
    """Makes a small encoder of some of TEACHER's layers, trained to give its states.

    Interrupted, the same command goes on.
    """
    layers = _layer_numbers(keep_layers)
    start_tensorflow()
    from tf_adapt.training.distilling.distill import distill_module

    given = {name: value for name, value in settings.items() if value is not None}
    distill_module(teacher, layers, texts, out, trust, progress=True, **given)
    click.echo(f"module: {out}")


def _layer_numbers(text: str) -> list[int]:
    parts = text.split(",")
    if not all(part.strip().isdecimal() for part in parts):
        raise ConfigError(
            f"--keep-layers: expected numbers of layers with commas, as 0,2,5, got {text!r}"
        )
    return [int(part) for part in parts]


@module.command(name="export")
@click.argument("run", type=HANDLE, metavar="RUN_OR_HANDLE")
@click.option(
    "--out",
    required=True,
    type=PATH,
    metavar="DIR",
    help="New folder for the module; with --adapters a file, FILE.npz.",
)
@click.option(
    "--adapters",
    is_flag=True,
    help="Only what the task adds to the module: adapters, LoRA or BitFit's biases, as one file "
    "for tf_adapt.load_adapters.",
)
@click.option(
    "--format",
    "file_format",
    type=click.Choice(("module", "huggingface")),
    default="module",
    help="huggingface: config.json, model.safetensors and the tokenizer, as transformers reads "
    "them (BERT, GPT-2, ModernBERT, MPNet, keras-hub's); also of a module, by its handle. With "
    "--adapters: LoRA as PEFT reads it.",
)
@stored_as_option
@trust_option
@quiet_option
def export_module(
    run: str, out: str, adapters: bool, file_format: str, stored_as: str, trust: bool
) -> None:
    """Writes the encoder of a trained run as a module again, or in HuggingFace's format."""
    if stored_as != "float32" and (adapters or file_format != "module"):
        raise click.UsageError("--stored-as is for a whole module: leave out one of them")
    start_tensorflow()
    from tf_adapt.training.finished import module_export

    if adapters and file_format == "huggingface":
        from tf_adapt.training.finished.peft_export import export_peft

        click.echo(f"folder: {export_peft(run, out, trust)}")
    elif file_format == "huggingface":
        click.echo(f"folder: {module_export.export_huggingface(run, out, trust)}")
    elif adapters:
        click.echo(f"adapters: {module_export.export_adapters(run, out, trust)}")
    else:
        click.echo(f"module: {module_export.export_module(run, out, trust, stored_as)}")


@module.command()
@click.argument("handle", type=HANDLE)
@click.option(
    "--verify",
    is_flag=True,
    help="Compare the native encoder with the module's own program, which is run: needs --trust.",
)
@trust_option
@json_option
def inspect(handle: str, verify: bool, trust: bool, as_json: bool) -> None:
    """Shows layers, groups, widths, parameters and hashes of a module."""
    start_tensorflow()
    from tf_adapt.training.finished.inspect import inspect_module

    description = inspect_module(handle, trust, verify)
    shown = {name: value for name, value in description.items() if name != "verified" or as_json}
    print_result(shown, [f"{name}: {value}" for name, value in flat(shown)], as_json)
    if verify:
        _report(handle, description["verified"], as_json)


def _report(handle: str, check: dict, as_json: bool) -> None:
    """Shows how far the native encoder is from the program."""
    if not as_json:
        from rich.console import Console
        from rich.table import Table

        table = Table("layer", "largest difference", title="native against the module's program")
        for name, value in check["largest_difference"].items():
            table.add_row(name, f"{value:.1e}")
        Console(soft_wrap=True).print(table)
        if check["undecided"]:
            click.echo(f"no difference in these sentences: {', '.join(check['undecided'])}")
    if check["agrees"]:
        return
    name, value = max(check["largest_difference"].items(), key=lambda item: item[1])
    where = f"module {handle}: native encoder and program differ by {value:.1e} ({name}), expected "
    where += f"at most {check['tolerance']:.0e}; "
    if not check["fitting"]:
        raise ArtifactError(
            f"{where}what may be wrong: {check['suspects']}; run it as it is, frozen "
            "(execution='saved_model')"
        )
    key, value = next(iter(check["fitting"].items()))
    assumption = f"{key}={json.dumps(value)}"
    raise ArtifactError(
        f"{where}with {assumption} they agree: `tf-adapt module convert --from tf1-elmo {handle} "
        f"--assume {assumption} --out DIR`"
    )


@click.command()
@click.argument("handle", type=HANDLE)
@click.option(
    "--input",
    "source",
    required=True,
    type=PATH,
    metavar="FILE",
    help="One text a line; - for standard input.",
)
@click.option(
    "--output",
    required=True,
    type=PATH,
    metavar="FILE",
    help="HDF5, one data set a line, as bilm-tf; - for standard output.",
)
@engine_option
@trust_option
@quiet_option
def encode(handle: str, source: str, output: str, engine: str, trust: bool) -> None:
    """Writes the states of every layer of a module for each text of a file."""
    from tf_adapt.data.formats import Record
    from tf_adapt.data.formats.text import named_input, no_examples, read_lines
    from tf_adapt.serving.prediction.output_files import check_output

    check_output(output, source, handle)
    start_tensorflow()
    from tf_adapt.encoder.hub_encoder import HubEncoder
    from tf_adapt.serving.prediction.predict import encode as encode_texts
    from tf_adapt.serving.prediction.predict import write_features

    file = named_input(source)
    lines = enumerate(read_lines(file), start=1)
    texts = [Record(line, where=f"{file}:{number}") for number, line in lines]
    if not texts:
        raise no_examples(file)
    encoder = HubEncoder(handle, trainable=False, trust=trust, engine=engine)
    features = encode_texts(encoder, texts, progress=True)
    write_features(output, features)
    click.echo(f"features of {len(features)} texts: {output}", err=output == "-")
