"""What `task.json` and `metrics.json` of a run folder hold."""

from pydantic import Field, field_validator

from hub_modules.storage.json_files import Schema

Scores = dict[str, float | None]
BYTES_PER_WEIGHT = 4


class SpanArguments(Schema):
    """The arguments of a `tf_adapt.tasks.span_search.SpanSearch`."""

    stride: int
    longest_answer: int
    n_best: int
    no_answer_threshold: float | None


class TaskArguments(Schema):
    """The arguments of a `tf_adapt.tasks.task.Task`."""

    kind: str
    labels: list[str] | None
    metric: str | None
    scheme: str
    label_range: tuple[float, float] | None
    thresholds: tuple[float, ...] | None = None
    spans: SpanArguments | None = None
    temperature: float | None = None

    # JSON has no tuples.
    _tuples = field_validator("label_range", "thresholds", mode="before")(
        lambda given: tuple(given) if isinstance(given, list) else given
    )


class TaskFile(Schema):
    """Content of `task.json`: the task, to use a run without its data, and the module's hash.

    A run of several tasks has no `task`, but `tasks` by name.
    """

    task: TaskArguments | None
    module: str
    tasks: dict[str, TaskArguments] = {}


class TaskMetrics(Schema):
    """What differs between several tasks of a run, in its `metrics.json`."""

    dataset: str
    head: str
    layer_weights: list[float] | None = None
    dev: Scores
    test: Scores | None = None
    metric: str
    splits: dict[str, str]
    truncated: dict[str, int]
    serving_per_1000: float


class SliceMetrics(Schema):
    """A `tf_adapt.statistics.slice_score.SliceScore` as plain values."""

    examples: int
    score: float | None
    interval: list[float] | None
    rest: float | None
    p: float | None
    p_holm: float | None
    challenging: bool


class StartedFrom(Schema):
    """The run that a run started from: its score, what was taken of it, and its own start.

    `head`: whether the head was taken; of several tasks the names of those whose heads were.
    """

    run: str
    dataset: str
    adaptation: str
    metric: str
    split: str
    score: float | None
    head: bool | list[str]
    weights: str
    start: "StartedFrom | None" = None


class Side(Schema):
    """A teacher or its student: scores, and the costs of predicting (MB of its weights)."""

    dev: Scores
    test: Scores | None = None
    parameters: int
    megabytes: float
    serving_per_1000: float


class Taught(Schema):
    """How a run was taught: by which run, how, and both side by side."""

    run: str
    hash: str
    temperature: float
    weight: float
    unlabelled: int = Field(ge=0)
    teacher: Side
    student: Side


class Forgetting(Schema):
    """The loss of the source task on held-out text, and the distance from the pretrained weights.

    Attributes:
        task: a name in `tf_adapt.models.language_objectives.OBJECTIVES`.
        before, after: mean loss of the pretrained and of the adapted weights.
        distances: relative L2 distance by layer group, and of `all` weights.
        texts, targets, truncated: lines of the text, predictions in them, lines that were cut.
    """

    task: str
    before: float
    after: float
    distances: dict[str, float]
    texts: int = Field(ge=1)
    targets: int = Field(ge=1)
    truncated: int = Field(ge=0)


class Source(Schema):
    """One of several sources of labels; its accuracy is estimated, None without votes."""

    votes: int = Field(ge=0)
    accuracy: float | None


class Weak(Schema):
    """Training labels from votes: how many, how far the sources agree, what was made of them.

    `agreement` is the share of the pairs of votes for one example that agree (None: no pairs),
    `entropy` the mean entropy of the examples' probabilities in nats, `undecided` the share of the
    examples without a label of a probability above 0.5.
    """

    votes_file: str
    aggregate: str
    examples: int = Field(ge=1)
    votes: int = Field(ge=1)
    agreement: float | None
    sources: dict[str, Source]
    entropy: float
    undecided: float


class LabelScores(Schema):
    """The scores of the predictions of one label, and how often it is true."""

    precision: float
    recall: float
    f1: float
    support: int = Field(ge=0)


class Calibration(Schema):
    """The calibration error, and for each bin of probabilities count, mean, and share that came
    true; see `tf_adapt.statistics.calibration`."""

    ece: float
    counts: list[int]
    probabilities: list[float]
    shares: list[float]


class Quality(Schema):
    """Of the predictions of one split."""

    labels: dict[str, LabelScores] = {}
    calibration: Calibration | None = None


class Metrics(Schema):
    """Content of `metrics.json`; of several tasks what the target has, and `tasks` by name.

    `distances`: of the encoder's weights from those that the run began with (the pretrained ones,
    with `start` those of that run), relative to their length, by layer group and of `all`; missing
    where none is ever trained, and of averaged weights. `persona`: that of the first dialogue of
    the last split, for a chat. `bleu_signature`: how sacrebleu computed BLEU.
    """

    dataset: str
    adaptation: str
    encoder: str
    module: str
    family: str
    head: str | None = None
    reads: str | None = None
    layer_weights: list[float] | None = None
    seed: int
    start: StartedFrom | None = None
    taught: Taught | None = None
    forgetting: Forgetting | None = None
    distances: dict[str, float] | None = None
    weak: Weak | None = None
    slice_heads: dict[str, int] | None = None
    dev: Scores
    test: Scores | None = None
    shifted: dict[str, Scores] | None = None
    quality: dict[str, Quality] | None = None
    slices: dict[str, dict[str, SliceMetrics | None]] | None = None
    metric: str
    best_epoch: int = Field(ge=1)
    epochs: int = Field(ge=1)
    splits: dict[str, str]
    truncated: dict[str, int]
    parameters: dict[str, int]
    seconds: dict[str, float]
    peak_memory_mb: float
    peak_gpu_memory_mb: float | None = None
    versions: dict[str, str]
    persona: list[str] | None = None
    bleu_signature: str | None = None
    target: str | None = None
    tasks: dict[str, TaskMetrics] = {}
