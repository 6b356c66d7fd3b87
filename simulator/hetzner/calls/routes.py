"""Which call is which."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from typing import Final

from simulator.hetzner.calls import creation, reads, servers
from simulator.hetzner.calls import placement_groups as groups
from simulator.hetzner.calls.reads import ProjectCall
from simulator.hetzner.calls.servers import ServerCall
from simulator.hetzner.faults import Verb
from simulator.hetzner.project.project import FakeProject
from simulator.hetzner.project.state import State
from simulator.hetzner.reply import ApiRefusal, Call, Reply

_ID: Final = re.compile(r"/(\d+)(?=/|$)")


@dataclass(frozen=True, slots=True)
class Route:
    """A call that is understood."""

    verb: Verb
    answer: Callable[[State, FakeProject, Call], Reply]
    id: int | None = None
    """Of what it is about."""


_LISTS: Final[dict[tuple[str, str], tuple[Verb, ProjectCall]]] = {
    ("GET", "/servers"): ("list_servers", servers.list_servers),
    ("POST", "/servers"): ("create_server", creation.create_server),
    ("GET", "/actions"): ("list_actions", servers.list_actions),
    ("GET", "/servers/actions"): ("list_actions", servers.list_actions),
    ("GET", "/server_types"): ("read_catalogue", reads.list_server_types),
    ("GET", "/locations"): ("read_catalogue", reads.list_locations),
    ("GET", "/pricing"): ("read_catalogue", reads.get_pricing),
    ("GET", "/datacenters"): ("unknown", reads.refuse_datacenters),
    ("GET", "/images"): ("read_images", reads.list_images),
    ("GET", "/networks"): ("read_networks", reads.list_networks),
    ("GET", "/firewalls"): ("read_firewalls", reads.list_firewalls),
    ("GET", "/ssh_keys"): ("read_ssh_keys", reads.list_ssh_keys),
    ("GET", "/placement_groups"): ("list_placement_groups", groups.list_groups),
    ("POST", "/placement_groups"): ("create_placement_group", groups.create_group),
}
_ONES: Final[dict[tuple[str, str], tuple[Verb, ServerCall]]] = {
    ("GET", "/servers/#"): ("get_server", servers.get_server),
    ("PUT", "/servers/#"): ("label_server", servers.label_server),
    ("DELETE", "/servers/#"): ("delete_server", servers.delete_server),
    ("GET", "/servers/#/actions"): ("list_actions", servers.list_actions_of),
    ("GET", "/actions/#"): ("list_actions", servers.get_action),
    ("GET", "/servers/actions/#"): ("list_actions", servers.get_action),
    ("GET", "/images/#"): ("read_images", reads.get_image),
    ("GET", "/networks/#"): ("read_networks", reads.get_network),
    ("GET", "/firewalls/#"): ("read_firewalls", reads.get_firewall),
    ("GET", "/ssh_keys/#"): ("read_ssh_keys", reads.get_ssh_key),
    ("GET", "/placement_groups/#"): ("list_placement_groups", groups.get_group),
    ("PUT", "/placement_groups/#"): ("label_placement_group", groups.label_group),
    ("DELETE", "/placement_groups/#"): ("delete_placement_group", groups.delete_group),
    **{("POST", f"/servers/#/actions/{name}"): found for name, found in servers.SERVER_ACTIONS.items()},
}


def route(call: Call) -> Route:
    """Return the route of a call; an unknown one answers 404."""
    if action := _LISTS.get((call.method, call.path)):
        return Route(*action)
    number = _ID.search(call.path)
    if number is not None:
        path = call.path[: number.start()] + "/#" + call.path[number.end() :]
        if answered := _ONES.get((call.method, path)):
            verb, answer = answered
            return Route(verb, partial(_with_id, answer, int(number[1])), int(number[1]))
    return Route("unknown", _refuse)


def _with_id(answer: ServerCall, id_: int, state: State, project: FakeProject, call: Call) -> Reply:
    return answer(state, project, call, id_)


def _refuse(_state: State, _project: FakeProject, call: Call) -> Reply:
    raise ApiRefusal(HTTPStatus.NOT_FOUND, "not_found", f"{call.method} {call.path} does not exist")
