"""What worker and solver send each other over a socket: a length, then that many bytes of a pickled object."""

import pickle
import socket
import struct
import time
from dataclasses import dataclass
from typing import Any, Final

LARGEST: Final = 256 * 2**20
"""Bytes; ten times what 100,000 pods of 1,000 kinds on 1,000 kinds of machines take. More is refused, not sent."""
_LENGTH: Final = struct.Struct("!Q")


@dataclass(frozen=True, slots=True)
class Failure:
    """An exception in the solver's process, as text: not every exception can be sent."""

    message: str
    """One line."""
    traceback: str


def send(to: socket.socket, message: object) -> None:
    """Send an object within the socket's time-out.

    Raises:
        ValueError: it is too large.
        OSError: the other end is gone or does not read; TimeoutError is one.
    """
    pickled = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    if len(pickled) > LARGEST:
        raise ValueError(f"{len(pickled)} bytes are too many to send")
    # In one call, so that the time-out is one for all of it.
    to.sendall(_LENGTH.pack(len(pickled)) + pickled)


def receive(source: socket.socket, within_seconds: float | None = None) -> Any:
    """Return the next object; without a limit, wait for ever.

    Raises:
        EOFError: the other end is gone.
        TimeoutError: it did not send all of it in time.
        ValueError: what came is no object.
        OSError: the connection broke.
    """
    end = None if within_seconds is None else time.monotonic() + within_seconds
    (length,) = _LENGTH.unpack(_bytes(source, _LENGTH.size, end))
    if length > LARGEST:
        raise ValueError(f"{length} bytes are too many to receive")
    pickled = _bytes(source, length, end)
    try:
        return pickle.loads(pickled)  # noqa: S301 - of the worker's own process, over a socket that only both have
    except Exception as error:
        raise ValueError(f"what came is no object: {error}") from error


def _bytes(source: socket.socket, length: int, end: float | None) -> bytes:
    got = bytearray()
    while len(got) < length:
        if end is not None:
            left = end - time.monotonic()
            if left <= 0:
                raise TimeoutError
            source.settimeout(left)
        part = source.recv(min(length - len(got), 2**20))
        if not part:
            raise EOFError
        got += part
    return bytes(got)
