"""What Temporal's client says of a server that it cannot use, in words: it hands on the debug text of its core."""

import re
from typing import Final

from temporalio.service import RPCError, RPCStatusCode

_CAUSES: Final = (
    (r"InvalidCertificate\((\w+)\)", "its certificate is not trusted ({}): GROWTH_TEMPORAL_TLS_CA names the authority"),
    (r"PrivateKeyParseError", "the file of GROWTH_TEMPORAL_TLS_KEY holds no private key"),
    (
        r"code: (?:Unauthenticated|PermissionDenied)",
        "it refuses these credentials: GROWTH_TEMPORAL_API_KEY or GROWTH_TEMPORAL_TLS_CERT",
    ),
    (r"get_system_info", "what answers there is no Temporal server, or one that wants another GROWTH_TEMPORAL_TLS"),
    (r"failed to lookup address", "no address is known for that host"),
    (r'message: "([^"]+)"', "{}"),
    (r'error: "([^"]+)"', "{}"),
)
"""Pattern in the client's text, and what it means; the first that is found holds. Source: temporalio 1.35, measured."""
_LONGEST: Final = 200


class TemporalUnreachable(RuntimeError):
    """No Temporal server that can be used answers; the message is a clause that says why."""


def connect_trouble(error: Exception) -> str:
    """Return why no connection could be made."""
    if isinstance(error, TimeoutError):
        return "no answer in time"
    text = str(error)
    for pattern, meaning in _CAUSES:
        match = re.search(pattern, text)
        if match is not None:
            return meaning.format(*match.groups()).lower() if meaning == "{}" else meaning.format(*match.groups())
    return " ".join(text.split())[:_LONGEST]


def call_trouble(error: RPCError, address: str) -> str:
    """Return why a call failed."""
    match error.status:
        case RPCStatusCode.UNAVAILABLE | RPCStatusCode.DEADLINE_EXCEEDED | RPCStatusCode.CANCELLED:
            return f"Temporal at {address} does not answer: {error.message}"
        case RPCStatusCode.UNAUTHENTICATED | RPCStatusCode.PERMISSION_DENIED:
            return (
                f"Temporal at {address} refuses these credentials ({error.message}): look at GROWTH_TEMPORAL_API_KEY "
                "or GROWTH_TEMPORAL_TLS_CERT"
            )
        case _:
            return f"Temporal at {address}: {error.message}"
