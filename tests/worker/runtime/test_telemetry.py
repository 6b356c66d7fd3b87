"""In processes of their own: OpenTelemetry's providers can be set once in a process."""

import http.server
import os
import re
import subprocess
import sys
import textwrap
import threading

import pytest

SCRIPT = textwrap.dedent("""
    import asyncio, sys, time
    from opentelemetry import metrics
    from prometheus_client import generate_latest
    from temporalio.client import Client
    from worker.runtime.telemetry import telemetry

    async def main():
        async with telemetry("test") as seen:
            client = await Client.connect(
                sys.argv[1], namespace="growth", runtime=seen.runtime, interceptors=seen.interceptors
            )
            await client.start_workflow("Waiting", id=sys.argv[2], task_queue="nobody")
            metrics.get_meter("growth").create_counter("growth_things").add(2)
            # Temporal's metrics are taken over each second, on a busy machine later.
            shown, deadline = "", time.monotonic() + 40
            while "StartWorkflowExecution" not in shown and time.monotonic() < deadline:
                await asyncio.sleep(0.1)
                shown = generate_latest(seen.registry).decode()
            print(shown)

    asyncio.run(main())
""")


def run(address: str, name: str, **environment: str) -> str:
    """Run the script and return what /metrics would show."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith("OTEL_")}
    return subprocess.run(
        [sys.executable, "-c", SCRIPT, address, name],
        env=clean | {"PYTHONPATH": "."} | environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    ).stdout


@pytest.fixture
def collector():
    """An OTLP endpoint: its address, and the bodies it got by path."""
    got: dict[str, list[bytes]] = {}

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            got.setdefault(self.path, []).append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", got
        server.shutdown()


def test_without_an_endpoint_metrics_are_shown_and_nothing_is_sent(dev_server, cluster_name):
    shown = run(dev_server, cluster_name)
    assert "growth_things_total 2.0" in shown
    assert re.search(r'temporal_request_total\{[^}]*operation="StartWorkflowExecution"[^}]*\} 1\.0', shown)


def test_with_an_endpoint_metrics_and_traces_are_sent_before_the_end(dev_server, cluster_name, collector):
    endpoint, got = collector
    run(dev_server, cluster_name, OTEL_EXPORTER_OTLP_ENDPOINT=endpoint, OTEL_EXPORTER_OTLP_COMPRESSION="none")
    assert any(b"growth_things" in body for body in got["/v1/metrics"])
    assert any(b"StartWorkflow:Waiting" in body for body in got["/v1/traces"])
