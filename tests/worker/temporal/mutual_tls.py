"""A Temporal server behind TLS that lets in whoever has a certificate of one authority, which may be replaced."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_PEM, _PLAIN = serialization.Encoding.PEM, serialization.NoEncryption()


class Authority:
    """Signs certificates."""

    def __init__(self, name: str) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self.certificate = self._sign(self._name, self._key, is_authority=True)

    def write(self, folder: Path, *, parts: tuple[str, ...] = ("ca", "cert", "key")) -> None:
        """Write files for a server and a client at localhost: ca.pem, cert.pem, key.pem."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
        texts = {
            "ca": self.certificate.public_bytes(_PEM),
            "cert": self._sign(subject, key, is_authority=False).public_bytes(_PEM),
            "key": key.private_bytes(_PEM, serialization.PrivateFormat.PKCS8, _PLAIN),
        }
        for part in parts:
            (folder / f"{part}.pem").write_bytes(texts[part])

    def _sign(self, subject: x509.Name, key: ec.EllipticCurvePrivateKey, *, is_authority: bool) -> x509.Certificate:
        now = datetime.now(UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(hours=1))
            .not_valid_after(now + timedelta(hours=1))
            .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
            .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
            .sign(self._key, hashes.SHA256())
        )


class Door:
    """Hands connections on to a server that speaks no TLS."""

    def __init__(self, target: str, folder: Path) -> None:
        self._host, _, self._port = target.rpartition(":")
        self._folder = folder
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self.port = 0

    async def open(self, authority: Authority) -> None:
        """Let in only who has a certificate of this authority; all connections so far are cut."""
        await self.close()
        authority.write(self._folder)
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(self._folder / "ca.pem"))
        context.load_cert_chain(self._folder / "cert.pem", self._folder / "key.pem")
        context.verify_mode = ssl.CERT_REQUIRED
        context.set_alpn_protocols(["h2"])
        self._server = await asyncio.start_server(self._hand_on, "127.0.0.1", self.port, ssl=context)
        self.port = self._server.sockets[0].getsockname()[1]

    async def close(self) -> None:
        """Let nobody in, and cut all connections."""
        if self._server is not None:
            self._server.close()
        for writer in list(self._writers):
            writer.transport.abort()

    async def _hand_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            there, back = await asyncio.open_connection(self._host, int(self._port))
            self._writers |= {writer, back}
            try:
                await asyncio.wait(
                    {asyncio.create_task(_copy(reader, back)), asyncio.create_task(_copy(there, writer))},
                    return_when=asyncio.FIRST_COMPLETED,
                )
            finally:
                self._writers -= {writer, back}
                writer.close()
                back.close()


async def _copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    with suppress(OSError, ssl.SSLError):
        while data := await source.read(65536):
            target.write(data)
            await target.drain()


@asynccontextmanager
async def door_to(target: str, folder: Path, authority: Authority) -> AsyncIterator[Door]:
    """Keep a door open, at first for those with a certificate of this authority."""
    door = Door(target, folder)
    await door.open(authority)
    try:
        yield door
    finally:
        await door.close()
