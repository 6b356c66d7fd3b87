"""In a process of its own: OpenTelemetry's providers can be set once in a process."""

import json
import subprocess
import sys
import textwrap

SCRIPT = textwrap.dedent("""
    import json
    from opentelemetry import metrics, trace
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import InMemoryMetricReader
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
    from worker.runtime.measured import StageSeconds

    reader, spans = InMemoryMetricReader(), InMemorySpanExporter()
    metrics.set_meter_provider(MeterProvider([reader]))
    tracers = TracerProvider()
    tracers.add_span_processor(SimpleSpanProcessor(spans))
    tell = StageSeconds()
    tell({"read": 1.0})
    with tracers.get_tracer("test").start_as_current_span("round"):
        tell({"read": 0.25, "pack": 2.0})
    [metric] = reader.get_metrics_data().resource_metrics[0].scope_metrics[0].metrics
    points = {one.attributes["stage"]: (one.count, one.sum) for one in metric.data.data_points}
    [span] = spans.get_finished_spans()
    print(json.dumps([metric.name, metric.unit, points, dict(span.attributes)]))
""")


def test_stages_are_a_metric_and_attributes_of_the_span_that_the_round_is_in():
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], env={"PYTHONPATH": "."}, capture_output=True, text=True, timeout=60, check=True
    )
    assert json.loads(done.stdout) == [
        "growth_planning",
        "s",
        {"read": [2, 1.25], "pack": [1, 2.0]},
        {"growth.planning.read_seconds": 0.25, "growth.planning.pack_seconds": 2.0},
    ]
