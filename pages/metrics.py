"""Writes the page of metrics, docs/metrics.md, from the table of them in `worker.metrics`.

`python -m pages.metrics` writes it; with --check it only says whether it is fresh.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from pages.generated import write_or_check
from pages.metric_names import ESCALATOR, VPSIE, names_table
from worker.metric import CLUSTER, Metric
from worker.metrics import METRICS

FILE: Final = Path(__file__).resolve().parent.parent / "docs" / "metrics.md"
"""Where a checkout keeps the page."""

_HEAD: Final = f"""\
# Metrics

`/metrics` of [each worker](operations.md#logs-health-and-metrics) shows what is here, and what the Temporal SDK counts,
`temporal_…`. Written from the code by `make drawings`.

A round runs on any worker of the cluster. The worker that ran it shows what it saw, and forgets that after two and a
half minutes without another; so with several workers take `max without (instance, pod)` of a gauge, and `sum` of a
counter.

Each sample, the SDK's too, has the label `{CLUSTER}` with the name of the cluster (`GROWTH_CLUSTER`), so that the
metrics of several can stand in one place. A Prometheus that itself puts a label `{CLUSTER}` on what it scrapes shows
this one as `exported_{CLUSTER}`, unless the scrape has `honor_labels: true`. Over OTLP the name is in the resource, as
`growth.cluster` and `k8s.cluster.name`; of the latter, what `OTEL_RESOURCE_ATTRIBUTES` says counts.
"""

_ALERTS: Final = """\
## Alerts

To begin with; `for` is how long a condition holds before anybody is woken.

```yaml
groups:
  - name: growth
    rules:
      - alert: GrowthDoesNotPlan
        expr: |
          time() - max by (cluster) (growth_last_round_timestamp_seconds) > 180
            or absent(growth_last_round_timestamp_seconds)
        for: 5m
      - alert: GrowthPodsWithoutPlace
        expr: max by (cluster) (growth_waiting_pods{place="none"}) > 0
        for: 15m
      - alert: GrowthServerDoesNotGo
        expr: sum by (cluster) (max by (cluster, pool) (growth_parked_removals)) > 0
        for: 10m
      - alert: GrowthServersFail
        expr: sum by (cluster) (increase(growth_requests_total{outcome="Failed"}[15m])) > 0
      - alert: GrowthProviderRefusesCalls
        expr: |
          sum by (cluster, provider) (rate(growth_provider_calls_total{outcome="RateLimited"}[10m]))
            > 0.1 * sum by (cluster, provider) (rate(growth_provider_calls_total[10m]))
        for: 10m
```

A cluster whose workers are all gone has no series that could be old: for each, add
`absent(growth_last_round_timestamp_seconds{cluster="NAME"})`.
"""

_PEERS: Final = """\
What is counted of a pool is what its thresholds go by, so that a graph shows why it grew. Series of a pool that is gone
go with the next round; histograms and counters have no label `pool`.
"""


def page() -> str:
    """Return the page."""
    rows = "\n".join(f"| {_cell(metric)} | {metric.kind} | {_told(metric)} |" for metric in METRICS)
    labels = "\n".join(
        f"| `{metric.shown}` | `{label}` | {values} |" for metric in METRICS for label, values in metric.labels.items()
    )
    return (
        f"{_HEAD}\n## Names\n\n| metric | kind | |\n|---|---|---|\n{rows}\n"
        f"\n## Labels\n\n| metric | label | values |\n|---|---|---|\n{labels}\n{_peers()}\n{_ALERTS}"
    )


def _peers() -> str:
    return (
        f"\n## Names in other autoscalers\n\n{_PEERS}\n### Escalator\n\n{names_table(ESCALATOR)}\n"
        f"\n### VPSie\n\n{names_table(VPSIE)}\n"
    )


def _cell(metric: Metric) -> str:
    return f"`{metric.shown}`"


def _told(metric: Metric) -> str:
    return f"{metric.help}. {metric.use}".strip()


def main(arguments: Sequence[str], file: Path = FILE) -> int:
    """Write the page, or with --check compare it; return the exit code."""
    return write_or_check(arguments, file, page(), source="the table of metrics says")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
