from datetime import timedelta
from decimal import Decimal

import pytest

from tests.simulator.hetzner.desk import SERVER, START, TOKEN, Desk, code


def type_of(desk, name="cx23"):
    types = desk.call("GET", "/server_types", query=[("per_page", "50")]).body["server_types"]
    return next(each for each in types if each["name"] == name)


def place_of(desk, location="fsn1"):
    return next(each for each in type_of(desk)["locations"] if each["name"] == location)


def test_a_new_price_is_one_of_new_servers():
    desk = Desk()
    desk.made("old")
    desk.cloud.set_price("cx23", "fsn1", "0.0200", "12.48")
    desk.made("new")
    assert [each.price_per_hour for each in desk.cloud.servers_of()] == [Decimal("0.0096"), Decimal("0.0208")]
    prices = {each["location"]: each["price_hourly"]["net"] for each in type_of(desk)["prices"]}
    assert (prices["fsn1"], prices["nbg1"]) == ("0.0200000000", "0.0088000000")


def test_a_price_can_be_missing():
    desk = Desk()
    desk.cloud.remove_price("cx23", "fsn1")
    assert [each["location"] for each in type_of(desk)["prices"]] == ["nbg1", "hel1"]
    desk.made()
    assert desk.cloud.servers_of()[0].price_per_hour is None


def test_a_sold_out_type_is_refused_whatever_is_published():
    desk = Desk()
    desk.cloud.sell_out("cx23", "fsn1")
    reply = desk.create()
    assert code(reply) == (412, "resource_unavailable")
    assert reply.body["error"]["message"] == "error during placement"
    assert place_of(desk)["available"] is True
    desk.made("elsewhere", location="nbg1")
    desk.cloud.restock("cx23", "fsn1")
    desk.made()
    desk.cloud.sell_out("cx23")
    assert code(desk.create("third", location="hel1")) == (412, "resource_unavailable")


def test_a_type_that_is_published_as_unavailable_can_be_had_all_the_same():
    desk = Desk()
    desk.cloud.publish_available("cx23", "fsn1", False)
    assert (place_of(desk)["available"], place_of(desk)["recommended"]) == (False, False)
    desk.made()


def test_a_withdrawn_type_is_refused_from_its_moment_on():
    desk = Desk()
    end = START + timedelta(hours=1)
    desk.cloud.withdraw("cx23", "fsn1", end)
    assert place_of(desk)["deprecation"]["unavailable_after"] == end.isoformat()
    assert place_of(desk, "nbg1")["deprecation"] is None
    desk.made("before")
    desk.wait(3600)
    assert code(desk.create("after")) == (422, "invalid_server_type")
    desk.made("elsewhere", location="nbg1")


@pytest.mark.parametrize(
    ("add", "path"),
    [
        (lambda cloud: cloud.add_image("arch-linux"), "images"),
        (lambda cloud: cloud.add_network("n"), "networks"),
        (lambda cloud: cloud.add_firewall("f"), "firewalls"),
        (lambda cloud: cloud.add_ssh_key("k"), "ssh_keys"),
    ],
)
def test_what_is_taken_away_is_gone(add, path):
    desk = Desk()
    number = add(desk.cloud)
    assert desk.call("GET", f"/{path}/{number}").status == 200
    desk.cloud.remove(number)
    assert code(desk.call("GET", f"/{path}/{number}")) == (404, "not_found")
    assert number not in [each["id"] for each in desk.call("GET", f"/{path}").body[path]]
    with pytest.raises(KeyError):
        desk.cloud.remove(number)


def test_snapshots_are_sorted_by_their_age():
    desk = Desk()
    old = desk.cloud.add_image(labels={"a": "b"}, created=START - timedelta(days=2))
    new = desk.cloud.add_image(labels={"a": "b"}, created=START - timedelta(days=1))
    query = [("label_selector", "a=b"), ("sort", "created:desc"), ("type", "snapshot")]
    assert [each["id"] for each in desk.call("GET", "/images", query=query).body["images"]] == [new, old]


def test_a_wrong_token_is_refused_and_counted():
    desk = Desk()
    assert code(desk.call("GET", "/servers", token="wrong")) == (401, "unauthorized")
    desk.cloud.remove_token(TOKEN)
    assert code(desk.call("GET", "/servers")) == (401, "unauthorized")
    assert [each.verb for each in desk.cloud.requests] == ["list_servers", "list_servers"]


def test_a_read_only_token_is_refused_before_anything_is_looked_up():
    desk = Desk()
    desk.cloud.add_token("reader", "read_only")
    assert desk.call("GET", "/servers", token="reader").status == 200
    assert code(desk.call("POST", "/servers", SERVER, token="reader")) == (403, "token_readonly")
    assert code(desk.call("PUT", "/placement_groups/0", {"labels": {}}, token="reader")) == (403, "token_readonly")
    assert code(desk.call("PUT", "/placement_groups/0", {"labels": {}})) == (404, "not_found")


