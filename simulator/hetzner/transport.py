"""The fake API for HTTP clients of the same process, without a network."""

import json
from http.client import responses
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import requests
from requests.adapters import BaseAdapter
from requests.structures import CaseInsensitiveDict

from simulator.hetzner.cloud import FakeHetzner
from simulator.hetzner.reply import Reply

PREFIX = "/v1"
"""Of every path."""


class InProcess(BaseAdapter):
    """A transport of `requests` that asks the fake.

    A lost answer is a timeout, at once.

    Args:
        cloud: whom to ask.
    """

    def __init__(self, cloud: FakeHetzner) -> None:
        super().__init__()
        self._cloud = cloud

    def send(self, request: requests.PreparedRequest, *_settings: Any, **_options: Any) -> requests.Response:
        """Return the answer.

        Raises:
            requests.exceptions.ReadTimeout: it is lost.
        """
        parts = urlsplit(request.url or "")
        reply = self._cloud.handle(
            request.method or "GET",
            str(parts.path).removeprefix(PREFIX),
            parse_qsl(str(parts.query), keep_blank_values=True),
            json.loads(request.body) if request.body else None,
            (request.headers.get("Authorization") or "").removeprefix("Bearer "),
        )
        if reply.is_lost:
            raise requests.exceptions.ReadTimeout("read timed out", request=request)
        return _response(request, reply)

    def close(self) -> None:
        """Do nothing."""


def _response(request: requests.PreparedRequest, reply: Reply) -> requests.Response:
    response = requests.Response()
    response.status_code = reply.status
    response.reason = responses.get(reply.status, "")
    response.url = request.url or ""
    response.request = request
    response.headers = CaseInsensitiveDict({"Content-Type": "application/json", **reply.headers})
    response.encoding = "utf-8"
    response._content = b"" if reply.body is None else json.dumps(reply.body).encode()  # noqa: SLF001 - there is no other way to fill it
    return response
