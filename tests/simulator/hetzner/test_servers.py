from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from decimal import Decimal

import pytest

from tests.simulator.hetzner.desk import SERVER, START, Desk, code, ids_of


def test_a_server_goes_from_initializing_over_starting_to_running():
    desk = Desk()
    number = desk.made()
    seen = []
    for seconds in (0, 29, 1, 1, 1):
        desk.wait(seconds)
        seen.append(desk.server(number)["status"])
    assert seen == ["initializing", "initializing", "starting", "starting", "running"]
    (record,) = desk.cloud.servers_of()
    assert record.running_since == START + timedelta(seconds=32)


def test_a_server_that_is_not_started_ends_as_off():
    desk = Desk()
    reply = desk.create(start_after_create=False)
    assert reply.body["next_actions"] == []
    desk.wait(30)
    assert desk.server(reply.body["server"]["id"])["status"] == "off"


def test_each_action_begins_when_the_one_before_has_ended():
    desk = Desk()
    network = desk.cloud.add_network("inner")
    reply = desk.create(networks=[network])
    numbers = ids_of(reply)
    assert [each["command"] for each in reply.body["next_actions"]] == ["attach_to_network", "start_server"]
    desk.wait(15)
    assert [(a["status"], a["progress"]) for a in desk.actions(*numbers).values()] == [
        ("running", 50),
        ("running", 0),
        ("running", 0),
    ]
    desk.wait(16)
    assert [a["status"] for a in desk.actions(*numbers).values()] == ["success", "running", "running"]
    desk.wait(3)
    finished = [a["finished"] for a in desk.actions(*numbers).values()]
    assert finished == [(START + timedelta(seconds=s)).isoformat() for s in (30, 32, 34)]


def test_effects_come_at_their_own_moment_when_nobody_looks_for_long():
    desk = Desk()
    desk.made()
    desk.wait(3600)
    assert desk.cloud.servers_of()[0].running_since == START + timedelta(seconds=32)


