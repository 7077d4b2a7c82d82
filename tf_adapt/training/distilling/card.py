"""The README of a distilled module: teacher, layers, vocabulary, text, training, held-out loss."""

from typing import Any

from tf_adapt.data.running_text import RunningText
from tf_adapt.printing.words import counted, visible
from tf_adapt.training.distilling.loop import DistillationState
from tf_adapt.training.distilling.settings import DistillationSettings
from tf_adapt.training.distilling.steps import matched_layers
from tf_adapt.training.distilling.student import Teacher


def distillation_card(
    name: str,
    teacher: Teacher,
    settings: DistillationSettings,
    text: RunningText,
    held_out_paragraphs: int,
    state: DistillationState,
    final: dict[str, float],
    vocabulary_size: int,
) -> str:
    """Text of the README.

    Args:
        name: of the module's folder.
        final: held-out losses of the weights as they are stored.
    """
    matched = matched_layers(settings.keep_layers, teacher.config["num_layers"])
    pairs = zip(settings.keep_layers, matched, strict=True)
    begins = ", ".join(f"{kept} (gives {given})" for kept, given in pairs)
    half = " in float16, computed in float32" if settings.stored_as == "float16" else " in float32"
    return f"""\
# {name}: a small encoder distilled from {teacher.name}

A BERT with some of its teacher's layers, trained on running text to give the teacher's hidden \
states, the self-attention relations of its top layer and the mean over each text. Made by \
`tf-adapt module distill`.

| | |
| --- | --- |
| teacher | {visible(teacher.name)}, SHA-256 {teacher.hash[:12]}…, \
{teacher.config["num_layers"]} layers |
| size | {_size(teacher, settings, vocabulary_size)}; stored{half} |
| layers | begin as the teacher's {begins} |
| vocabulary | {vocabulary_size:,} of {len(teacher.vocabulary):,} word pieces of the teacher's, \
{"lower-cased" if teacher.lower_case else "cased"} |
| text | {text.words:,} words in {len(text.paragraphs):,} paragraphs, the first \
{held_out_paragraphs:,} held out; {_files(text)} |
| training | {state.step:,} steps, {state.seconds / 60:.1f} minutes, {state.pieces:,} word pieces \
read; Adam, {settings.decay} decay from {settings.learning_rate:g}, warm-up \
{settings.warmup:.0%}, rows of up to {settings.length} pieces, {settings.batch_size} in a batch; \
{settings.precision or "float32"}, seed {settings.seed} |
| held-out loss | **{final["held_out_loss"]:.4f}**: states {final["held_out_states"]:.4f}, \
relations {final["held_out_relations"]:.4f}, mean {final["held_out_mean"]:.4f} |

States and mean are shares of the teacher's variance that the student does not give (0: equal); \
relations are Kullback-Leibler divergences in nats, summed over queries, keys and values.

## Held-out loss

{_history(state.history)}

## Licence

{_licence(teacher)}
"""


def _size(teacher: Teacher, settings: DistillationSettings, vocabulary_size: int) -> str:
    config = teacher.config
    return (
        f"{counted(len(settings.keep_layers), 'layer')}, width {config['width']}, "
        f"{config['num_heads']} heads, inner {config['intermediate_width']}, at most "
        f"{config['max_positions']} positions, {vocabulary_size:,} word embeddings"
    )


def _files(text: RunningText) -> str:
    return ", ".join(f"{visible(name)} (SHA-256 {digest})" for name, digest in text.hashes.items())


def _history(rows: list[dict[str, Any]]) -> str:
    lines = ["| step | minutes | word pieces | training loss | held-out loss |"]
    lines += ["| ---: | ---: | ---: | ---: | ---: |"]
    for row in rows:
        train = "" if row["train_loss"] is None else f"{row['train_loss']:.4f}"
        lines.append(
            f"| {row['step']:,} | {row['minutes']:.1f} | {row['pieces']:,} | {train} | "
            f"{row['held_out_loss']:.4f} |"
        )
    return "\n".join(lines)


def _licence(teacher: Teacher) -> str:
    if teacher.licence is None:
        return (
            "The teacher's module says nothing of its licence, which holds for a student made of "
            "its weights too: see where the teacher comes from. The licences of the texts may "
            "matter as well."
        )
    return f"The teacher's module says:\n\n{teacher.licence}"
