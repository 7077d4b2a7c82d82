"""The child process that tries a foreign program: `python -m hub_modules.programs.trial …`.

It loads a SavedModel and calls it once on a small input. A hang or crash affects only this process.
This is no sandbox: the program has the user's rights here, too.
"""

import os
import sys
from pathlib import Path

import tensorflow as tf

from hub_modules.errors import ArtifactError
from hub_modules.preprocess import SavedModelPreprocessor
from hub_modules.programs.program_encoder import family_of, program_encoder
from hub_modules.programs.saved_model import restore


def main(kind: str, folder: str, verdict: str) -> int:
    """Returns the exit code; writes the reason of a failure into the open file `verdict`."""
    try:
        _TRIALS[kind](restore(Path(folder)))
    except ArtifactError as error:
        message = str(error)
    except Exception as error:
        # A foreign program may fail in any way.
        line = (str(error) or type(error).__name__).splitlines()[0][:200]
        message = f"module {folder}: it loads, but fails when it is called ({line})"
    else:
        return 0
    os.write(int(verdict), message.encode("utf-8", "replace"))
    return ArtifactError.exit_code


def _encode(module) -> None:
    program_encoder(module, family_of(module), dtype="float32").example_layers()


def _serve(module) -> None:
    signature = module.signatures.get("serving_default")
    if signature is None:
        return  # reported where the signature is used
    signature(
        **{
            name: tf.fill([1] * spec.shape.rank, "a")
            for name, spec in signature.structured_input_signature[1].items()
        }
    )


_TRIALS = {"encoder": _encode, "preprocess": SavedModelPreprocessor, "export": _serve}

if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
