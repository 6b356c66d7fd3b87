"""Calls about servers that exist, and about actions."""

from collections.abc import Callable
from http import HTTPStatus

from simulator.hetzner.calls import action_chains as works
from simulator.hetzner.calls.creation import NETWORK_MEMBERS
from simulator.hetzner.calls.labels import check_labels, selected
from simulator.hetzner.calls.representation import page, server_json
from simulator.hetzner.faults import About, Verb
from simulator.hetzner.project.project import FakeProject
from simulator.hetzner.project.server import FakeServer
from simulator.hetzner.project.state import State
from simulator.hetzner.reply import ApiRefusal, Call, Reply, invalid, not_found, over_limit


def about(verb: Verb, server: FakeServer) -> About:
    """Return verb, type, location and name of a call about a server."""
    return About(verb, server.server_type, server.location, server.name)


def list_servers(state: State, project: FakeProject, call: Call) -> Reply:
    """Return a page of servers, by name, label selector and status."""
    name, statuses = call.last("name"), call.all("status")
    is_selected = selected(call.last("label_selector"))
    shown = [
        server_json(state, project, server)
        for server in project.servers.values()
        if name in (None, server.name)
        and is_selected(server.labels)
        and (not statuses or server.status in statuses)
        and (server.hidden_until is None or server.hidden_until <= state.timeline.now)
    ]
    return page(call, "servers", shown)


def get_server(state: State, project: FakeProject, _call: Call, id_: int) -> Reply:
    """Return one server."""
    return Reply(HTTPStatus.OK, {"server": server_json(state, project, _server(project, id_))})


def label_server(state: State, project: FakeProject, call: Call, id_: int) -> Reply:
    """Replace all labels of a server."""
    server = _unlocked(project, id_)
    labels = call.field("labels")
    if labels is not None:
        server.labels = check_labels(labels)
    return Reply(HTTPStatus.OK, {"server": server_json(state, project, server)})


def delete_server(state: State, project: FakeProject, _call: Call, id_: int) -> Reply:
    """Delete a server; it is there until the action ends."""
    server = _unlocked(project, id_)
    if server.is_protected:
        raise ApiRefusal(HTTPStatus.FORBIDDEN, "protected", "server is protected from deletion")
    call_about = about("delete_server", server)
    stuck = state.faults.meet(call_about, "stuck_delete")
    before = server.status, server.running_since

    def begin() -> None:
        server.status = "deleting"
        server.running_since = None

    def done() -> None:
        server.stuck = stuck or server.stuck
        if server.stuck is None or server.stuck not in state.faults:
            project.drop(server)

    def failed() -> None:
        server.status, server.running_since = before

    step = works.Step("delete_server", state.durations.delete_seconds, done, begin, failed)
    return _one_action(state, project, server, "delete_server", step)


def attach_to_network(state: State, project: FakeProject, call: Call, id_: int) -> Reply:
    """Attach a server to a network, in the subnet `ip_range` if that is given."""
    server = _unlocked(project, id_)
    network = project.networks.get(call.field("network"))
    if network is None:
        raise not_found(f"network {call.field('network')!r}")
    if network.id in server.networks:
        raise ApiRefusal(HTTPStatus.CONFLICT, "server_already_attached", "server is already attached to the network")
    if len(network.members) >= NETWORK_MEMBERS:
        raise over_limit(f"network {network.name}: attached servers limit exceeded", "network_attachment_limit")
    zone, ip_range = state.place(server.location).zone, call.field("ip_range")
    if ip_range is not None and (ip_range, zone) not in network.subnets:
        raise invalid("ip_range", f"{ip_range} is no subnet of network {network.name} in the network zone {zone}")
    if zone not in network.zones():
        raise ApiRefusal(HTTPStatus.CONFLICT, "no_subnet_available", f"network {network.name} has no subnet in {zone}")
    step = works.attach_step(state, network, server, zone, ip_range)
    return _one_action(state, project, server, "attach_to_network", step)


def power_on(state: State, project: FakeProject, _call: Call, id_: int) -> Reply:
    """Start a server; one that runs stays as it is."""
    server = _unlocked(project, id_)
    if server.status == "running":
        step = works.Step("start_server", 0, lambda: None)
    else:
        step = works.start_step(state, server)
    return _one_action(state, project, server, "power_on", step)


def power_off(state: State, project: FakeProject, _call: Call, id_: int) -> Reply:
    """Stop a server at once."""
    server = _unlocked(project, id_)

    def begin() -> None:
        server.status = "stopping"
        server.running_since = None

    def done() -> None:
        server.status = "off"

    return _one_action(
        state, project, server, "power_off", works.Step("stop_server", state.durations.stop_seconds, done, begin)
    )


def change_protection(state: State, project: FakeProject, call: Call, id_: int) -> Reply:
    """Set or lift the delete protection of a server."""
    server = _unlocked(project, id_)
    wanted = bool(call.field("delete"))

    def done() -> None:
        server.is_protected = wanted

    step = works.Step("change_protection", state.durations.protect_seconds, done)
    return _one_action(state, project, server, "protect_server", step)


def list_actions(state: State, project: FakeProject, call: Call) -> Reply:
    """Return the actions of the ids that are given; those that do not exist are left out.

    Source: Hetzner's changelog of 2025-01-30: a list of all actions is not to be had.
    """
    ids = call.all("id")
    if not ids:
        raise ApiRefusal(HTTPStatus.GONE, "deprecated_api_endpoint", "listing arbitrary actions is not supported")
    actions = [project.actions[int(each)] for each in ids if each.isdecimal() and int(each) in project.actions]
    statuses = call.all("status")
    shown = [action.to_json(state.timeline.now) for action in actions]
    return page(call, "actions", [action for action in shown if not statuses or action["status"] in statuses])


def list_actions_of(state: State, project: FakeProject, call: Call, id_: int) -> Reply:
    """Return the actions of a server, those of one that is gone too."""
    actions = [action for action in project.actions.values() if action.server == id_]
    if not actions:
        raise not_found(f"server with ID '{id_}'")
    return page(call, "actions", [action.to_json(state.timeline.now) for action in actions])


def get_action(state: State, project: FakeProject, _call: Call, id_: int) -> Reply:
    """Return one action."""
    if id_ not in project.actions:
        raise not_found(f"action with ID '{id_}'")
    return Reply(HTTPStatus.OK, {"action": project.actions[id_].to_json(state.timeline.now)})


def _one_action(state: State, project: FakeProject, server: FakeServer, verb: Verb, step: works.Step) -> Reply:
    action = works.start(state, project, server, about(verb, server), [step])[0]
    status = HTTPStatus.OK if verb == "delete_server" else HTTPStatus.CREATED
    return Reply(status, {"action": action.to_json(state.timeline.now)})


def _server(project: FakeProject, id_: int) -> FakeServer:
    server = project.servers.get(id_)
    if server is None:
        raise not_found(f"server with ID '{id_}'")
    return server


def _unlocked(project: FakeProject, id_: int) -> FakeServer:
    """Return the server if no action of it runs."""
    server = _server(project, id_)
    if server.is_locked:
        raise ApiRefusal(HTTPStatus.LOCKED, "locked", "server is locked")
    return server


ServerCall = Callable[[State, FakeProject, Call, int], Reply]
"""A call to one server."""
SERVER_ACTIONS: dict[str, tuple[Verb, ServerCall]] = {
    "attach_to_network": ("attach_to_network", attach_to_network),
    "poweron": ("power_on", power_on),
    "poweroff": ("power_off", power_off),
    "change_protection": ("protect_server", change_protection),
}
"""What POST /servers/{id}/actions/… does."""