REFUSED = {
    "name": ({"name": "not_a_host"}, "invalid_input", "name"),
    "name too long": ({"name": "a" * 64}, "invalid_input", "name"),
    "location": ({"location": "moon"}, "invalid_input", "location"),
    "image": ({"image": "nosuch"}, "invalid_input", "image"),
    "no image": ({"image": None}, "invalid_input", "image"),
    "user data": ({"user_data": "ä" * (16 * 1024 + 1)}, "invalid_input", "user_data"),
    "label": ({"labels": {"a": "-b"}}, "invalid_input", "labels"),
    "label key": ({"labels": {"a/b/c": "d"}}, "invalid_input", "labels"),
    "reserved label": ({"labels": {"hetzner.cloud/a": "b"}}, "invalid_input", "labels"),
    "no address": ({"public_net": {"enable_ipv4": False, "enable_ipv6": False}}, "invalid_input", "public_net"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_wrong_field_is_refused_and_named(case):
    desk = Desk()
    fields, expected, field = REFUSED[case]
    reply = desk.create(**fields)
    assert code(reply) == (422, expected)
    assert reply.body["error"]["details"]["fields"][0]["name"] == field
    assert desk.cloud.servers_of() == []


def test_user_data_of_exactly_32_kib_and_labels_of_kubernetes_are_taken():
    desk = Desk()
    desk.made(user_data="ä" * (16 * 1024), labels={"growth.dev/pool": "a_b.c-d", "empty": ""})


@pytest.mark.parametrize(
    ("field", "value"),
    [("firewalls", [{"firewall": 7}]), ("networks", [7]), ("placement_group", 7)],
)
def test_what_does_not_exist_is_not_found(field, value):
    desk = Desk()
    assert code(desk.create(**{field: value})) == (404, "not_found")
    assert desk.cloud.servers_of() == []


def test_a_key_that_does_not_exist_is_an_invalid_input():
    reply = Desk().create(ssh_keys=["nosuch"])
    assert code(reply) == (422, "invalid_input")
    assert [field["name"] for field in reply.body["error"]["details"]["fields"]] == ["ssh_keys"]


def test_a_type_is_refused_where_it_is_not_offered():
    reply = Desk().create(location="ash")
    assert code(reply) == (422, "invalid_input")
    assert reply.body["error"]["message"] == "unsupported location for server type"
    assert code(Desk().create(server_type="cx11")) == (422, "invalid_server_type")


def test_an_image_must_fit_the_architecture_and_the_disk_and_be_ready():
    desk = Desk()
    arm = desk.cloud.add_image(architecture="arm")
    large = desk.cloud.add_image(disk_gb=80)
    unready = desk.cloud.add_image(status="creating")
    for image in (arm, large, unready):
        assert code(desk.create(image=image)) == (422, "invalid_input")
    desk.made("a", image=arm, server_type="cax11")
    desk.made("b", image=large, server_type="cx33")
    # A name stands for the images of both architectures.
    desk.made("c", server_type="cax11")


def test_a_name_is_there_once_in_a_project():
    desk = Desk()
    desk.made()
    assert code(desk.create()) == (409, "uniqueness_error")
    desk.cloud.add_token("other", project="second")
    assert desk.call("POST", "/servers", SERVER, token="other").status == 201
    assert [each.name for each in desk.cloud.servers_of("second")] == ["one"]


def test_a_root_password_comes_without_a_key_only():
    desk = Desk()
    desk.cloud.add_ssh_key("mine")
    assert desk.create("a").body["root_password"]
    assert desk.create("b", ssh_keys=["mine"]).body["root_password"] is None


def test_the_server_limit_counts_servers_that_are_being_deleted():
    desk = Desk()
    desk.cloud.set_server_limit(1)
    number = desk.running("a")
    desk.call("DELETE", f"/servers/{number}")
    reply = desk.create("b")
    assert code(reply) == (403, "resource_limit_exceeded")
    assert reply.body["error"]["details"] == {"limits": [{"name": "server_limit"}]}
    desk.wait(5)
    desk.made("b")


def test_other_writes_are_locked_out_while_an_action_runs():
    desk = Desk()
    number = desk.made()
    for method, path, body in (
        ("DELETE", "", None),
        ("PUT", "", {"labels": {}}),
        ("POST", "/actions/poweroff", None),
    ):
        assert code(desk.call(method, f"/servers/{number}{path}", body)) == (423, "locked")
    assert desk.server(number)["locked"] is True
    desk.wait(32)
    assert desk.call("DELETE", f"/servers/{number}").status == 200
    assert code(desk.call("DELETE", f"/servers/{number}")) == (423, "locked")
    assert desk.server(number)["status"] == "deleting"
    desk.wait(5)
    assert code(desk.call("DELETE", f"/servers/{number}")) == (404, "not_found")


def test_labels_are_replaced_as_a_whole():
    desk = Desk()
    number = desk.running(labels={"a": "1", "b": "2"})
    desk.call("PUT", f"/servers/{number}", {"labels": {"c": "3"}})
    assert desk.server(number)["labels"] == {"c": "3"}


def test_a_protected_server_is_not_deleted():
    desk = Desk()
    number = desk.running()
    desk.cloud.protect("one")
    assert code(desk.call("DELETE", f"/servers/{number}")) == (403, "protected")
    desk.call("POST", f"/servers/{number}/actions/change_protection", {"delete": False})
    assert desk.call("DELETE", f"/servers/{number}").status == 200


@pytest.mark.parametrize(
    ("selector", "names"),
    [
        ("pool=a", ["one"]),
        ("pool==b", ["two"]),
        ("pool!=a", ["two", "three"]),
        ("pool in (a,b)", ["one", "two"]),
        ("pool notin (a)", ["two", "three"]),
        ("pool", ["one", "two"]),
        ("!pool", ["three"]),
        ("pool,new", ["two"]),
    ],
)
def test_lists_are_selected_by_labels(selector, names):
    desk = Desk()
    desk.made("one", labels={"pool": "a"})
    desk.made("two", labels={"pool": "b", "new": ""})
    desk.made("three")
    assert desk.names(label_selector=selector) == names


def test_lists_are_selected_by_name_and_status():
    desk = Desk()
    desk.running("one")
    desk.made("two")
    assert desk.names(name="two") == ["two"]
    assert desk.names(status="running") == ["one"]
    assert code(desk.call("GET", "/servers", query=[("label_selector", "a b")])) == (422, "invalid_input")


def test_pages_say_where_they_stand():
    desk = Desk()
    for number in range(30):
        desk.made(f"s{number}")
    body = desk.call("GET", "/servers", query=[("page", "2")]).body
    assert len(body["servers"]) == 5
    assert body["meta"]["pagination"] == {
        "page": 2,
        "per_page": 25,
        "previous_page": 1,
        "next_page": None,
        "last_page": 2,
        "total_entries": 30,
    }
    assert code(desk.call("GET", "/servers", query=[("per_page", "51")])) == (422, "invalid_input")


def test_a_server_is_attached_to_a_subnet_once():
    desk = Desk()
    network = desk.cloud.add_network("inner", subnets=[("10.0.1.0/24", "eu-central"), ("10.0.2.0/24", "eu-central")])
    number = desk.running(start_after_create=False)
    path = f"/servers/{number}/actions/attach_to_network"
    assert code(desk.call("POST", path, {"network": network, "ip_range": "10.0.3.0/24"})) == (422, "invalid_input")
    reply = desk.call("POST", path, {"network": network, "ip_range": "10.0.2.0/24"})
    assert (reply.status, reply.body["action"]["resources"][1]) == (201, {"id": network, "type": "network"})
    desk.wait(2)
    assert desk.server(number)["private_net"][0]["ip"] == "10.0.2.2"
    assert code(desk.call("POST", path, {"network": network})) == (409, "server_already_attached")
    assert desk.call("GET", f"/networks/{network}").body["network"]["servers"] == [number]


def test_a_network_must_reach_the_location_and_have_an_address():
    desk = Desk()
    far = desk.cloud.add_network("far", subnets=[("10.0.1.0/24", "us-east")])
    small = desk.cloud.add_network("small", subnets=[("10.0.1.0/30", "eu-central")])
    assert code(desk.create(networks=[far])) == (422, "invalid_input")
    first = desk.running("a", networks=[small])
    assert code(desk.create("b", networks=[small])) == (409, "ip_not_available")
    assert [each.name for each in desk.cloud.servers_of()] == ["a"]
    desk.call("DELETE", f"/servers/{first}")
    desk.wait(5)
    desk.made("b", networks=[small])


def test_a_network_takes_100_servers():
    desk = Desk()
    network = desk.cloud.add_network("inner")
    for number in range(100):
        desk.made(f"s{number}", networks=[network])
    assert code(desk.create(networks=[network])) == (403, "resource_limit_exceeded")


def test_a_placement_group_takes_ten_servers_those_that_are_being_deleted_included():
    desk = Desk()
    group = desk.group(labels={"a": "b"})
    numbers = [desk.made(f"s{number}", placement_group=group) for number in range(10)]
    desk.wait(60)
    desk.call("DELETE", f"/servers/{numbers[0]}")
    assert code(desk.create(placement_group=group)) == (422, "placement_group_member_limit_reached")
    desk.wait(5)
    desk.made(placement_group=group)
    assert len(desk.call("GET", f"/placement_groups/{group}").body["placement_group"]["servers"]) == 10
    assert code(desk.call("DELETE", f"/placement_groups/{group}")) == (409, "resource_in_use")


def test_a_project_has_50_placement_groups_of_different_names():
    desk = Desk()
    for number in range(50):
        desk.group(f"g{number}")
    same = desk.call("POST", "/placement_groups", {"name": "g1", "type": "spread"})
    assert code(same) == (409, "uniqueness_error")
    another = desk.call("POST", "/placement_groups", {"name": "more", "type": "spread"})
    assert code(another) == (403, "resource_limit_exceeded")
    assert another.body["error"]["details"]["limits"] == [{"name": "placement_group_limit"}]


def test_actions_are_listed_by_their_ids_only():
    desk = Desk()
    reply = desk.create()
    assert code(desk.call("GET", "/actions")) == (410, "deprecated_api_endpoint")
    assert list(desk.actions(*ids_of(reply), 1)) == ["create_server", "start_server"]
    number = ids_of(reply)[0]
    for path in (f"/actions/{number}", f"/servers/actions/{number}"):
        assert desk.call("GET", path).body["action"]["command"] == "create_server"
    listed = desk.call("GET", f"/servers/{reply.body['server']['id']}/actions").body["actions"]
    assert [each["id"] for each in listed] == ids_of(reply)


def test_actions_of_a_server_that_is_gone_can_still_be_read():
    desk = Desk()
    number = desk.running()
    action = desk.call("DELETE", f"/servers/{number}").body["action"]["id"]
    desk.wait(5)
    assert desk.actions(action)["delete_server"]["status"] == "success"


def test_a_server_that_a_person_deletes_while_it_is_made_stays_gone():
    desk = Desk()
    group, network = desk.group(), desk.cloud.add_network("inner")
    desk.made(placement_group=group, networks=[network])
    desk.cloud.vanish("one")
    desk.wait(60)
    assert desk.names() == []
    assert desk.call("GET", f"/placement_groups/{group}").body["placement_group"]["servers"] == []


def test_the_record_of_a_server_tells_what_it_was_made_with():
    desk = Desk()
    group, wall, key = desk.group(), desk.cloud.add_firewall("wall"), desk.cloud.add_ssh_key("mine")
    fields = {"placement_group": group, "firewalls": [{"firewall": wall}], "ssh_keys": ["mine"]}
    desk.made(user_data="#!/bin/sh", labels={"a": "b"}, **fields)
    (record,) = desk.cloud.servers_of()
    assert (record.user_data, record.labels, record.placement_group) == ("#!/bin/sh", {"a": "b"}, group)
    assert (record.firewalls, record.ssh_keys) == ((wall,), (key,))
    # cx23 and its IPv4 address.
    assert record.price_per_hour == Decimal("0.0096")


def test_two_clouds_of_one_seed_are_alike():
    assert Desk(seed=3).create().body == Desk(seed=3).create().body
    assert Desk(seed=3).made() != Desk(seed=4).made()


def test_calls_from_several_threads_are_carried_out_one_after_the_other():
    desk = Desk()
    with ThreadPoolExecutor(8) as threads:
        replies = list(threads.map(lambda number: desk.create(f"s{number % 50}"), range(200)))
    assert [reply.status for reply in replies].count(201) == 50
    assert len({id_ for reply in replies if reply.status == 201 for id_ in ids_of(reply)}) == 100
    assert len(desk.cloud.servers_of()) == 50
