"""POST /servers: what is checked, in which order, and what follows."""

import hashlib
import re
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from http import HTTPStatus
from typing import Any, Final

from simulator.hetzner.calls import action_chains as works
from simulator.hetzner.calls.labels import check_labels
from simulator.hetzner.calls.representation import server_json
from simulator.hetzner.faults import About
from simulator.hetzner.project.limits import Wanted
from simulator.hetzner.project.price_list import ListedLocation, ListedServerType
from simulator.hetzner.project.project import FakeProject, find, is_called
from simulator.hetzner.project.resources import Image, Network, PlacementGroup
from simulator.hetzner.project.server import FakeServer, ServerAction
from simulator.hetzner.project.state import State
from simulator.hetzner.reply import ApiRefusal, Call, Reply, invalid, not_found, over_limit

LONGEST_USER_DATA: Final = 32 * 1024
"""Bytes. Source: Hetzner Cloud API, "Create a Server"."""
GROUP_MEMBERS: Final = 10
"""Source: Hetzner docs, "Placement groups"."""
NETWORK_MEMBERS: Final = 100
"""Source: Hetzner docs, "Networks"."""
_HOSTNAME: Final = re.compile(
    r"(?=.{1,253}$)[A-Za-z0-9]([-A-Za-z0-9]{0,61}[A-Za-z0-9])?(\.[A-Za-z0-9]([-A-Za-z0-9]{0,61}[A-Za-z0-9])?)*"
)
"""Source: RFC 1123, section 2.1."""


@dataclass(frozen=True, slots=True)
class _Order:
    """A creation that can be carried out."""

    name: str
    machine: ListedServerType
    place: ListedLocation
    image: Image
    labels: dict[str, str]
    user_data: str
    ssh_keys: tuple[int, ...]
    networks: tuple[Network, ...]
    firewalls: tuple[int, ...]
    group: PlacementGroup | None
    has_ipv4: bool
    has_ipv6: bool
    starts: bool


def create_server(state: State, project: FakeProject, call: Call) -> Reply:
    """Create a server.

    Raises:
        Refusal: as the API refuses; nothing was created.
    """
    order = _order(state, project, call)
    server = _place(state, project, order)
    about = About("create_server", order.machine.name, order.place.name, order.name)
    # Users look for this fault by either call.
    hidden = state.faults.meet(about, "hidden") or state.faults.meet(
        About("list_servers", order.machine.name, order.place.name, order.name), "hidden"
    )
    if hidden is not None:
        server.hidden_until = state.timeline.now + timedelta(seconds=hidden.seconds)
    actions = works.start(state, project, server, about, _steps(state, server, order))
    return Reply(HTTPStatus.CREATED, _answer(state, project, server, actions))


def _order(state: State, project: FakeProject, call: Call) -> _Order:
    name = call.field("name")
    if not isinstance(name, str) or not _HOSTNAME.fullmatch(name):
        raise invalid("name", "must be a valid hostname as per RFC 1123")
    user_data = call.field("user_data") or ""
    if len(user_data.encode()) > LONGEST_USER_DATA:
        raise invalid("user_data", f"must be at most {LONGEST_USER_DATA} bytes")
    machine = state.catalogue.type_named(call.field("server_type"))
    place = state.catalogue.place_named(call.field("location"))
    image = _image(project, call.field("image"), machine)
    networks = tuple(_network(project, each, place) for each in call.field("networks") or ())
    public = call.field("public_net") or {}
    has_ipv4, has_ipv6 = bool(public.get("enable_ipv4", True)), bool(public.get("enable_ipv6", True))
    if not (has_ipv4 or has_ipv6 or networks):
        raise invalid("public_net", "a server needs a public address or a network")
    order = _Order(
        name=name,
        machine=machine,
        place=place,
        image=image,
        labels=check_labels(call.field("labels")),
        user_data=user_data,
        ssh_keys=tuple(_key(project, each) for each in call.field("ssh_keys") or ()),
        networks=networks,
        firewalls=tuple(
            _id_of(project.firewalls, each.get("firewall"), "firewall") for each in call.field("firewalls") or ()
        ),
        group=_group(project, call.field("placement_group")),
        has_ipv4=has_ipv4,
        has_ipv6=has_ipv6,
        starts=call.field("start_after_create") is not False,
    )
    _check_room(state, project, order)
    return order


