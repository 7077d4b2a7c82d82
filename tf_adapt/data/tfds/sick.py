"""A TensorFlow Datasets builder for SICK (SemEval-2014 task 1), which TFDS itself lacks.

Importing this module makes `tfds.load("sick")` work. It imports TensorFlow Datasets, so import it
only where needed.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import tensorflow_datasets as tfds

from tf_adapt.data.formats import (
    SICK_LABELS,
    read_sick_entailment,
    read_sick_relatedness,
)

_FILES = {
    "train": "SICK_train.txt",
    "validation": "SICK_trial.txt",
    "test": "SICK_test_annotated.txt",
}


class Sick(tfds.core.GeneratorBasedBuilder):
    """Pairs of sentences with a score of relatedness (1 to 5) and an entailment judgment.

    References: Marelli et al. 2014, "A SICK cure for the evaluation of compositional
    distributional semantic models", LREC.
    """

    VERSION = tfds.core.Version("1.0.0")
    MANUAL_DOWNLOAD_INSTRUCTIONS = (
        "Put SICK_train.txt, SICK_trial.txt and, for a test split, SICK_test_annotated.txt "
        "(SemEval-2014 task 1) into the folder for manual downloads."
    )

    def _info(self) -> tfds.core.DatasetInfo:
        return tfds.core.DatasetInfo(
            builder=self,
            description="Sentences Involving Compositional Knowledge (SemEval-2014 task 1).",
            features=tfds.features.FeaturesDict(
                {
                    "sentence_a": tfds.features.Text(),
                    "sentence_b": tfds.features.Text(),
                    "relatedness_score": tfds.features.Scalar(np.float32),
                    "entailment_judgment": tfds.features.ClassLabel(names=SICK_LABELS),
                }
            ),
            homepage="https://alt.qcri.org/semeval2014/task1/",
            license="CC BY-NC-SA 3.0",
        )

    def _split_generators(self, dl_manager: tfds.download.DownloadManager) -> dict:
        folder = Path(dl_manager.manual_dir)
        return {
            split: self._generate_examples(folder / name)
            for split, name in _FILES.items()
            if split != "test" or (folder / name).exists()
        }

    def _generate_examples(self, path: Path) -> Iterator[tuple[int, dict]]:
        pairs = zip(read_sick_entailment(path), read_sick_relatedness(path), strict=True)
        for index, (entailment, relatedness) in enumerate(pairs):
            yield (
                index,
                {
                    "sentence_a": entailment.text_a,
                    "sentence_b": entailment.text_b,
                    "relatedness_score": relatedness.label,
                    "entailment_judgment": entailment.label,
                },
            )
