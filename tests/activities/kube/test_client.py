"""What the real API server cannot be made to do at will: be slow, silent, busy, cut off, or refuse a token.

All else about `activities.kube.client` is shown by the conformance suite on a real API server.
"""

import asyncio
import json
import os
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

import pytest
import yaml

from activities.kube.client import KubeCluster
from activities.ports.cluster import CONFIG_MAPS, NODES, PODS, WatchEvent
from activities.ports.errors import Conflict, Expired, Rejected, Unreachable

POD = {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "p", "uid": "u", "resourceVersion": "5"}}


class Server:
    """An HTTP server that answers each request with the next of its answers and keeps what it was asked."""

    def __init__(self):
        self.answers = []
        self.requests = []

    async def serve(self, reader, writer):
        while head := await reader.readuntil(b"\r\n\r\n"):
            lines = head.decode().split("\r\n")
            headers = dict(line.split(": ", 1) for line in lines[1:] if line)
            length = int(headers.get("Content-Length", 0))
            body = await reader.readexactly(length)
            self.requests.append((lines[0].rsplit(" ", 1)[0], headers, json.loads(body) if body else None))
            answer = self.answers.pop(0)
            if answer is None:
                await asyncio.Event().wait()
            writer.write(answer)
            await writer.drain()
            if b"Content-Length" not in answer:
                writer.close()
                return


def answer(status, body, **headers):
    text = body if isinstance(body, str) else json.dumps(body)
    fields = "".join(f"{key.replace('_', '-')}: {value}\r\n" for key, value in headers.items())
    return f"HTTP/1.1 {status} X\r\n{fields}Content-Length: {len(text.encode())}\r\n\r\n{text}".encode()


def stream(*lines):
    """A chunked answer that is cut off after its lines."""
    chunks = "".join(f"{len(line) + 1:x}\r\n{line}\n\r\n" for line in lines)
    return f"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{chunks}".encode()


@pytest.fixture
async def server():
    made = Server()
    tasks = set()

    async def serve(reader, writer):
        tasks.add(asyncio.current_task())
        try:
            await made.serve(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            writer.close()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0)
    made.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    yield made
    listening.close()
    for task in tasks:
        task.cancel()


def write_kubeconfig(path, url, token="secret"):
    path.write_text(
        yaml.safe_dump(
            {
                "current-context": "one",
                "clusters": [{"name": "c", "cluster": {"server": url}}],
                "users": [{"name": "u", "user": {"token": token}}, {"name": "v", "user": {"token": "other"}}],
                "contexts": [
                    {"name": "one", "context": {"cluster": "c", "user": "u"}},
                    {"name": "two", "context": {"cluster": "c", "user": "v"}},
                ],
            }
        )
    )
    return str(path)


@asynccontextmanager
async def connected(path, url, **options):
    cluster = await KubeCluster.connect(write_kubeconfig(path / "kubeconfig", url), **options)
    try:
        yield cluster
    finally:
        await cluster.close()


@pytest.fixture
async def cluster(server, tmp_path):
    async with connected(tmp_path, server.url, timeout_seconds=0.5, list_timeout_seconds=0.5) as made:
        yield made


async def test_calls_carry_token_names_and_strict_validation(server, cluster):
    server.answers = [answer(201, POD), answer(200, POD), answer(200, {})]
    await cluster.create(PODS, {"metadata": {"name": "p"}}, namespace="default")
    await cluster.patch(PODS, "p", [{"op": "test", "path": "/x", "value": 1}], namespace="default")
    await cluster.delete(PODS, "p", namespace="default", uid="u", resource_version="5")
    created, patched, deleted = server.requests
    assert created[0] == "POST /api/v1/namespaces/default/pods?fieldValidation=Strict"
    assert created[1]["authorization"] == "Bearer secret"
    assert created[1]["User-Agent"] == "growth"
    assert created[2] == {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}
    assert patched[0] == "PATCH /api/v1/namespaces/default/pods/p?fieldValidation=Strict"
    assert patched[1]["Content-Type"] == "application/json-patch+json"
    assert deleted[2]["preconditions"] == {"uid": "u", "resourceVersion": "5"}
    assert deleted[2]["propagationPolicy"] == "Background"


