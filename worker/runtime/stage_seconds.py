"""How long the stages of a round take, for whoever watches the worker: a metric, and attributes of the round's span."""

from collections.abc import Mapping
from typing import Final

from opentelemetry import metrics, trace

from planner.model.stages import Stage

_BUCKETS: Final = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)


class StageSeconds:
    """Tells of rounds, one after the other."""

    def __init__(self) -> None:
        self._seconds = metrics.get_meter("growth").create_histogram(
            "growth_planning",
            unit="s",
            description="Time of each stage of a round: read, assemble, pack, check, decide",
            explicit_bucket_boundaries_advisory=_BUCKETS,
        )

    def __call__(self, seconds: Mapping[Stage, float]) -> None:
        """Tell of one round, by stage, within the span of its activity."""
        span = trace.get_current_span()
        for stage, number in seconds.items():
            self._seconds.record(number, {"stage": stage})
            span.set_attribute(f"growth.planning.{stage}_seconds", number)
