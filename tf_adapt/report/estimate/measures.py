"""The measures of frozen states, as a report has them. Imports no TensorFlow."""

from dataclasses import dataclass

# More of each is better; the first one ranks.
MEASURES = {
    "probe": "linear probe",
    "neighbours": "5 nearest",
    "log_me": "LogME",
    "h_score": "H-score",
    "trans_rate": "TransRate",
    "bits": "bits",
}
SCORES = ("probe", "neighbours")


@dataclass(frozen=True, kw_only=True)
class LayerEstimate:
    """The measures of a layer of an encoder, on train.

    Attributes:
        encoder: as `tf-adapt estimate` calls it.
        module: the name of its module.
        layer: its number, or "mean": the mean of all layers.
        probe, neighbours: scores by five folds of train.
        log_me: evidence a text, in nats.
        bits: mutual information with the label.
    """

    encoder: str
    module: str
    family: str
    layer: int | str
    probe: float
    neighbours: float
    log_me: float
    h_score: float
    trans_rate: float
    bits: float


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """The layers of a comparison's encoders, the best one first.

    Attributes:
        metric: of probe and neighbours.
        constant: the score of a constant answer.
        examples: of train.
        predicted: lines on 🔥 − ❄; the first one says what the prediction is worth.
    """

    metric: str
    constant: float
    examples: int
    ranking: list[LayerEstimate]
    predicted: list[str]
