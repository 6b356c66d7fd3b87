"""What the real client makes of the answers, over HTTP and in process."""

from decimal import Decimal

import hcloud
import pytest
import requests
from hcloud.firewalls import Firewall
from hcloud.images import Image
from hcloud.locations import Location
from hcloud.networks import Network
from hcloud.server_types import ServerType
from hcloud.servers import ServerCreatePublicNetwork
from hcloud.ssh_keys import SSHKey

from simulator.hetzner.faults import Fault
from simulator.hetzner.http import InProcess, serve
from tests.simulator.hetzner.desk import START, TOKEN, Desk, code


@pytest.fixture
def desk():
    return Desk()


@pytest.fixture(params=["in process", "http"])
def client(request, desk):
    if request.param == "http":
        with serve(desk.cloud) as endpoint:
            yield connect(endpoint)
    else:
        client = connect("https://api.example/v1")
        client._client._session.mount("https://", InProcess(desk.cloud))
        yield client


def connect(endpoint, timeout=10):
    client = hcloud.Client(TOKEN, api_endpoint=endpoint, timeout=timeout)
    client._client._retry_max_retries = 0
    return client


def create(client, name="one", **fields):
    return client.servers.create(
        name,
        ServerType(name="cx23"),
        fields.pop("image", Image(name="debian-12")),
        location=Location(name="fsn1"),
        **fields,
    )


def test_a_server_with_everything_is_read_by_the_client(desk, client):
    network, firewall = desk.cloud.add_network("inner"), desk.cloud.add_firewall("wall")
    key = desk.cloud.add_ssh_key("mine")
    group = client.placement_groups.create("g", "spread", labels={"a": "b"}).placement_group
    made = create(
        client,
        networks=[Network(id=network)],
        firewalls=[Firewall(id=firewall)],
        ssh_keys=[SSHKey(id=key)],
        placement_group=group,
        labels={"pool": "a"},
        user_data="#!/bin/sh\n",
        public_net=ServerCreatePublicNetwork(enable_ipv4=False, enable_ipv6=True),
    )
    assert made.root_password is None
    assert made.action.command == "create_server"
    assert [each.command for each in made.next_actions] == ["attach_to_network", "start_server"]
    assert made.server.status == "initializing"
    assert made.server.private_net == []
    desk.wait(60)
    server = client.servers.get_by_id(made.server.id)
    assert (server.name, server.status, server.labels, server.created) == ("one", "running", {"pool": "a"}, START)
    assert (server.server_type.name, server.server_type.memory) == ("cx23", 4.0)
    assert (server.location.name, server.location.network_zone) == ("fsn1", "eu-central")
    assert server.image.name == "debian-12"
    assert server.placement_group.servers == [server.id]
    assert (server.private_net[0].network.id, server.private_net[0].ip) == (network, "10.0.1.2")
    assert server.public_net.ipv4 is None
    assert server.public_net.ipv6.ip.endswith("::/64")
    assert server.public_net.firewalls[0].firewall.id == firewall
    assert server.protection == {"delete": False, "rebuild": False}
    assert made.action.data_model.resources == [{"id": server.id, "type": "server"}]
    made.action.reload()
    assert (made.action.status, made.action.progress, made.action.error) == ("success", 100, None)


def test_a_server_is_changed_by_the_client_until_it_is_gone(desk, client):
    server = create(client).server
    desk.wait(60)
    assert client.servers.update(server, labels={"x": "y"}).labels == {"x": "y"}
    assert client.servers.get_by_name("one").labels == {"x": "y"}
    assert server.power_off().command == "stop_server"
    desk.wait(10)
    assert client.servers.get_by_id(server.id).status == "off"
    assert server.power_on().command == "start_server"
    desk.wait(10)
    network = desk.cloud.add_network("inner")
    assert server.attach_to_network(Network(id=network), ip_range="10.0.1.0/24").command == "attach_to_network"
    desk.wait(10)
    action = server.delete()
    assert (action.command, action.status) == ("delete_server", "running")
    assert client.servers.get_by_id(server.id).status == "deleting"
    desk.wait(10)
    assert client.servers.get_all() == []
    with pytest.raises(hcloud.APIException) as caught:
        client.servers.get_by_id(server.id)
    assert caught.value.code == "not_found"


def test_the_catalogue_is_read_by_the_client(client):
    types = {each.name: each for each in client.server_types.get_all()}
    assert len(types) == 25
    cx23 = types["cx23"]
    assert (cx23.cores, cx23.memory, cx23.disk, cx23.architecture, cx23.cpu_type) == (2, 4.0, 40, "x86", "shared")
    assert [each.location.name for each in cx23.locations] == ["fsn1", "nbg1", "hel1"]
    assert [(each.available, each.deprecation) for each in cx23.locations] == [(True, None)] * 3
    price = next(each for each in cx23.prices if each["location"] == "fsn1")
    assert price["price_hourly"] == {"net": "0.0088000000", "gross": "0.0104720000000000"}
    assert price["price_monthly"]["net"] == "5.4900000000"
    assert types["ccx13"].cpu_type == "dedicated"
    assert [each.location.name for each in types["cpx11"].locations] == ["ash", "hil"]
    assert types["cax11"].architecture == "arm"
    assert {each.name: each.network_zone for each in client.locations.get_all()} == {
        "fsn1": "eu-central",
        "nbg1": "eu-central",
        "hel1": "eu-central",
        "ash": "us-east",
        "hil": "us-west",
        "sin": "ap-southeast",
    }


