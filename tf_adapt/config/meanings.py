"""The meaning of each key of a config, by the class of its section in `config.sections`,
`config.data_sections` or `comparison.sections`; the expected value is described with the key
itself.

For the reference page and the JSON schema. A key that holds a section needs none: the section has
a docstring.
"""

_TRAIN_EXAMPLES = {
    "train_examples": "size of a random sample of train; dev and test are not sampled",
    "train_examples_seed": "seed of the sample; with one seed, larger samples contain smaller ones",
}
_HELD_OUT = {
    "held_out": "fraction of train that serves as dev, while dev serves as test; a test split is "
    "not read"
}
_LABELS = {
    "labels": "the labels, in the order of their ids; null: those of train, sorted",
    "label_range": "lowest and highest label of a regression, for display",
}
_FILES = {
    "train": "training data",
    "dev": "data for the selection of the epoch",
    "test": "test data",
}
_TEXTS = {
    "text": "the same as text_a, for kinds with one text",
    "text_a": "the text, or the first of a pair",
    "text_b": "the second text of a pair",
    "label": "the label; several labels of a multilabel example are separated by |",
    "group": "examples with the same value are dependent and count as one item in the tests",
}

_FOLD = {"fold": "a part of train, after train_examples, that is left out"}
_SPANS = {"spans": "how the answers to questions are looked for"}

