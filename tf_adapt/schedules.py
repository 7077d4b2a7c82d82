"""Learning rates as pure functions of the step."""

from collections.abc import Callable

Schedule = Callable[[int], float]


def linear_decay(peak: float, total_steps: int, warmup_steps: int) -> Schedule:
    """Linear warm-up to `peak`, then on the line that reaches 0 at the end of the whole run.

    rate(t) = peak · t / W for t < W, else peak · (1 − t / T); t counts from 0, T `total_steps`,
    W `warmup_steps`. At t = W the rate thus jumps to the line: both lines start at step 0.

    References: Devlin et al. 2019, google-research/bert `optimization.py`.
    """

    def rate(step: int) -> float:
        if step < warmup_steps:
            return peak * step / warmup_steps
        return peak * max(0.0, 1.0 - step / total_steps)

    return rate
