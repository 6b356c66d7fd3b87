"""What a connection that fails means, in words for people."""

import os
import socket

import aiohttp

from activities.ports.errors import Unreachable


def unreachable(failure: Exception, *, what: str, server: str) -> Unreachable:
    """Return the error that a failed connection or a time-out is.

    Args:
        failure: as the HTTP client raised it.
        what: the call, for the message: verb, resource and name.
        server: address of the API server.
    """
    return Unreachable(f"{what}: {_sentence(failure, server)}")


def _sentence(failure: Exception, server: str) -> str:
    match failure:
        case TimeoutError():
            return f"{server} did not answer in time"
        case aiohttp.ClientConnectorCertificateError():
            reason = getattr(failure.certificate_error, "verify_message", "") or failure.certificate_error
            return f"the certificate of {server} is not trusted ({reason}): look at the certificate-authority"
        case aiohttp.ClientConnectorSSLError():
            return f"{server} does not speak TLS as expected ({failure.os_error.strerror or failure})"
        case aiohttp.ClientConnectorDNSError():
            return f"{server} cannot be reached: no address is known for that host"
        case aiohttp.ClientConnectorError():
            return f"{server} cannot be reached: {_reason(failure.os_error)}"
        case _:
            return f"{server} ended the connection: {failure or type(failure).__name__}"


def _reason(error: OSError) -> str:
    if isinstance(error, socket.gaierror) or error.errno is None:
        return error.strerror or str(error)
    return os.strerror(error.errno).lower()
