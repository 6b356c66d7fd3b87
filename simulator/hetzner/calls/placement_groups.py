"""Calls about placement groups."""

from http import HTTPStatus

from simulator.hetzner.calls.labels import check_labels, selected
from simulator.hetzner.calls.representation import page
from simulator.hetzner.project.project import GROUPS, FakeProject
from simulator.hetzner.project.resources import PlacementGroup
from simulator.hetzner.project.state import State
from simulator.hetzner.reply import ApiRefusal, Call, Reply, invalid, not_found, over_limit


def list_groups(_state: State, project: FakeProject, call: Call) -> Reply:
    """Return a page of placement groups, by name and label selector."""
    name, is_selected = call.last("name"), selected(call.last("label_selector"))
    groups = [
        group.to_json() for group in project.groups.values() if name in (None, group.name) and is_selected(group.labels)
    ]
    return page(call, "placement_groups", groups)


def get_group(_state: State, project: FakeProject, _call: Call, id_: int) -> Reply:
    """Return one placement group."""
    return Reply(HTTPStatus.OK, {"placement_group": _group(project, id_).to_json()})


def create_group(state: State, project: FakeProject, call: Call) -> Reply:
    """Create a placement group of the only type there is."""
    name = call.field("name")
    if not isinstance(name, str) or not name:
        raise invalid("name", "is required")
    if call.field("type") != "spread":
        raise invalid("type", "must be spread")
    labels = check_labels(call.field("labels"))
    if any(group.name == name for group in project.groups.values()):
        raise ApiRefusal(HTTPStatus.CONFLICT, "uniqueness_error", "placement group name is already used")
    if len(project.groups) >= GROUPS:
        raise over_limit("placement group limit exceeded", "placement_group_limit")
    group = PlacementGroup(state.next_id(), name, labels, state.timeline.now)
    project.groups[group.id] = group
    return Reply(HTTPStatus.CREATED, {"placement_group": group.to_json(), "action": None})


def label_group(_state: State, project: FakeProject, call: Call, id_: int) -> Reply:
    """Replace all labels of a placement group."""
    group = _group(project, id_)
    if call.field("labels") is not None:
        group.labels = check_labels(call.field("labels"))
    return Reply(HTTPStatus.OK, {"placement_group": group.to_json()})


def delete_group(_state: State, project: FakeProject, _call: Call, id_: int) -> Reply:
    """Delete an empty placement group."""
    group = _group(project, id_)
    if group.servers:
        raise ApiRefusal(HTTPStatus.CONFLICT, "resource_in_use", "placement group still has servers")
    del project.groups[id_]
    return Reply(HTTPStatus.NO_CONTENT)


def _group(project: FakeProject, id_: int) -> PlacementGroup:
    group = project.groups.get(id_)
    if group is None:
        raise not_found(f"placement group with ID '{id_}'")
    return group