MEANINGS = {
    "About": {
        "summary": "a description in a sentence or two",
        "expected": "the score to compare with",
        "minutes": "duration of the experiment",
    },
    "DatasetConfig": {
        "dataset": "one of the project's named datasets",
        "source": "its original files in data_dir, TensorFlow Datasets, or the sample data that "
        "ships with the package",
        "data_dir": "the folder of the dataset",
        **_TRAIN_EXAMPLES,
        **_FOLD,
        **_HELD_OUT,
        "genre": "restricts train to one genre",
        **_SPANS,
    },
    "SpansConfig": {
        "stride": "tokens from the beginning of one window of a context to the next",
        "longest_answer": "most words of an answer; words are split at white space and punctuation",
        "n_best": "answers of each question in .jsonl files of predictions",
        "no_answer_threshold": "a question has no answer if the logit of none exceeds that of the "
        "best span by more than this; null: 0 where train has questions without an answer, else "
        "every question is answered",
    },
    "FoldConfig": {
        "of": "how many parts, of sizes that differ by one at most (tagging with documents: by one "
        "document)",
        "leave_out": "which of them is left out, from 0",
        "seed": "seed of the parts",
    },
    "Columns": {
        **_TEXTS,
        "words": "the column of the words (conll)",
        "tags": "the column of the tags (conll)",
    },
    "FilesConfig": {
        "format": "file format",
        "kind": "task kind",
        **_FILES,
        "columns": "the columns of the data",
        "delimiter": "field separator of csv files",
        "scheme": "tag scheme",
        **_LABELS,
        **_TRAIN_EXAMPLES,
        **_FOLD,
        **_HELD_OUT,
        **_SPANS,
    },
    "FeatureColumns": _TEXTS,
    "TfdsConfig": {
        "source": "TensorFlow Datasets",
        "name": "name of the dataset",
        "kind": "task kind",
        "columns": "the features of the dataset",
        **_FILES,
        "data_dir": "the folder of TensorFlow Datasets",
        **_LABELS,
        **_TRAIN_EXAMPLES,
        **_FOLD,
        **_HELD_OUT,
    },
    "TextConfig": {
        "format": "one text a line",
        "kind": "unlabelled text, with objective: language_model",
        **_FILES,
        "skip_empty": "skip empty lines instead of raising an error",
    },
    "EncoderConfig": {
        "handle": "the pretrained module",
        "execution": "native Keras layers, or the module's own SavedModel, which has no adapters",
        "trust": "allow a SavedModel that neither ships with the package nor was trusted before; "
        "it runs with your rights",
        "preprocessor": "preprocessing module, for an encoder without one",
        "pairs": "encode both texts of a pair as one sequence, or each separately",
        "pretrained": "use the pretrained weights",
        "classification_token": "add a token with a new embedding at the end of each input of a "
        "causal module, whose state stands for the text",
        "keep_layers": "the transformer layers that the encoder has, from 0, the lowest (BERT, "
        "causal, keras-hub); null: all",
        "long": "read texts of any length in windows (transformers)",
    },
    "LongConfig": {
        "window": "positions of a window, its two special tokens included",
        "stride": "tokens from the begin of a window to that of the next",
        "pool": "how the windows' pooled vectors become the text's",
    },
    "TrainingConfig": {
        "epochs": "maximum number of epochs; the weights of the best epoch on dev are kept",
        "batch_size": "examples per batch",
        "accumulate_steps": "batches per update, with the mean of their gradients; the last ones "
        "of an epoch may be fewer",
        "learning_rate": "peak learning rate of the schedule",
        "warmup": "fraction of the steps in which the learning rate rises",
        "weight_decay": "decoupled weight decay",
        "target_epochs": "with several tasks: how many of the epochs, at the end, are passes over "
        "the target's data alone",
        "steps_per_epoch": "with several tasks: the length of an epoch",
        "clip_norm": "maximum global norm of the gradients (clipping)",
        "patience": "early stopping: epochs without improvement on dev",
        "max_length": "maximum input length: word pieces of transformers, words of others",
        "truncate": "truncate over-long inputs instead of raising an error; tagging splits them",
        "document_context": "encode each sentence with its neighbours in the document (BERT, "
        "tagging)",
        "choose_thresholds": "tune the threshold of each label, or that of no answer, on dev, at "
        "the best epoch "
        "(multilabel_classification); false: 0.5",
        "mixed_precision": "half-precision computation with float32 weights",
        "gradient_checkpointing": "recompute the layers in the backward pass (BERT): less memory, "
        "more time",
        "jit_compile": "compile training steps with XLA",
        "devices": "data parallelism over the devices of one machine",
        "strategy": "data parallelism over several machines, as described by TF_CONFIG",
        "seed": "random seed",
    },
    "AdaptationConfig": {
        "name": "which layer groups are trainable when",
        "layers": "number of trainable layers, from the top (top_layers; default 1)",
        "every": "length of a phase (gradual_unfreezing, chain_thaw; default 1)",
        "unit": "unit of `every` (default epochs)",
        "head_epochs": "epochs of the head alone (two_stage, sequential_unfreezing; default 1)",
        "upper_epochs": "epochs without the lowest group (sequential_unfreezing; default 1)",
        "patience": "epochs without improvement on dev that end a phase; the lengths of phases are "
        "maximum lengths then",
        "kind": "type of the adapters (adapters; default bottleneck)",
        "size": "hidden size of the adapters (adapters; default 64)",
        "activation": "activation of bottleneck adapters (adapters; default gelu, the encoder's "
        "own formula)",
        "operation": "first operation of bottleneck adapters; convolution: each position with its "
        "two neighbours (adapters; default dense)",
        "rank": "rank of the added matrices (lora; default 8)",
        "alpha": "scale of the added matrices, which are multiplied by alpha / rank (lora; "
        "default 16)",
        "target": "the kernels of a transformer layer that are adapted (lora; default query and "
        "value)",
        "in_layers": "the layers that are adapted, from 0, the lowest (adapters, lora); null: all",
    },
    "OptimizerConfig": {
        "name": "the optimizer",
        "momentum": "momentum of sgd",
        "decay": "layer-wise decay of the learning rate: this factor for the encoder's highest "
        "group, its square for the next, and so on down",
        "factors": "learning rate of each group, relative to training.learning_rate",
    },
    "ScheduleConfig": {
        "name": "shape of the schedule",
        "per_phase": "restart the schedule in each phase of the adaptation",
        "ratio": "peak learning rate divided by the lowest",
        "denominator": "formula of the decrease: AllenNLP's, or that of the ULMFiT paper",
    },
    "L2SpConfig": {
        "alpha": "strength of the penalty on the distance from the pretrained weights",
        "beta": "strength of the penalty on the norm of new weights",
    },
    "EwcConfig": {
        "fisher": "diagonal Fisher information of an earlier task",
        "weight": "strength of the penalty, λ; of a chain of tasks the published one times γ",
    },
    "AuxiliaryLossConfig": {
        "weight": "weight of the auxiliary loss",
        "final_weight": "its weight after anneal_steps",
        "anneal_steps": "steps of the exponential annealing",
    },
    "ConsistencyConfig": {
        "weight": "weight of the consistency loss",
        "final_weight": "its weight after anneal_steps",
        "anneal_steps": "steps of the exponential annealing",
        "unlabelled": "texts in the format of the data without labels, as many in each step as "
        "labelled examples",
        "perturbation": "what the prediction on a text is compared with: that on its perturbation",
        "confidence": "texts whose most probable label is not above it do not count",
        "temperature": "the logits of a text itself are divided by it; below 1 sharpens them",
        "signal_annealing": "release of the labelled examples over the training: one counts while "
        "the probability of its label is below a threshold that rises to 1",
    },
    "PerturbationConfig": {
        "name": "another draw of dropout; masked pieces; words dropped or swapped with the next "
        "one; the change of the embeddings that changes the prediction most",
        "file": "paraphrases, a TSV file with the columns text and paraphrase",
        "rate": "share of masked pieces (default 0.15) or changed words (default 0.1)",
        "epsilon": "size of the adversarial change, relative to the norm of the embeddings "
        "(default 0.02)",
    },
    "FeaturesConfig": {
        "cache": "folder of cached features, shared between runs",
        "require": "raise an error for features that are missing from the cache",
        "limit_mb": "memory limit for features",
        "disk_limit_mb": "disk limit for features, in the cache or beyond memory",
        "dtype": "precision of features; 16 bits halve their size and change scores slightly",
        "engine": "what computes features; openvino changes their last bits, openvino_int8 more",
    },
    "SliceConfig": {
        "words": "examples with one of these words in either text",
        "longer_than": "examples with more words than that in either text",
        "word_overlap_above": "pairs whose words overlap more: those of both texts by those of "
        "either, each word once (Jaccard)",
        "wrong_in": "examples that this run predicted wrongly",
        "file": "examples listed in a file by their places, FILE:LINE, one a line",
    },
    "StartConfig": {
        "run": "the run that encoder and head begin from",
        "config": "the config of a run that is trained first, with its own seed, and begun from",
        "head": "begin from its head too, where kind and labels of both tasks are equal; false: "
        "a new head",
    },
    "TeacherConfig": {
        "run": "the run that answers",
        "temperature": "logits of teacher and student are divided by it (not for regression)",
        "weight": "weight of the teacher's answers; the labels have the rest to 1",
        "unlabelled": "further texts, in the format of the data without labels, which train with "
        "the teacher's answers alone",
    },
    "ForgettingConfig": {
        "text": "running text that neither the module nor this run learned from, one paragraph a "
        "line (.gz is unpacked)",
    },
    "WeakConfig": {
        "votes": "labels of train from several sources: a column for each, a row for each example",
        "aggregate": "how they become one: Dawid and Skene's model of the sources, or the majority",
    },
    "TaskConfig": {
        "weight": "factor of the task's loss",
    },
    "Config": {
        "tasks": "several tasks that are trained together on one encoder, by name",
        "target": "the task whose score on dev selects the epoch",
        "sampling": "how often a step trains each task: in proportion to its number of examples n, "
        "to its square root, equally often, or annealed from n to n^0.2 over the epochs",
        "task_attention": "width of the projected attention layers that each task has for itself "
        "in the encoder (BERT); 204 is the published one for BERT-base",
        "objective": "training objective: the task, or language modelling",
        "head": "task-specific model; default: that of the paper for the task, the encoder and "
        "the adaptation",
        "head_dropout": "dropout rate of the head",
        "head_units": "hidden size of the head's LSTMs, per direction",
        "head_pooling": "pooling of the head's hidden states to a vector (not for tagging)",
        "head_word_pieces": "vector of a word from its word pieces: that of one, or the mean or "
        "maximum of all (tagging)",
        "slices": "parts of the data that are scored by themselves; of several tasks those of the "
        "target",
        "slice_heads": "train a head for each slice on its members, beside the one that predicts",
    },
    "Compare": {
        "encoders": "the encoders to compare",
        "adaptations": "the adaptations to compare",
        "heads": "the heads to compare",
        "learning_rates": "learning rates to try, as many in every cell; null: the built-in ones",
        "epochs": "epochs by adaptation",
        "head_units": "hidden size of the heads' LSTMs, per direction",
        "settings": "keys of a run that differ between cells",
        "signals": "what the cells learn from beside the labels, by name: keys of a run that are "
        "laid over the others; {} is the labels alone",
        "train_examples": "training-set sizes, for learning curves",
        "score_on": "the split that is scored; dev: a part of train is used for selection, and "
        "test is not read",
        "seeds": "random seeds per cell",
        "threads": "threads per run; results depend on them in the last bits",
    },
}
MEANINGS["TaskConfig"] |= {
    key: MEANINGS["Config"][key]
    for key in ("head", "head_dropout", "head_units", "head_pooling", "head_word_pieces")
}
MEANINGS["CellSettings"] = {
    key: MEANINGS["Config"][key] for key in ("head_dropout", "head_pooling", "head_word_pieces")
}
MEANINGS["EncoderEntry"] = MEANINGS["EncoderConfig"] | {
    "learning_rates": "learning rates to try with this encoder"
}
MEANINGS["TrainingSettings"] = MEANINGS["TrainingConfig"]
MEANINGS["SignalTraining"] = MEANINGS["TrainingConfig"]
MEANINGS["EncoderSettings"] = MEANINGS["EncoderConfig"]
MEANINGS["SignalTeacher"] = MEANINGS["TeacherConfig"] | {
    "signal": "the signal whose runs answer, for each seed the one with that seed",
}
MEANINGS["SignalSettings"] = MEANINGS["CellSettings"] | {
    "adaptations": "the adaptations whose cells have the signal; null: all",
    "encoders": "the encoders, by handle, whose cells have the signal; null: all",
    "slice_heads": MEANINGS["Config"]["slice_heads"],
    "tasks": "further tasks that are trained together with the comparison's own, by name",
    "target": "the name of the comparison's own task among them",
    "sampling": MEANINGS["Config"]["sampling"],
    "task_attention": MEANINGS["Config"]["task_attention"],
    "ensemble": "how many trainings, with seeds of their own, answer together for each seed",
    "folds": "as ensemble, but each of them leaves out another of so many parts of train",
}
