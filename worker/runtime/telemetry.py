"""Metrics and traces: Prometheus always, OTLP when the standard variable names an endpoint.

Temporal's own metrics go through the same pipeline, so that one /metrics and one endpoint tell all.
"""

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from copy import copy
from dataclasses import dataclass
from typing import Final

from opentelemetry import metrics, trace
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.exporter.prometheus import PrometheusMetricReader
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import MetricReader, PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from prometheus_client import CollectorRegistry
from prometheus_client.metrics_core import Metric
from temporalio.client import Interceptor
from temporalio.contrib.opentelemetry import MetricsExporter, TracingInterceptor
from temporalio.runtime import (
    LogForwardingConfig,
    LoggingConfig,
    MetricBuffer,
    Runtime,
    TelemetryConfig,
    TelemetryFilter,
)

from worker.metric import CLUSTER

ENDPOINT_VARIABLES = (
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT",
)
METRIC_BUFFER_SIZE = 20_000
"""Drained each second; a burst of starts makes a few thousand updates in one."""
_CLUSTER_NAME: Final = "k8s.cluster.name"
"""Known to collectors and their backends. Source: OpenTelemetry semantic conventions, Kubernetes."""


class ClusterRegistry(CollectorRegistry):
    """Metrics of one cluster: each sample has the label `cluster`, whoever made the metric.

    A resource attribute would stand in `target_info` alone, and the series of two clusters could not be told apart.

    Args:
        cluster: name of the cluster.
    """

    def __init__(self, cluster: str) -> None:
        super().__init__()
        self._label = {CLUSTER: cluster}

    def collect(self) -> Iterator[Metric]:
        """Yield all metrics."""
        for metric in super().collect():
            of_cluster = copy(metric)
            of_cluster.samples = [sample._replace(labels=sample.labels | self._label) for sample in metric.samples]
            yield of_cluster


@dataclass(frozen=True, slots=True)
class Telemetry:
    """What the parts of the worker need of it."""

    registry: CollectorRegistry
    """What /metrics shows."""
    runtime: Runtime
    """For the Temporal client."""
    interceptors: Sequence[Interceptor]
    """For the Temporal client; workers inherit them."""


@asynccontextmanager
async def telemetry(cluster: str) -> AsyncIterator[Telemetry]:
    """Set telemetry up, and flush it at the end; all of it bears the name of the cluster."""
    # What the variable of OpenTelemetry says of the cluster is what its other programs bear too.
    resource = Resource({_CLUSTER_NAME: cluster}).merge(
        Resource.create({"service.name": "growth", "growth.cluster": cluster})
    )
    registry = ClusterRegistry(cluster)
    readers: list[MetricReader] = [PrometheusMetricReader(registry=registry, scope_info_enabled=False)]
    exported = any(os.environ.get(name) for name in ENDPOINT_VARIABLES)
    interceptors: list[Interceptor] = []
    tracers = TracerProvider(resource=resource)
    if exported:
        readers.append(PeriodicExportingMetricReader(OTLPMetricExporter()))
        tracers.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        trace.set_tracer_provider(tracers)
        # Spans of workflows that run for days must be visible before they end: this interceptor's are.
        interceptors.append(TracingInterceptor())
    meters = MeterProvider(metric_readers=readers, resource=resource)
    metrics.set_meter_provider(meters)
    buffer = MetricBuffer(METRIC_BUFFER_SIZE)
    # The SDK's core would write to stderr by itself, in lines of its own that name no cluster.
    core_logs = LoggingConfig(
        TelemetryFilter(core_level="WARN", other_level="ERROR"),
        forwarding=LogForwardingConfig(logging.getLogger("temporalio"), prepend_target_on_message=False),
    )
    runtime = Runtime(telemetry=TelemetryConfig(logging=core_logs, metrics=buffer))
    try:
        async with MetricsExporter(buffer, meters):
            yield Telemetry(registry, runtime, interceptors)
    finally:
        # Both flush over HTTP, which must not hold up the event loop.
        await asyncio.to_thread(meters.shutdown)
        await asyncio.to_thread(tracers.shutdown)
