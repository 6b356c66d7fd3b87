"""Reads metrics as `/metrics` would show them, in a process that has no telemetry of its own."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from opentelemetry.exporter.prometheus import PrometheusMetricReader
from opentelemetry.sdk.metrics import MeterProvider
from prometheus_client import CollectorRegistry, generate_latest

_LINE = re.compile(r"^(\w+)(?:\{(.*)\})? (\S+)$", re.MULTILINE)
_LABEL = re.compile(r'(\w+)="([^"]*)"')


class Shown:
    """What is measured from now on."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry

    def text(self) -> str:
        return generate_latest(self._registry).decode()

    def values(self, name: str) -> dict[tuple[str, ...], float]:
        """Return the values of a metric by those of its labels, in the order of their names."""
        return {
            tuple(value for _, value in sorted(_LABEL.findall(labels))): float(number)
            for found, labels, number in _LINE.findall(self.text())
            if found == name
        }

    def labels(self, name: str) -> set[str]:
        """Return the names of the labels of a metric."""
        lines = [labels for found, labels, _ in _LINE.findall(self.text()) if found == name]
        return {label for labels in lines for label, _ in _LABEL.findall(labels)}


@contextmanager
def metrics_shown(monkeypatch: pytest.MonkeyPatch) -> Iterator[Shown]:
    registry = CollectorRegistry()
    provider = MeterProvider(metric_readers=[PrometheusMetricReader(registry=registry, scope_info_enabled=False)])
    monkeypatch.setattr("worker.metric.metrics.get_meter", provider.get_meter)
    yield Shown(registry)
    provider.shutdown()
