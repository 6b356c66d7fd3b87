"""What a person reads when the API server cannot be reached, by what really happens on the socket."""

import asyncio
import ssl
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from activities.kube.client import KubeCluster
from activities.ports.cluster import NODES
from activities.ports.errors import Unreachable
from tests.activities.kube.test_client import write_kubeconfig


async def error_of(path, url: str) -> str:
    cluster = await KubeCluster.connect(write_kubeconfig(path / "config", url), list_timeout_seconds=0.5)
    try:
        with pytest.raises(Unreachable) as unreachable:
            await cluster.list(NODES)
        return str(unreachable.value)
    finally:
        await cluster.close()


@asynccontextmanager
async def listening(context: ssl.SSLContext | None, *, answers: bool):
    async def serve(reader, writer):
        if not answers:
            await asyncio.sleep(5)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
    async with server:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"


def self_signed(folder) -> ssl.SSLContext:
    """Return what a server shows that no authority has signed."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "somebody")])
    now = datetime.now(UTC)
    until = now + timedelta(days=1)
    builder = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number(), now, until)
    certificate = builder.sign(key, hashes.SHA256())
    pem, encoding = folder / "server.pem", serialization.Encoding.PEM
    private = key.private_bytes(encoding, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    pem.write_bytes(private + certificate.public_bytes(encoding))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    return context


async def test_nothing_listens(tmp_path, unused_tcp_port):
    server = f"http://127.0.0.1:{unused_tcp_port}"
    assert await error_of(tmp_path, server) == f"list nodes: {server} cannot be reached: connection refused"


async def test_a_host_without_an_address(tmp_path):
    server = "https://nowhere.invalid:6443"
    assert (
        await error_of(tmp_path, server) == f"list nodes: {server} cannot be reached: no address is known for that host"
    )


async def test_a_certificate_that_is_not_trusted(tmp_path):
    async with listening(self_signed(tmp_path), answers=True) as address:
        assert await error_of(tmp_path, f"https://{address}") == (
            f"list nodes: the certificate of https://{address} is not trusted (self-signed certificate): "
            "look at the certificate-authority"
        )


async def test_a_server_without_tls(tmp_path):
    async with listening(None, answers=True) as address:
        message = await error_of(tmp_path, f"https://{address}")
    assert message.startswith(f"list nodes: https://{address} ")


async def test_a_server_that_ends_the_connection(tmp_path):
    async with listening(None, answers=True) as address:
        message = await error_of(tmp_path, f"http://{address}")
    assert message.startswith(f"list nodes: http://{address} ended the connection: ")


async def test_a_server_that_hangs(tmp_path):
    async with listening(None, answers=False) as address:
        assert await error_of(tmp_path, f"http://{address}") == f"list nodes: http://{address} did not answer in time"
