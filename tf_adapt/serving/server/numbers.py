"""What a server counts, for Prometheus."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

_SECONDS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30)
_ROWS = (1, 2, 4, 8, 16, 32, 64, 128, 256)


class Numbers:
    """Counters of one server. Labels are names of models that there are, never a client's text."""

    def __init__(self):
        self.registry = CollectorRegistry()
        shared = {"namespace": "tf_adapt", "registry": self.registry}
        self.requests = Counter(
            *("requests", "Requests answered, by HTTP status", ["model", "method", "status"]),
            **shared,
        )
        self.seconds = Histogram(
            *("request_seconds", "From the first byte to the answer", ["model", "method"]),
            buckets=_SECONDS,
            **shared,
        )
        self.batch_rows = Histogram(
            *("batch_rows", "Texts in one call of a model", ["model", "signature"]),
            buckets=_ROWS,
            **shared,
        )
        self.active = Gauge("active_requests", "Requests being read or answered", **shared)
        self.waiting = Gauge(
            "waiting_rows", "Texts that wait for a call", ["model", "signature"], **shared
        )
        self.version = Gauge("model_version", "The version that answers", ["model"], **shared)
