"""Metrics and traces: Prometheus always, OTLP when the standard variable names an endpoint.

Temporal's own metrics go through the same pipeline, so that one /metrics and one endpoint tell all.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

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
from temporalio.client import Interceptor
from temporalio.contrib.opentelemetry import MetricsExporter, TracingInterceptor
from temporalio.runtime import MetricBuffer, Runtime, TelemetryConfig

ENDPOINT_VARIABLES = (
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT",
)
METRIC_BUFFER_SIZE = 20_000
"""Drained each second; a burst of starts makes a few thousand updates in one."""


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
    """Set telemetry up, and flush it at the end."""
    resource = Resource.create({"service.name": "growth", "growth.cluster": cluster})
    registry = CollectorRegistry()
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
    runtime = Runtime(telemetry=TelemetryConfig(metrics=buffer))
    try:
        async with MetricsExporter(buffer, meters):
            yield Telemetry(registry, runtime, interceptors)
    finally:
        # Both flush over HTTP, which must not hold up the event loop.
        await asyncio.to_thread(meters.shutdown)
        await asyncio.to_thread(tracers.shutdown)