def _check_room(state: State, project: FakeProject, order: _Order) -> None:
    """Check what depends on the other servers and on the stock."""
    if project.server_named(order.name) is not None:
        raise ApiRefusal(HTTPStatus.CONFLICT, "uniqueness_error", "server name is already used")
    project.limits.check(
        project.servers.values(), Wanted(order.machine.name, order.has_ipv4), state.catalogue.machines()
    )
    for network in order.networks:
        if network.tells_late:
            continue
        if len(network.members) >= NETWORK_MEMBERS:
            raise over_limit(f"network {network.name}: attached servers limit exceeded", "network_attachment_limit")
        works.check_address(network, order.place.zone)
    if order.group is not None and len(order.group.servers) >= GROUP_MEMBERS:
        message = f"placement group {order.group.name} has {GROUP_MEMBERS} servers already"
        raise ApiRefusal(HTTPStatus.UNPROCESSABLE_ENTITY, "placement_group_member_limit_reached", message)
    state.catalogue.check(order.machine.name, order.place.name, state.timeline.now)


def _image(project: FakeProject, wanted: Any, machine: ListedServerType) -> Image:
    named = [each for each in project.images.values() if is_called(each, wanted)]
    if not named:
        raise invalid("image", f"image {wanted!r} does not exist")
    image = find((each for each in named if each.architecture == machine.architecture), wanted)
    if image is None:
        raise invalid(
            "image", f"image {wanted!r} does not fit the architecture {machine.architecture} of {machine.name}"
        )
    if image.status != "available":
        raise invalid("image", f"image {wanted!r} is not available yet")
    if image.disk_gb > machine.disk_gb:
        raise invalid("image", f"image {wanted!r} is larger than the disk of {machine.name}")
    return image


def _network(project: FakeProject, wanted: Any, place: ListedLocation) -> Network:
    network = project.networks.get(wanted)
    if network is None:
        raise not_found(f"network {wanted!r}")
    if place.zone not in network.zones():
        raise invalid("networks", f"network {network.name} has no subnet in the network zone {place.zone}")
    return network


def _group(project: FakeProject, wanted: Any) -> PlacementGroup | None:
    if wanted is None:
        return None
    group = project.groups.get(wanted)
    if group is None:
        raise not_found(f"placement group {wanted!r}")
    return group


def _key(project: FakeProject, wanted: Any) -> int:
    key = find(project.ssh_keys.values(), wanted)
    if key is None:
        raise invalid("ssh_keys", f"SSH key {wanted!r} not found")
    return key.id


def _id_of(resources: Any, wanted: Any, kind: str) -> int:
    resource = find(resources.values(), wanted)
    if resource is None:
        raise not_found(f"{kind} {wanted!r}")
    return resource.id


def _place(state: State, project: FakeProject, order: _Order) -> FakeServer:
    server = FakeServer(
        id=state.next_id(),
        name=order.name,
        server_type=order.machine.name,
        location=order.place.name,
        image=order.image.id,
        labels=order.labels,
        user_data=order.user_data,
        created=state.timeline.now,
        price_per_hour=state.catalogue.price_per_hour(order.machine.name, order.place.name, has_ipv4=order.has_ipv4),
        has_ipv4=order.has_ipv4,
        has_ipv6=order.has_ipv6,
        firewalls=order.firewalls,
        ssh_keys=order.ssh_keys,
        placement_group=None if order.group is None else order.group.id,
    )
    project.servers[server.id] = server
    if order.group is not None:
        order.group.servers.append(server.id)
    return server


def _steps(state: State, server: FakeServer, order: _Order) -> list[works.Step]:
    def made() -> None:
        if not order.starts:
            server.status = "off"

    steps = [works.Step("create_server", state.durations.create_seconds, made)]
    steps += [works.attach_step(state, network, server, order.place.zone, None) for network in order.networks]
    if order.starts:
        steps.append(works.start_step(state, server))
    return steps


def _answer(state: State, project: FakeProject, server: FakeServer, actions: list[ServerAction]) -> dict[str, Any]:
    show = partial(ServerAction.to_json, now=state.timeline.now)
    digest = hashlib.sha256(f"{server.id} {server.name}".encode()).hexdigest()
    return {
        "server": server_json(state, project, server),
        "action": show(actions[0]),
        "next_actions": [show(each) for each in actions[1:]],
        # By e-mail or here, unless there is a key.
        "root_password": None if server.ssh_keys else digest[:20],
    }
