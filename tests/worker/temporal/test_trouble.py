"""The client's texts are those that temporalio 1.35 was seen to raise, shortened."""

import asyncio

import pytest
from structlog.testing import capture_logs
from temporalio.service import RPCError, RPCStatusCode

from tests.worker.conftest import free_port
from worker.errors import CommandError
from worker.settings import load
from worker.temporal import client as temporal
from worker.temporal.client import connect
from worker.temporal.trouble import TemporalUnreachable, call_trouble, connect_trouble

CONNECTION = "Failed client connect: Server connection error: tonic::transport::Error(Transport, {})"
CALL = "Failed client connect: `get_system_info` call error after connection: Status {{ code: {} }}"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            CONNECTION.format(
                'ConnectError(ConnectError("tcp connect error", 127.0.0.1:1, Os { code: 111, kind: ConnectionRefused, '
                'message: "Connection refused" }))'
            ),
            "connection refused",
        ),
        (
            CONNECTION.format('Custom { error: "failed to lookup address information: Name or service not known" }'),
            "no address is known for that host",
        ),
        (
            CONNECTION.format("Custom { kind: InvalidData, error: InvalidCertificate(UnknownIssuer) }"),
            "its certificate is not trusted (UnknownIssuer): GROWTH_TEMPORAL_TLS_CA names the authority",
        ),
        (CONNECTION.format("PrivateKeyParseError"), "the file of GROWTH_TEMPORAL_TLS_KEY holds no private key"),
        (
            CALL.format('Unauthenticated, message: "no"'),
            "it refuses these credentials: GROWTH_TEMPORAL_API_KEY or GROWTH_TEMPORAL_TLS_CERT",
        ),
        (
            CALL.format('Unknown, message: "transport error"'),
            "what answers there is no Temporal server, or one that wants another GROWTH_TEMPORAL_TLS",
        ),
        ("something\nnew", "something new"),
    ],
)
def test_why_no_connection_could_be_made(text, told):
    assert connect_trouble(RuntimeError(text)) == told


@pytest.mark.parametrize(
    ("status", "told"),
    [
        (RPCStatusCode.UNAVAILABLE, "Temporal at t:1 does not answer: no"),
        (
            RPCStatusCode.PERMISSION_DENIED,
            "Temporal at t:1 refuses these credentials (no): look at GROWTH_TEMPORAL_API_",
        ),
        (RPCStatusCode.INVALID_ARGUMENT, "Temporal at t:1: no"),
    ],
)
def test_why_a_call_failed(status, told):
    assert call_trouble(RPCError("no", status, b""), "t:1").startswith(told)


async def test_a_port_behind_which_nothing_answers_is_given_up_in_time(monkeypatch):
    monkeypatch.setattr(temporal, "CONNECT_SECONDS", 0.2)
    async with await asyncio.start_server(lambda _reader, _writer: asyncio.sleep(5), "127.0.0.1", 0) as server:
        address = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        async with asyncio.timeout(3):
            with pytest.raises(TemporalUnreachable, match="no answer in time"):
                await connect(load(), address, attempts=1)


async def test_who_waits_for_a_server_is_told_once_and_readiness_each_time(monkeypatch):
    monkeypatch.setattr(temporal, "LONGEST_PAUSE", 0.01)
    address, reasons = f"127.0.0.1:{free_port()}", []
    with capture_logs() as lines:
        waiting = asyncio.create_task(connect(load(), address, waiting_for=reasons.append))
        async with asyncio.timeout(10):
            while len(reasons) < 4:
                await asyncio.sleep(0.01)
        waiting.cancel()
    assert set(reasons) == {"connection refused"}
    assert [line["event"] for line in lines] == [f"waiting for Temporal at {address}: connection refused"]


async def test_a_certificate_file_that_cannot_be_read_is_told_as_what_it_is():
    settings = load(temporal_tls=True, temporal_tls_ca="/no/such.pem")
    with pytest.raises(CommandError) as refused:
        await connect(settings, "127.0.0.1:1", attempts=1)
    assert refused.value.code == 2
    assert str(refused.value) == "GROWTH_TEMPORAL_TLS_CA: /no/such.pem cannot be read: No such file or directory"