def test_an_empty_bucket_refuses_until_it_is_refilled():
    desk = Desk()
    desk.cloud.set_rate_limit(2)
    assert [desk.call("GET", "/servers").headers["RateLimit-Remaining"] for _ in range(2)] == ["1", "0"]
    reply = desk.call("POST", "/servers", SERVER)
    assert code(reply) == (429, "rate_limit_exceeded")
    # As the real one does: whoever logs this must redact it.
    assert "a" * 32 in reply.body["error"]["message"]
    assert reply.headers == {
        "RateLimit-Limit": "2",
        "RateLimit-Remaining": "0",
        "RateLimit-Reset": str(int(START.timestamp()) + 2),
    }
    assert desk.cloud.servers_of() == []
    desk.wait(1)
    assert desk.call("GET", "/servers").status == 200
    assert desk.call("GET", "/servers").status == 429
    desk.wait(3600)
    assert desk.call("GET", "/servers").headers["RateLimit-Remaining"] == "1"


def test_projects_have_their_own_servers_and_calls():
    desk = Desk()
    desk.cloud.add_token("other", project="second")
    desk.cloud.set_rate_limit(1, project="second")
    desk.cloud.set_server_limit(0, project="second")
    desk.made()
    assert desk.call("GET", "/servers", token="other").body["servers"] == []
    assert desk.call("GET", "/servers", token="other").status == 429
    desk.wait(1)
    assert code(desk.call("POST", "/servers", SERVER, token="other")) == (403, "resource_limit_exceeded")


def test_calls_are_recorded_with_what_they_are_about():
    desk = Desk()
    number = desk.running()
    desk.call("DELETE", f"/servers/{number}")
    desk.names(name="one")
    first, *_, delete, last = desk.cloud.requests
    assert (first.at, first.method, first.verb, first.path, first.name) == (
        START,
        "POST",
        "create_server",
        "/servers",
        "one",
    )
    assert (delete.verb, delete.name, last.verb, last.name) == ("delete_server", "one", "list_servers", "one")
    assert desk.cloud.count("create_server", "one") == 1
    assert desk.cloud.count("create_server", "two") == 0


def test_an_unknown_path_is_not_found():
    assert code(Desk().call("GET", "/volumes")) == (404, "not_found")


LIMITS = [
    ("servers", "server limit exceeded", "server_limit", {}),
    ("cores", "core limit exceeded", "core_limit", {}),
    ("dedicated cores", "dedicated core limit exceeded", "dedicated_core_limit", {"server_type": "ccx13"}),
    ("primary IPs", "Primary IP limit exceeded", "primary_ip_limit", {}),
    ("cx23", "server type cx23 limit exceeded", "cx23_limit", {}),
]


@pytest.mark.parametrize(("what", "message", "name", "fields"), LIMITS)
def test_a_limit_is_told_in_the_message_in_the_details_or_in_both(what, message, name, fields):
    desk = Desk()
    desk.cloud.set_limit(what, 0)
    told = {}
    for where in ("both", "message", "details"):
        desk.cloud.set_limit(what, 0, named_in=where)
        reply = desk.create(**fields)
        assert code(reply) == (403, "resource_limit_exceeded")
        told[where] = (reply.body["error"]["message"], reply.body["error"]["details"])
    details = {"limits": [{"name": name}]}
    assert told == {
        "both": (message, details),
        "message": (message, {}),
        "details": ("resource limit exceeded", details),
    }
    desk.cloud.set_limit(what, None)
    assert desk.create(**fields).status == 201


def test_a_limit_stops_what_it_counts_and_nothing_else():
    desk = Desk()
    desk.cloud.set_limit("dedicated cores", 2)
    desk.cloud.set_limit("primary IPs", 2)
    desk.made("a", server_type="ccx13")
    assert code(desk.create("b", server_type="ccx13")) == (403, "resource_limit_exceeded")
    desk.made("c")
    assert code(desk.create("d")) == (403, "resource_limit_exceeded")
    desk.made("e", public_net={"enable_ipv4": False, "enable_ipv6": True})


def test_a_closed_location_takes_no_server_of_any_type():
    desk = Desk()
    desk.cloud.close_location("fsn1")
    for number, server_type in enumerate(("cx23", "ccx13")):
        reply = desk.create(f"s-{number}", server_type=server_type)
        assert code(reply) == (412, "resource_unavailable")
        assert reply.body["error"]["message"] == "server location disabled"
    assert desk.create(location="nbg1").status == 201
    desk.cloud.close_location("fsn1", is_closed=False)
    assert desk.create("again").status == 201


def test_a_locked_project_can_be_read_only():
    desk = Desk()
    number = desk.running()
    desk.cloud.lock_project(is_locked=True)
    for reply in (desk.create("b"), desk.call("DELETE", f"/servers/{number}")):
        assert code(reply) == (423, "resource_locked")
        assert "support" in reply.body["error"]["message"]
    assert desk.server(number)["name"] == "one"


def test_a_full_network_is_told_by_the_call_or_by_its_action():
    desk = Desk()
    inside = desk.cloud.add_network("inside")
    desk.cloud.fill_network(inside, 0)
    assert code(desk.create(networks=[inside])) == (409, "ip_not_available")
    desk.cloud.fill_network(inside, 0, by_action=True)
    reply = desk.create(networks=[inside])
    assert reply.status == 201
    desk.wait(60)
    actions = desk.actions(*(each["id"] for each in reply.body["next_actions"]))
    assert actions["attach_to_network"]["error"]["code"] == "ip_not_available"
    assert actions["start_server"]["status"] == "error", "what comes after it fails, too"
    assert desk.server(reply.body["server"]["id"])["status"] != "running"
    desk.cloud.fill_network(inside, None)
    assert desk.create("b", networks=[inside]).status == 201
