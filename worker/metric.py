"""The shape of a metric: a row with name, unit, labels and help, and how it is shown.

Names are OpenTelemetry's; `/metrics` shows them as Prometheus has them, with the unit and `_total` appended. A label
has few values: a pool, a phase, a kind, a word of the code, never the name of a pod or of a machine.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from opentelemetry import metrics
from opentelemetry.metrics import CallbackOptions, Counter, Histogram, Observation

Labels = Mapping[str, str]
CLUSTER: Final = "cluster"
"""Label of every metric: the cluster's name, so that the metrics of two can stand in one place."""
Values = Callable[[], Iterable[tuple[float, Labels]]]
"""Returns the current values of a gauge, one for each set of labels, none if nothing is known."""


class Kind(StrEnum):
    """How values of a metric come together."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True)
class Metric:
    """A row."""

    name: str
    kind: Kind
    unit: str
    """As OpenTelemetry writes units: s, or in braces what is counted."""
    help: str
    labels: Labels = field(default_factory=dict)
    """The values that each label takes, in words."""
    use: str = ""
    """What an operator does with it."""
    buckets: tuple[float, ...] = ()

    @property
    def shown(self) -> str:
        """The name on `/metrics`."""
        unit = "_seconds" if self.unit == "s" else ""
        return f"{self.name}{unit}{'_total' if self.kind is Kind.COUNTER else ''}"


def counter(metric: Metric) -> Counter:
    """Return the counter of a row."""
    return metrics.get_meter("growth").create_counter(metric.name, unit=metric.unit, description=metric.help)


def histogram(metric: Metric) -> Histogram:
    """Return the histogram of a row."""
    return metrics.get_meter("growth").create_histogram(
        metric.name,
        unit=metric.unit,
        description=metric.help,
        explicit_bucket_boundaries_advisory=metric.buckets,
    )


def gauge(metric: Metric, values: Values) -> None:
    """Let `values` be asked for the values of a row whenever metrics are read."""

    def observed(_options: CallbackOptions) -> Sequence[Observation]:
        return [Observation(value, labels) for value, labels in values()]

    metrics.get_meter("growth").create_observable_gauge(
        metric.name, [observed], unit=metric.unit, description=metric.help
    )
