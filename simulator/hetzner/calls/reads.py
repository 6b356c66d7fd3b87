"""Calls that read the catalogue and what a person has put into the project."""

from collections.abc import Callable, Mapping
from http import HTTPStatus

from simulator.hetzner.calls.labels import selected
from simulator.hetzner.calls.representation import page
from simulator.hetzner.project.project import FakeProject, find
from simulator.hetzner.project.resources import Firewall, Network, SSHKey
from simulator.hetzner.project.state import State
from simulator.hetzner.reply import ApiRefusal, Call, Reply, not_found


def list_server_types(state: State, _project: FakeProject, call: Call) -> Reply:
    """Return a page of server types, by name."""
    name = call.last("name")
    return page(call, "server_types", [each for each in state.catalogue.types_json() if name in (None, each["name"])])


def list_locations(state: State, _project: FakeProject, call: Call) -> Reply:
    """Return a page of locations, by name."""
    name = call.last("name")
    return page(call, "locations", [each for each in state.catalogue.places_json() if name in (None, each["name"])])


def get_pricing(state: State, _project: FakeProject, _call: Call) -> Reply:
    """Return the prices."""
    return Reply(HTTPStatus.OK, {"pricing": state.catalogue.pricing_json()})


def refuse_datacenters(_state: State, _project: FakeProject, _call: Call) -> Reply:
    """Refuse: since 2026-10-01 there are only locations."""
    raise ApiRefusal(HTTPStatus.GONE, "deprecated_api_endpoint", "datacenters are not supported any more")


def list_images(_state: State, project: FakeProject, call: Call) -> Reply:
    """Return a page of images, by name, label selector, architecture, type and status."""
    is_selected = selected(call.last("label_selector"))
    name = call.last("name")
    wanted = {key: call.all(key) for key in ("architecture", "type", "status")}
    images = [
        image
        for image in project.images.values()
        if name in (None, image.name)
        and is_selected(image.labels)
        and all(not values or getattr(image, key) in values for key, values in wanted.items())
    ]
    if "created:desc" in call.all("sort"):
        images.sort(key=lambda image: image.created, reverse=True)
    elif {"created", "created:asc"} & set(call.all("sort")):
        images.sort(key=lambda image: image.created)
    return page(call, "images", [image.to_json() for image in images])


def get_image(_state: State, project: FakeProject, _call: Call, id_: int) -> Reply:
    """Return one image."""
    if id_ not in project.images:
        raise not_found(f"image with ID '{id_}'")
    return Reply(HTTPStatus.OK, {"image": project.images[id_].to_json()})


def list_networks(_state: State, project: FakeProject, call: Call) -> Reply:
    """Return a page of networks, by name."""
    return _listed(call, "networks", project.networks)


def list_firewalls(_state: State, project: FakeProject, call: Call) -> Reply:
    """Return a page of firewalls, by name."""
    return _listed(call, "firewalls", project.firewalls)


def list_ssh_keys(_state: State, project: FakeProject, call: Call) -> Reply:
    """Return a page of SSH keys, by name."""
    return _listed(call, "ssh_keys", project.ssh_keys)


def get_network(_state: State, project: FakeProject, _call: Call, id_: int) -> Reply:
    """Return one network."""
    return _one("network", project.networks, id_)


def get_firewall(_state: State, project: FakeProject, _call: Call, id_: int) -> Reply:
    """Return one firewall."""
    return _one("firewall", project.firewalls, id_)


def get_ssh_key(_state: State, project: FakeProject, _call: Call, id_: int) -> Reply:
    """Return one SSH key."""
    return _one("ssh_key", project.ssh_keys, id_)


Things = Mapping[int, Network] | Mapping[int, Firewall] | Mapping[int, SSHKey]
ProjectCall = Callable[[State, FakeProject, Call], Reply]
"""A call to the project as a whole."""


def _listed(call: Call, key: str, resources: Things) -> Reply:
    name, is_selected = call.last("name"), selected(call.last("label_selector"))
    # None of these has labels here.
    return page(
        call, key, [each.to_json() for each in resources.values() if name in (None, each.name) and is_selected({})]
    )


def _one(key: str, resources: Things, id_: int) -> Reply:
    resource = find(resources.values(), id_)
    if resource is None:
        raise not_found(f"{key} with ID '{id_}'")
    return Reply(HTTPStatus.OK, {key: resource.to_json()})
