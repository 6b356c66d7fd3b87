"""How long the stages of a round take, for whoever watches the worker: a metric, and attributes of the round's span."""

from collections.abc import Mapping

from opentelemetry import trace

from planner.model.stages import Stage
from worker.metrics import PLANNING, histogram


class StageSeconds:
    """Tells of rounds, one after the other."""

    def __init__(self) -> None:
        self._seconds = histogram(PLANNING)

    def __call__(self, seconds: Mapping[Stage, float]) -> None:
        """Tell of one round, by stage, within the span of its activity."""
        span = trace.get_current_span()
        for stage, number in seconds.items():
            self._seconds.record(number, {"stage": stage})
            span.set_attribute(f"growth.planning.{stage}_seconds", number)
