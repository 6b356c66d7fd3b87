"""In processes of their own: OpenTelemetry's providers can be set once in a process."""

import http.server
import json
import os
import re
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest

SCRIPT = textwrap.dedent("""
    import asyncio, sys, time
    from opentelemetry import metrics
    from prometheus_client import generate_latest
    from temporalio.client import Client
    from worker.runtime.telemetry import telemetry

    async def main():
        async with telemetry(sys.argv[3]) as seen:
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


CORE_SCRIPT = textwrap.dedent("""
    import asyncio, sys
    from temporalio import activity
    from temporalio.testing import WorkflowEnvironment
    from temporalio.worker import Worker
    from worker.logs import set_up_logging
    from worker.runtime.telemetry import telemetry

    @activity.defn
    async def empty() -> None:
        pass

    async def main():
        set_up_logging("json", "info", cluster=sys.argv[2])
        async with telemetry(sys.argv[2]) as seen:
            async with await WorkflowEnvironment.start_time_skipping(
                runtime=seen.runtime, test_server_existing_path=sys.argv[1]
            ) as env:
                async with Worker(env.client, task_queue="a", activities=[empty]):
                    # Lines are forwarded some moments later.
                    await asyncio.sleep(1)

    asyncio.run(main())
""")


def run(address: str, name: str, cluster: str = "test", **environment: str) -> str:
    """Run the script and return what /metrics would show."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith("OTEL_")}
    return subprocess.run(
        [sys.executable, "-c", SCRIPT, address, name, cluster],
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
    assert 'growth_things_total{cluster="test"} 2.0' in shown
    assert re.search(r'temporal_request_total\{[^}]*operation="StartWorkflowExecution"[^}]*\} 1\.0', shown)


def test_with_an_endpoint_metrics_and_traces_are_sent_before_the_end(dev_server, cluster_name, collector):
    endpoint, got = collector
    run(dev_server, cluster_name, OTEL_EXPORTER_OTLP_ENDPOINT=endpoint, OTEL_EXPORTER_OTLP_COMPRESSION="none")
    assert any(b"growth_things" in body for body in got["/v1/metrics"])
    assert all(has_attribute(body, "k8s.cluster.name", "test") for bodies in got.values() for body in bodies)
    assert any(b"StartWorkflow:Waiting" in body for body in got["/v1/traces"])


def test_the_metrics_of_two_clusters_can_stand_in_one_place(dev_server, cluster_name):
    """Each sample of each, the SDK's too: what stands in target_info alone, no query of a series sees."""
    pages = {name: run(dev_server, f"{cluster_name}-{name}", name) for name in ("shop", "lab")}
    for name, page in pages.items():
        samples = [line for line in page.splitlines() if line and not line.startswith("#")]
        assert {line.partition("_")[0] for line in samples} == {"growth", "temporal", "target"}
        assert [line for line in samples if f'cluster="{name}"' not in line] == []
    names = [{line.rpartition(" ")[0] for line in page.splitlines() if line[:1] != "#"} for page in pages.values()]
    assert names[0] & names[1] <= {""}


def test_what_the_collector_knows_as_the_clusters_name_stays(dev_server, cluster_name, collector):
    """Other programs of the cluster bear it, too: it is set for all of them, in OpenTelemetry's own variable."""
    endpoint, got = collector
    run(
        dev_server,
        cluster_name,
        OTEL_EXPORTER_OTLP_ENDPOINT=endpoint,
        OTEL_EXPORTER_OTLP_COMPRESSION="none",
        OTEL_RESOURCE_ATTRIBUTES="k8s.cluster.name=prod-eu",
    )
    for bodies in got.values():
        assert all(has_attribute(body, "k8s.cluster.name", "prod-eu") for body in bodies)
        assert all(has_attribute(body, "growth.cluster", "test") for body in bodies)


def test_the_core_of_the_sdk_logs_as_all_others_do():
    """By itself it writes to standard output, in lines of its own. It warns of the server that skips time."""
    server = Path(sys.executable).with_name("temporal-test-server")
    done = subprocess.run(
        [sys.executable, "-c", CORE_SCRIPT, str(server), "shop"],
        env=os.environ | {"PYTHONPATH": "."},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout == ""
    lines = [json.loads(line) for line in done.stderr.splitlines()]
    assert {line["cluster"] for line in lines} == {"shop"}
    assert [line["level"] for line in lines if "sdk_core" in line["logger"]] == ["warning"]


def has_attribute(body: bytes, key: str, value: str) -> bool:
    """Whether a body of OTLP has the attribute. Source: common.proto, KeyValue: key is field 1, value field 2."""
    text = b"\x0a" + bytes([len(value)]) + value.encode()
    return b"\x0a" + bytes([len(key)]) + key.encode() + b"\x12" + bytes([len(text)]) + text in body
