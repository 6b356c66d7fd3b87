"""Each kind of garbage, and each of its conditions missing on its own: then it is none."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from planner.lifecycle.garbage import (
    Garbage,
    GarbageSeen,
    Guards,
    NodeFact,
    ProviderAnswer,
    RemovalFact,
    RequestFact,
    ServerFact,
    confirmed,
    excess,
    garbage,
    suspects,
)

NOW = datetime(2026, 11, 1, 12, tzinfo=UTC)
OLD = NOW - timedelta(minutes=10)
YOUNG = OLD + timedelta(seconds=1)
GUARDS = Guards()
SERVER = ServerFact("m-1", "id-1", "KwokNodeClass", OLD, request="m-1", request_uid="u-1")
NODE = NodeFact("m-1", "n-1", OLD, provider_id="id-1", request="m-1", request_uid="u-1")
REQUEST = RequestFact("m-1", "u-1", "Ready")
DEAD = replace(NODE, is_ready=False)
STARTING = replace(NODE, unregistered=True)


def seen(*, servers=(), requests=(), removals=(), nodes=(), answers=None, occupied=()):
    return GarbageSeen(
        now=NOW,
        servers=servers,
        requests={one.name: one for one in requests},
        removals=tuple(removals),
        nodes=tuple(nodes),
        answers=answers or {},
        occupied=frozenset(occupied),
    )


def kinds(sight):
    return [one.kind for one in garbage(sight, GUARDS)]


def test_the_guard_times_and_the_share_are_those_that_were_decided():
    assert (GUARDS.oldest_young, GUARDS.apart, GUARDS.percent) == (timedelta(minutes=10), timedelta(seconds=30), 20)


def test_a_server_without_request_removal_and_node_is_an_orphan():
    (found,) = garbage(seen(servers=(SERVER,)), GUARDS)
    assert (found.kind, found.name, found.identity, found.is_orphan) == (Garbage.ORPHAN, "m-1", "id-1", True)


@pytest.mark.parametrize(
    "sight",
    [
        seen(servers=(SERVER,), requests=[REQUEST]),
        seen(servers=(SERVER,), requests=[replace(REQUEST, uid="u-2")]),
        seen(servers=(SERVER,), removals=[RemovalFact("m-1")]),
        seen(servers=(SERVER,), removals=[RemovalFact("other", node_name="m-1")]),
        seen(servers=(SERVER,), nodes=[NODE]),
        seen(servers=(SERVER,), nodes=[replace(NODE, provider_id="", request="", request_uid="")]),
        seen(servers=(SERVER,), nodes=[replace(NODE, name="other")]),
        seen(servers=(replace(SERVER, created_at=YOUNG),)),
        seen(servers=(replace(SERVER, is_abandoned=True),)),
        seen(servers=(replace(SERVER, request=""),)),
        seen(servers=(replace(SERVER, request="m-2"),)),
        seen(servers=(replace(SERVER, request_uid=""),)),
        seen(servers=None),
    ],
    ids=[
        "its request",
        "another request of its name",
        "its removal",
        "a removal of a Node of its name",
        "its Node",
        "a Node of its name",
        "a Node with its id",
        "too young",
        "abandoned",
        "no label of a request",
        "label of a request of another name",
        "no label of a uid",
        "a list that failed",
    ],
)
def test_a_server_is_no_orphan_when_one_condition_is_missing(sight):
    assert kinds(sight) == []


@pytest.mark.parametrize(("orphans", "fleet", "kept"), [(1, 1, 0), (2, 2, 2), (1, 9, 0), (2, 9, 2), (2, 10, 0)])
def test_too_many_orphans_at_once_are_not_believed(orphans, fleet, kept):
    servers = tuple(replace(SERVER, name=f"m-{i}", request=f"m-{i}", provider_id=f"id-{i}") for i in range(fleet))
    nodes = [replace(NODE, name=one.name, provider_id=one.provider_id) for one in servers[orphans:]]
    sight = seen(servers=servers, nodes=nodes)
    found = garbage(sight, GUARDS)
    assert len(found) == orphans
    assert len(excess(found, sight, GUARDS)) == kept


def test_taints_are_no_orphans_and_do_not_count_as_such():
    sight = seen(nodes=[replace(NODE, name=f"n-{i}", uid=f"n-{i}", scale_down=True) for i in range(5)])
    found = garbage(sight, GUARDS)
    assert len(found) == 5
    assert excess(found, sight, GUARDS) == ()


ABSENT = {"m-1": (ProviderAnswer.ABSENT, None)}


def test_a_node_that_is_not_ready_and_whose_server_is_not_found_goes():
    sight = seen(nodes=[DEAD], answers=ABSENT)
    assert suspects(sight, GUARDS) == (DEAD,)
    assert kinds(sight) == [Garbage.SERVER_GONE]


@pytest.mark.parametrize(
    ("node", "rest"),
    [
        (NODE, {}),
        (DEAD, {"requests": [REQUEST]}),
        (DEAD, {"removals": [RemovalFact("m-1")]}),
        (DEAD, {"removals": [RemovalFact("other", node_name="m-1")]}),
        (DEAD, {"servers": (SERVER,)}),
        (DEAD, {"servers": (replace(SERVER, name="other"),)}),
        (DEAD, {"servers": None}),
        (DEAD, {"answers": {"m-1": (ProviderAnswer.UNKNOWN, None)}}),
        (DEAD, {"answers": {"m-1": (ProviderAnswer.OTHER, None)}}),
        (DEAD, {"answers": {"m-1": (ProviderAnswer.THERE, SERVER)}}),
        (DEAD, {"answers": {}}),
        (replace(DEAD, is_kept=True), {}),
        (replace(DEAD, is_terminating=True), {}),
        (replace(DEAD, request=""), {}),
        (replace(DEAD, request="other"), {}),
    ],
)
def test_a_node_stays_when_one_condition_is_missing(node, rest):
    assert kinds(seen(**{"nodes": [node], "answers": ABSENT, **rest})) == []


THERE = {"m-1": (ProviderAnswer.THERE, SERVER)}


def test_a_node_that_joined_when_its_request_had_gone_is_an_orphan():
    sight = seen(servers=(SERVER,), nodes=[STARTING], answers=THERE)
    (found,) = garbage(sight, GUARDS)
    assert (found.kind, found.server, found.is_orphan) == (Garbage.STRAY, SERVER, True)
    without_labels = replace(STARTING, request="", request_uid="")
    assert kinds(seen(servers=(SERVER,), nodes=[without_labels], answers=THERE)) == [Garbage.STRAY]


@pytest.mark.parametrize(
    ("node", "rest"),
    [
        (NODE, {}),
        (replace(STARTING, created_at=YOUNG), {}),
        (replace(STARTING, is_kept=True), {}),
        (STARTING, {"requests": [replace(REQUEST, phase="Provisioning")]}),
        (STARTING, {"removals": [RemovalFact("m-1")]}),
        (STARTING, {"occupied": ["m-1"]}),
        (STARTING, {"answers": {"m-1": (ProviderAnswer.UNKNOWN, None)}}),
        (STARTING, {"answers": {"m-1": (ProviderAnswer.OTHER, None)}}),
        (STARTING, {"answers": ABSENT}),
        (STARTING, {"answers": {"m-1": (ProviderAnswer.THERE, replace(SERVER, is_abandoned=True))}}),
        (STARTING, {"answers": {"m-1": (ProviderAnswer.THERE, replace(SERVER, request_uid=""))}}),
        (STARTING, {"servers": None}),
    ],
)
def test_a_starting_node_stays_when_one_condition_is_missing(node, rest):
    assert kinds(seen(**{"servers": (SERVER,), "nodes": [node], "answers": THERE, **rest})) == []


@pytest.mark.parametrize("answer", [ProviderAnswer.ABSENT, ProviderAnswer.OTHER])
def test_the_startup_taint_of_no_machine_is_lifted(answer):
    stranger = replace(STARTING, request="", request_uid="")
    answers = {"m-1": (answer, None)}
    assert kinds(seen(nodes=[stranger], answers=answers)) == [Garbage.UNREGISTERED]
    assert kinds(seen(nodes=[replace(stranger, created_at=YOUNG)], answers=answers)) == []
    assert kinds(seen(nodes=[stranger], answers=answers, requests=[REQUEST])) == []
    assert kinds(seen(nodes=[stranger], answers=answers, removals=[RemovalFact("m-1")])) == []
    assert kinds(seen(nodes=[stranger], answers={"m-1": (ProviderAnswer.UNKNOWN, None)})) == []
    # With our label it is a machine, whose server somebody has to explain.
    assert kinds(seen(nodes=[STARTING], answers=answers)) == []


@pytest.mark.parametrize(
    ("requests", "node", "stale"),
    [
        ([], {}, True),
        ([replace(REQUEST, uid="u-2")], {}, True),
        ([replace(REQUEST, is_released=True)], {}, True),
        ([replace(REQUEST, name="m-2")], {"reserved": ("m-2",)}, True),
        ([REQUEST], {}, False),
        ([REQUEST], {"request": "", "request_uid": ""}, False),
        ([], {"reserved": ()}, False),
    ],
)
def test_a_reservation_is_stale_without_its_request(requests, node, stale):
    reserved = replace(NODE, **{"reserved": ("m-1",), **node})
    assert kinds(seen(requests=requests, nodes=[reserved])) == ([Garbage.RESERVED] if stale else [])


@pytest.mark.parametrize(
    ("rest", "stale"),
    [
        ({}, True),
        ({"requests": [REQUEST]}, True),
        ({"requests": [replace(REQUEST, phase="Deprovisioning")]}, False),
        ({"removals": [RemovalFact("m-1")]}, False),
        ({"removals": [RemovalFact("other", node_name="m-1")]}, False),
        ({"removals": [RemovalFact("other")]}, True),
    ],
)
def test_a_cool_off_is_stale_without_a_removal(rest, stale):
    sight = seen(nodes=[replace(NODE, scale_down=True)], **rest)
    assert kinds(sight) == ([Garbage.SCALE_DOWN] if stale else [])


def test_stale_taints_are_found_also_while_a_provider_is_silent():
    node = replace(NODE, scale_down=True, reserved=("gone", "m-1"))
    assert kinds(seen(servers=None, nodes=[node])) == [Garbage.RESERVED, Garbage.RESERVED, Garbage.SCALE_DOWN]


def test_nothing_is_believed_that_was_seen_once():
    found = garbage(seen(servers=(SERVER,)), GUARDS)
    due, known = confirmed(found, {}, NOW, GUARDS)
    assert due == ()
    assert confirmed(found, known, NOW + timedelta(seconds=29), GUARDS)[0] == ()
    due, again = confirmed(found, known, NOW + timedelta(seconds=30), GUARDS)
    assert due == found
    assert again == known
    # A clock that went back proves nothing.
    assert confirmed(found, known, NOW - timedelta(hours=1), GUARDS)[0] == ()


def test_what_one_sweep_did_not_see_is_forgotten():
    found = garbage(seen(servers=(SERVER,)), GUARDS)
    _, known = confirmed(found, {}, NOW, GUARDS)
    _, known = confirmed((), known, NOW + timedelta(seconds=30), GUARDS)
    assert known == {}


def test_another_machine_of_the_name_is_another_finding():
    _, known = confirmed(garbage(seen(servers=(SERVER,)), GUARDS), {}, NOW, GUARDS)
    later = garbage(seen(servers=(replace(SERVER, provider_id="id-2"),)), GUARDS)
    assert confirmed(later, known, NOW + timedelta(minutes=1), GUARDS)[0] == ()


def test_what_is_remembered_is_bounded():
    servers = tuple(replace(SERVER, name=f"m-{i}", request=f"m-{i}") for i in range(1500))
    found = garbage(seen(servers=servers), GUARDS)
    assert len(found) == 1500
    assert len(confirmed(found, {}, NOW, GUARDS)[1]) == 1000