def test_prices_are_strings_of_decimals(client):
    pricing = client.request("GET", "/pricing")["pricing"]
    assert pricing["currency"] == "EUR"
    ipv4 = next(each for each in pricing["primary_ips"] if each["type"] == "ipv4")
    fsn1 = next(each for each in ipv4["prices"] if each["location"] == "fsn1")
    assert Decimal(fsn1["price_hourly"]["net"]) == Decimal("0.0008")
    assert Decimal(fsn1["price_monthly"]["net"]) == Decimal("0.50")
    # Hourly prices are a 624th of monthly ones: the cap of a month.
    for each in pricing["server_types"]:
        for price in each["prices"]:
            hour, month = (Decimal(price[key]["net"]) for key in ("price_hourly", "price_monthly"))
            assert abs(month / 624 - hour) <= Decimal("0.0001"), (each["name"], price["location"])


def test_what_a_person_has_put_there_is_read_by_the_client(desk, client):
    desk.cloud.add_network("inner", subnets=[("10.0.1.0/24", "eu-central"), ("10.0.2.0/24", "us-east")])
    desk.cloud.add_firewall("wall")
    desk.cloud.add_ssh_key("mine")
    snapshot = desk.cloud.add_image(architecture="arm", description="golden", labels={"role": "worker"})
    network = client.networks.get_by_name("inner")
    assert [(each.ip_range, each.network_zone) for each in network.subnets] == [
        ("10.0.1.0/24", "eu-central"),
        ("10.0.2.0/24", "us-east"),
    ]
    assert client.firewalls.get_by_name("wall").rules == []
    assert client.ssh_keys.get_by_name("mine").public_key.startswith("ssh-ed25519 ")
    (found,) = client.images.get_all(label_selector="role=worker", architecture=["arm"])
    assert (found.id, found.name, found.description, found.type) == (snapshot, None, "golden", "snapshot")
    assert client.images.get_by_name_and_architecture("debian-12", "arm").architecture == "arm"


def test_more_than_a_page_is_read_page_by_page(desk, client):
    for number in range(60):
        desk.made(f"s{number}")
    before = desk.cloud.count("list_servers")
    assert len(client.servers.get_all()) == 60
    assert desk.cloud.count("list_servers") - before == 2


def test_several_actions_are_read_in_one_call(desk, client):
    made = create(client)
    ids = [made.action.id, made.next_actions[0].id]
    desk.wait(31)
    found = client.request("GET", "/actions", params={"id": ids})["actions"]
    assert [(each["id"], each["status"]) for each in found] == [(ids[0], "success"), (ids[1], "running")]


def test_errors_reach_the_client_with_code_and_details(client):
    with pytest.raises(hcloud.APIException) as caught:
        create(client, image=Image(name="nosuch"))
    assert caught.value.code == "invalid_input"
    assert caught.value.details["fields"][0]["name"] == "image"


def test_a_gateways_error_has_no_body(desk, client):
    desk.cloud.faults.append(Fault("list_servers", "error", status=502))
    with pytest.raises(hcloud.APIException) as caught:
        client.servers.get_all()
    assert caught.value.code == 502


def test_a_lost_answer_is_an_error_of_the_connection(desk, client):
    desk.cloud.faults.append(Fault("create_server", "lost_reply"))
    with pytest.raises((requests.exceptions.ConnectionError, requests.exceptions.ReadTimeout)):
        create(client)
    assert [each.name for each in client.servers.get_all()] == ["one"]


def test_a_placement_group_is_deleted_without_a_body(client):
    group = client.placement_groups.create("g", "spread").placement_group
    assert client.placement_groups.delete(group) is True
    assert client.placement_groups.get_all() == []


def test_rate_limit_headers_are_on_answers(desk, client):
    seen = []
    client._client._session.hooks["response"].append(lambda response, **_: seen.append(response.headers))
    client.servers.get_all()
    assert seen[0]["RateLimit-Limit"] == "3600"
    assert seen[0]["RateLimit-Remaining"] == "3599"
    assert int(seen[0]["RateLimit-Reset"]) == int(START.timestamp()) + 1


def test_a_hanging_answer_keeps_the_client_until_it_gives_up():
    desk = Desk()
    desk.cloud.faults.append(Fault("list_servers", "lost_reply", hangs=True))
    with serve(desk.cloud) as endpoint:
        with pytest.raises(requests.exceptions.ReadTimeout):
            connect(endpoint, timeout=0.2).servers.get_all()
        assert connect(endpoint).servers.get_all() == []


def test_datacenters_are_gone(desk):
    assert code(desk.call("GET", "/datacenters")) == (410, "deprecated_api_endpoint")
    number = desk.made()
    assert "datacenter" not in desk.server(number)