async def test_a_name_cannot_leave_its_place_in_the_path(server, cluster):
    server.answers = [answer(200, POD)]
    await cluster.get(NODES, "../pods?x=1")
    assert server.requests[0][0] == "GET /api/v1/nodes/..%2Fpods%3Fx=1"


async def test_nothing_listens(tmp_path, unused_tcp_port):
    async with connected(tmp_path, f"http://127.0.0.1:{unused_tcp_port}") as cluster:
        with pytest.raises(Unreachable, match="get nodes n"):
            await cluster.get(NODES, "n")
        with pytest.raises(Unreachable):
            await cluster.list(NODES)
        with pytest.raises(Unreachable):
            await anext(cluster.watch(NODES, resource_version="1"))


async def test_a_server_that_never_answers_is_unreachable_in_time(server, cluster):
    server.answers = [None]
    async with asyncio.timeout(3):
        with pytest.raises(Unreachable, match="did not answer in time"):
            await cluster.get(NODES, "n")


async def test_a_server_that_stops_within_its_answer_is_unreachable_in_time(server, cluster):
    server.answers = [b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"]
    async with asyncio.timeout(3):
        with pytest.raises(Unreachable):
            await cluster.get(NODES, "n")


async def test_a_busy_server_says_when_to_come_back_and_nothing_is_tried_again(server, cluster):
    server.answers = [answer(429, {"message": "too many requests"}, Retry_After="2")]
    with pytest.raises(Unreachable, match="too many requests") as caught:
        await cluster.get(NODES, "n")
    assert caught.value.retry_after_seconds == 2
    assert len(server.requests) == 1


async def test_an_answer_from_something_else_is_unreachable(server, cluster):
    server.answers = [answer(200, "<html>please log in</html>")]
    with pytest.raises(Unreachable, match="not from an API server"):
        await cluster.get(NODES, "n")


async def test_a_list_of_pages_is_one_list_of_the_first_version(server, cluster):
    server.answers = [
        answer(200, {"metadata": {"resourceVersion": "7", "continue": "next"}, "items": [{"metadata": {"name": "a"}}]}),
        answer(200, {"metadata": {"resourceVersion": "7"}, "items": [{"metadata": {"name": "b"}}]}),
    ]
    listed = await cluster.list(NODES, labels="a=b", fields="metadata.name!=c")
    assert [item["metadata"]["name"] for item in listed.items] == ["a", "b"]
    assert listed.resource_version == "7"
    first, second = (unquote(request[0]) for request in server.requests)
    assert first == "GET /api/v1/nodes?labelSelector=a=b&fieldSelector=metadata.name!=c&limit=500"
    assert second == f"{first}&continue=next"


async def test_a_list_whose_pages_expired_is_fetched_whole(server, cluster):
    server.answers = [
        answer(200, {"metadata": {"resourceVersion": "7", "continue": "next"}, "items": [{"metadata": {"name": "a"}}]}),
        answer(410, {"reason": "Expired"}),
        answer(200, {"metadata": {"resourceVersion": "9"}, "items": [{"metadata": {"name": "b"}}]}),
    ]
    listed = await cluster.list(NODES)
    assert ([item["metadata"]["name"] for item in listed.items], listed.resource_version) == (["b"], "9")
    assert server.requests[2][0] == "GET /api/v1/nodes"


async def test_a_watch_yields_until_it_is_cut(server, cluster):
    added = {"type": "ADDED", "object": POD}
    bookmark = {"type": "BOOKMARK", "object": {"kind": "Pod", "metadata": {"resourceVersion": "9"}}}
    server.answers = [stream(json.dumps(added), json.dumps(bookmark))]
    watch = cluster.watch(PODS, resource_version="5", labels="a")
    assert await anext(watch) == WatchEvent("ADDED", POD)
    assert await anext(watch) == WatchEvent("BOOKMARK", bookmark["object"])
    with pytest.raises(Unreachable):
        await anext(watch)
    asked = server.requests[0][0]
    for part in ("watch=true", "resourceVersion=5", "allowWatchBookmarks=true", "labelSelector=a"):
        assert part in asked


async def test_watches_are_asked_for_five_to_ten_minutes_and_do_not_all_end_together(server, cluster):
    """As client-go's reflectors: minWatchTimeout is 5 minutes, doubled at random."""
    server.answers = [stream() for _ in range(20)]
    for _ in range(20):
        with pytest.raises(Unreachable):
            await anext(cluster.watch(PODS, resource_version="5"))
    queries = (parse_qs(urlsplit(asked.split(" ")[1]).query) for asked, _, _ in server.requests)
    seconds = [int(query["timeoutSeconds"][0]) for query in queries]
    assert 300 <= min(seconds) < max(seconds) <= 600
    assert len(set(seconds)) > 10


@pytest.mark.parametrize(
    ("code", "expected"), [(410, Expired), (500, Unreachable), (504, Unreachable), (403, Rejected)]
)
async def test_an_error_within_a_watch(server, cluster, code, expected):
    failure = {"type": "ERROR", "object": {"kind": "Status", "code": code, "message": "fields"}}
    server.answers = [stream(json.dumps(failure))]
    with pytest.raises(expected, match="watch pods"):
        await anext(cluster.watch(PODS, resource_version="5"))


async def test_a_watch_refused_as_too_old(server, cluster):
    server.answers = [answer(410, {"reason": "Expired", "message": "too old resource version"})]
    with pytest.raises(Expired, match="too old resource version"):
        await anext(cluster.watch(PODS, resource_version="5"))


async def test_a_watch_that_falls_silent_ends(server, tmp_path, monkeypatch):
    monkeypatch.setattr("activities.kube.client._WATCH_GRACE_SECONDS", 0.2)
    async with connected(tmp_path, server.url, watch_seconds=0.2) as cluster, asyncio.timeout(3):
        server.answers = [None]
        with pytest.raises(Unreachable, match="did not answer in time"):
            await anext(cluster.watch(PODS, resource_version="5"))


async def test_a_failed_patch_whose_tests_hold_by_now_is_a_conflict(server, cluster):
    """The object changed between the patch and the look that asks why."""
    server.answers = [answer(422, {"reason": "Invalid", "details": {}}), answer(200, POD)]
    with pytest.raises(Conflict, match="changed meanwhile"):
        await cluster.patch(PODS, "p", [{"op": "test", "path": "/metadata/uid", "value": "u"}], namespace="default")


async def test_credentials_are_read_again_once_when_they_are_refused(server, tmp_path):
    async with connected(tmp_path, server.url) as cluster:
        write_kubeconfig(tmp_path / "kubeconfig", server.url, token="renewed")
        server.answers = [answer(401, {}), answer(200, POD), answer(401, {}), answer(401, {})]
        await cluster.get(NODES, "n")
        with pytest.raises(Rejected, match="renew the token"):
            await cluster.get(NODES, "n")
    tokens = [headers["authorization"] for _, headers, _ in server.requests]
    assert tokens == ["Bearer secret", "Bearer renewed", "Bearer renewed", "Bearer renewed"]


async def test_a_context_of_the_kubeconfig_can_be_named(server, tmp_path):
    async with connected(tmp_path, server.url, context="two") as cluster:
        server.answers = [answer(200, POD)]
        await cluster.get(NODES, "n")
    assert server.requests[0][1]["authorization"] == "Bearer other"


async def test_without_arguments_the_users_kubeconfig_is_taken(server, tmp_path, monkeypatch):
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    monkeypatch.setenv("KUBECONFIG", write_kubeconfig(tmp_path / "mine", server.url))
    cluster = await KubeCluster.connect()
    server.answers = [answer(200, POD)]
    await cluster.get(NODES, "n")
    await cluster.close()
    assert server.requests[0][1]["authorization"] == "Bearer secret"


async def test_a_proxy_of_the_environment_is_used(server, tmp_path, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", server.url)
    async with connected(tmp_path, "http://kubernetes.invalid") as cluster:
        server.answers = [answer(200, POD)]
        await cluster.get(NODES, "n")
    assert server.requests[0][0].startswith("GET http://kubernetes.invalid/api/v1/nodes/n")


async def test_without_a_proxy_nothing_is_read_at_each_call(server, tmp_path, monkeypatch):
    for name in {name for name in os.environ if name.lower().endswith("_proxy")}:
        monkeypatch.delenv(name)
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login other password secret")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    read = []
    monkeypatch.setattr("aiohttp.client.netrc_from_env", lambda: read.append(1))
    async with connected(tmp_path, server.url) as cluster:
        server.answers = [answer(200, POD)]
        await cluster.get(NODES, "n")
    assert read == []


async def test_an_unusable_kubeconfig_is_named(tmp_path):
    with pytest.raises(Rejected, match=f"there is no kubeconfig at {tmp_path / 'none'}"):
        await KubeCluster.connect(str(tmp_path / "none"))


async def test_an_unknown_context_is_told_with_those_there_are(server, tmp_path):
    with pytest.raises(Rejected, match=r"has no context nope: choose one with --context; it has one, two"):
        await KubeCluster.connect(write_kubeconfig(tmp_path / "kubeconfig", server.url), "nope")


def changed_kubeconfig(path, url, part: str, **fields: object) -> str:
    """Write a kubeconfig whose first cluster or user has these fields and no others."""
    content = yaml.safe_load(Path(write_kubeconfig(path, url)).read_text())
    content[f"{part}s"][0][part] = fields
    path.write_text(yaml.safe_dump(content))
    return str(path)


async def test_a_program_that_gives_no_credentials_is_told_with_its_words(server, tmp_path):
    plugin = tmp_path / "plugin"
    plugin.write_text("#!/bin/sh\necho 'please log in' >&2\nexit 1\n")
    plugin.chmod(0o755)
    program = {"command": str(plugin), "apiVersion": "client.authentication.k8s.io/v1"}
    path = changed_kubeconfig(tmp_path / "kubeconfig", server.url, "user", exec=program)
    with pytest.raises(Rejected, match=r"context one: no credentials: exec: process returned 1. .*please log in"):
        await KubeCluster.connect(path)


async def test_a_certificate_that_is_none_is_told(tmp_path):
    (tmp_path / "ca.crt").write_text("none")
    cluster = {"server": "https://127.0.0.1:1", "certificate-authority": str(tmp_path / "ca.crt")}
    path = changed_kubeconfig(tmp_path / "kubeconfig", "", "cluster", **cluster)
    with pytest.raises(Rejected, match=f"kubeconfig {path}, context one: a certificate or key cannot be used: "):
        await KubeCluster.connect(path)


@pytest.fixture
def in_a_pod(monkeypatch, tmp_path):
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "1")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KUBECONFIG", raising=False)


async def test_a_pod_without_service_account_is_told_so(in_a_pod):
    with pytest.raises(Rejected, match="the service account that this pod should mount cannot be used: "):
        await KubeCluster.connect()


async def test_in_a_pod_the_users_kubeconfig_goes_first_as_for_kubectl(in_a_pod, server, tmp_path, monkeypatch):
    monkeypatch.setenv("KUBECONFIG", write_kubeconfig(tmp_path / "mine", server.url))
    cluster = await KubeCluster.connect()
    assert cluster.access.where == f"context one of {tmp_path / 'mine'}"
    await cluster.close()


async def test_a_version_on_a_new_object_is_refused_before_it_is_sent(server, cluster):
    """The API server answers it with 500, which would look like an outage."""
    with pytest.raises(Rejected, match="resourceVersion"):
        await cluster.create(CONFIG_MAPS, {"metadata": {"name": "a", "resourceVersion": "1"}}, namespace="default")
    assert server.requests == []
