"""Servers and lists as the API shows them."""

from collections.abc import Sequence
from http import HTTPStatus
from typing import Any, Final

from simulator.hetzner.project.project import FakeProject
from simulator.hetzner.project.server import FakeServer
from simulator.hetzner.project.state import State
from simulator.hetzner.reply import Call, Reply, invalid

_PER_PAGE: Final = 25
_MOST_PER_PAGE: Final = 50
"""Source: Hetzner Cloud API, "Pagination"."""


def server_json(state: State, project: FakeProject, server: FakeServer) -> dict[str, Any]:
    """Return the server with what it refers to."""
    image = project.images.get(server.image)
    group = project.groups.get(server.placement_group or 0)
    return server.to_json(
        server_type=state.catalogue.type_json(server.server_type),
        location=state.catalogue.place_json(server.location),
        image=None if image is None else image.to_json(),
        group=None if group is None else group.to_json(),
    )


def page(call: Call, key: str, items: Sequence[Any]) -> Reply:
    """Return the page of a list that is asked for.

    Raises:
        Refusal: the page cannot be one.
    """
    number = _positive(call, "page", 1)
    size = _positive(call, "per_page", _PER_PAGE)
    if size > _MOST_PER_PAGE:
        raise invalid("per_page", f"must be at most {_MOST_PER_PAGE}")
    last = max(1, -(-len(items) // size))
    pagination = {
        "page": number,
        "per_page": size,
        "previous_page": number - 1 if number > 1 else None,
        "next_page": number + 1 if number < last else None,
        "last_page": last,
        "total_entries": len(items),
    }
    return Reply(
        HTTPStatus.OK, {key: list(items[(number - 1) * size : number * size]), "meta": {"pagination": pagination}}
    )


def _positive(call: Call, key: str, default: int) -> int:
    text = call.last(key)
    if text is None:
        return default
    if not text.isdecimal() or int(text) < 1:
        raise invalid(key, "must be a positive number")
    return int(text)
