"""`growth catalogue`: what can be bought and at what price, from files and from a cluster, and that it only reads."""

import asyncio
import json
import sys
from decimal import Decimal
from io import StringIO

import pytest
import yaml
from rich.console import Console

from activities.kube.client import KubeCluster
from activities.providers.built_in import HETZNER_NODE_CLASSES
from activities.providers.hetzner.classes.catalogue import refusal
from api.model import read
from api.v1alpha1.hetzner_node_class import HetznerNodeClass
from api.v1alpha1.kwok_node_class import KwokNodeClass
from api.v1alpha1.node_pool import NodePool
from tests.builders import NOW, after, before, kwok_node_class, server_type
from tests.planner.scenes import Scene, scene
from tests.worker.hetzner_dump import KEYS, READY, dump, hetzner_class, hetzner_pool
from tests.worker.looking import LookedAt
from worker import cli
from worker.commands.catalogue import command as catalogue_command
from worker.commands.catalogue.catalogue import Catalogue, Standing, catalogue_of
from worker.commands.catalogue.command import catalogue
from worker.commands.catalogue.table import print_catalogues
from worker.errors import USAGE_ERROR, CommandError

MISSED = {
    "serverType": "cx33",
    "location": "fsn1",
    "failures": 1,
    "lastFailureAt": before(minutes=1),
    "until": after(minutes=5),
}
LEARNED = {"serverType": "cx23", "image": "101", "allocatable": {"memory": "3651Mi"}, "lastSeenAt": before(minutes=9)}
POOLS = (hetzner_pool(), hetzner_pool("ci", ("CX23",)))
TABLE = """\
HetznerNodeClass/default  EUR; net, with a public IPv4 address; read at 11:58:00 (2m ago)
SSHKeyNotFound: ops does not exist

type   arch    vCPU  memory  disk  location  per hour  per month  available                for pods   pools
cpx11  amd64      2     2Gi   40G  fsn1        0.0078       4.85  withdrawn on 2026-02-20  2, 1.8Gi   -
cx23   amd64      2     4Gi   40G  fsn1        0.0096       5.99  yes                      2, 3.6Gi*  ci, default
cx23   amd64      2     4Gi   40G  hel1        0.0096       5.99  sold out, says Hetzner   2, 3.6Gi*  ci, default
cax11  arm64      2     4Gi   40G  fsn1        0.0104       6.49  yes                      2, 3.6Gi   default
cx33   amd64      4     8Gi   80G  fsn1        0.0144       8.99  unmet until 12:05:00     4, 7.3Gi   default
cpx22  amd64      2     4Gi   80G  fsn1        0.0320      19.99  yes, until 2026-03-31    2, 3.6Gi   -
ccx13  amd64  2 ded     8Gi   80G  fsn1        0.0697      43.49  yes                      2, 7.3Gi   default
cpx32  amd64      4     8Gi  160G  fsn1       unknown          -  not without a price      -          -
* the least that a Node of it turned out to have
What Hetzner says is sold out can often be had: one machine is tried first.
The class does not buy in ash: its locations or networks keep that out.
"""


def listed(item=None, *, pools=POOLS) -> Catalogue:
    """Return the catalogue of a class as it is at noon."""
    item = item or hetzner_class()
    model = HetznerNodeClass if item["kind"] == "HetznerNodeClass" else KwokNodeClass
    return catalogue_of(read(model, item), [read(NodePool, pool) for pool in pools], NOW)


def drawn(*catalogues: Catalogue, **options) -> str:
    console = Console(file=StringIO(), highlight=False, markup=False, **options)
    print_catalogues(catalogues, NOW, console)
    return console.file.getvalue()


def row(found: Catalogue, name: str, location: str = "fsn1"):
    (one,) = (each for each in found.rows if (each.server_type, each.location) == (name, location))
    return one


@pytest.fixture
def files(tmp_path):
    """Return a function that writes objects as a dump, and returns the file."""

    def written(*objects):
        path = tmp_path / "dump.yaml"
        path.write_text(dump(*objects))
        return (str(path),)

    return written


BUSY = hetzner_class(conditions=[READY, KEYS], unavailable=[MISSED], learned=[LEARNED])


def test_the_table():
    assert drawn(listed(BUSY)) == TABLE


@pytest.mark.parametrize("width", [120, 80])
def test_no_terminal_folds_a_cell_and_120_columns_hold_a_line(width):
    text = drawn(listed(BUSY), width=width, force_terminal=True, color_system=None)
    assert [line.rstrip() for line in text.splitlines()] == TABLE.splitlines()
    assert max(map(len, text.splitlines())) <= 120


def test_a_price_is_the_server_s_and_its_address_s():
    """Source: tests/worker/hetzner_dump.py: cx23 0.0088 and 5.49, an IPv4 address 0.0008 and 0.50."""
    with_address = row(listed(), "cx23")
    assert (with_address.price_per_hour, with_address.price_per_month) == (Decimal("0.0096"), Decimal("5.99"))
    alone = listed(hetzner_class(spec={"enableIPv4": False}))
    assert (row(alone, "cx23").price_per_hour, row(alone, "cx23").price_per_month) == (
        Decimal("0.0088"),
        Decimal("5.49"),
    )
    assert "net, without a public IPv4 address" in drawn(alone)


def test_what_is_not_wholly_priced_is_unknown_and_last():
    found = listed(hetzner_class(ipv4=[{"location": "hel1", "pricePerHour": "0.0008", "pricePerMonth": "0.50"}]))
    assert [(one.server_type, one.location) for one in found.rows if one.price_per_hour is not None] == [
        ("cx23", "hel1")
    ]
    assert found.rows[0].location == "hel1"
    assert {one.standing for one in found.rows[1:]} == {Standing.NO_PRICE}
    assert all(one.price_per_month is None for one in found.rows[1:])


def test_a_class_that_is_not_ready_shows_its_prices_and_why_nothing_is_bought():
    broken = {
        **READY,
        "status": "False",
        "reason": "FirewallNotFound",
        "message": "spec.firewalls[0]: no such firewall",
    }
    text = drawn(listed(hetzner_class(conditions=[broken])))
    assert "Nothing of it is bought: HetznerNodeClass default: spec.firewalls[0]: no such firewall\n" in text
    assert text.count("no such firewall") == 1
    assert "cx23   amd64      2     4Gi   40G  fsn1        0.0096       5.99  yes" in text


def test_a_pause_is_told_with_what_the_provider_said_until_it_is_over():
    pause = {"message": "server limit exceeded", "failures": 1, "lastFailureAt": before(minutes=1)}
    told = "Nothing of it is bought until 12:04:00 (in 4m): server limit exceeded\n"
    assert told in drawn(listed(hetzner_class(pause={**pause, "until": after(minutes=4)})))
    assert "limit" not in drawn(listed(hetzner_class(pause={**pause, "until": before(seconds=1)})))


def test_what_a_part_of_the_class_is_refused_is_told_and_shows_in_its_rows():
    part = {"limit": "type cx23", "serverTypes": ["cx23"], "message": "cx23 limit exceeded", "failures": 1}
    times = {"lastFailureAt": before(minutes=1), "until": after(minutes=4)}
    text = drawn(listed(hetzner_class(partialPauses=[part | times])))
    assert "Refused type cx23 until 12:04:00 (in 4m): cx23 limit exceeded\n" in text
    assert "unmet until 12:04:00" in next(line for line in text.splitlines() if line.startswith("cx23"))
    assert "unmet" not in "".join(line for line in text.splitlines() if line.startswith("cx33"))
    assert "limit" not in drawn(listed(hetzner_class(partialPauses=[part | times | {"until": before(seconds=1)}])))


def test_a_miss_that_is_over_is_not_told():
    found = listed(hetzner_class(unavailable=[{**MISSED, "until": before(seconds=1)}]))
    assert row(found, "cx33").standing is Standing.AVAILABLE


def test_an_architecture_without_an_image_is_told():
    images = {"images": [{"architecture": "amd64", "id": 101}]}
    arm = row(listed(hetzner_class(resolved=images)), "cax11")
    assert (arm.standing, arm.price_per_hour, arm.allocatable) == (Standing.NO_IMAGE, Decimal("0.0104"), None)
    assert "no image for arm64" in drawn(listed(hetzner_class(resolved=images)))


def test_prices_that_nobody_has_read_are_told_as_such():
    text = drawn(listed(hetzner_class(readAt=None, serverTypes=None, currency=None, conditions=None)))
    assert text == (
        "HetznerNodeClass/default  prices not read yet\n"
        "Nothing of it is bought: HetznerNodeClass default: its prices have not been read yet\n"
    )


def test_a_simulated_class_is_told_alike():
    disk = {"capacity": {"cpu": "2", "memory": "4Gi", "ephemeral-storage": "40G"}, "overhead": {"memory": "512Mi"}}
    item = kwok_node_class(server_type("cx42"), server_type("cx22", **disk), server_type("cx32", sold_out=True))
    text = drawn(listed(item, pools=()))
    assert text == (
        "KwokNodeClass/default  EUR\n\n"
        "type  arch   vCPU  memory  disk  location  per hour  per month  available  for pods  pools\n"
        "cx22  amd64     2     4Gi   40G  fsn1        0.0066          -  yes        2, 3.5Gi  -\n"
        "cx32  amd64     4     8Gi     -  fsn1        0.0106          -  sold out   4, 8Gi    -\n"
        "cx42  amd64     8    16Gi     -  fsn1        0.0170          -  yes        8, 16Gi   -\n"
    )


def test_pools_are_those_of_this_class_that_are_not_being_deleted():
    going = hetzner_pool("going")
    going["metadata"] |= {"deletionTimestamp": before(minutes=1), "finalizers": ["growth.dev/pool"]}
    others = hetzner_pool("others")
    others["spec"]["template"]["classRef"] = {"kind": "KwokNodeClass", "name": "default"}
    assert row(listed(pools=(*POOLS, going, others)), "cx23").pools == ("ci", "default")


def test_pools_are_those_that_may_buy_the_type_in_the_location():
    shared = {"requirements": [{"key": "dedicated", "operator": "In", "values": ["false"]}]}
    cheap = {"requirements": [{"key": "price", "operator": "Lte", "values": ["0.0104"]}], "locations": ["fsn1"]}
    pools = [
        hetzner_pool("pattern", ({"pattern": "C?X*"},)),
        hetzner_pool("shared", (shared,), locations=["hel1"]),
        hetzner_pool("cheap", (cheap, "ccx13")),
    ]
    found = listed(pools=pools)
    assert {f"{one.server_type} {one.location}": one.pools for one in found.rows} == {
        "cpx11 fsn1": ("cheap", "pattern"),
        "cx23 fsn1": ("cheap",),
        "cx23 hel1": ("shared",),
        "cax11 fsn1": ("cheap", "pattern"),
        "cx33 fsn1": (),
        "cpx22 fsn1": ("pattern",),
        "ccx13 fsn1": ("cheap", "pattern"),
        "cpx32 fsn1": ("pattern",),
    }


@pytest.mark.parametrize("output", ["json", "yaml"])
def test_data(capsys, files, output):
    assert catalogue(file=files(hetzner_class(), *POOLS), server_type="CX23", location="fsn1", output=output) == 0
    found = yaml.safe_load(capsys.readouterr().out)
    assert found["apiVersion"] == "growth.dev/v1alpha1"
    (one,) = found["classes"]
    (offering,) = one.pop("offerings")
    assert one == {
        "kind": "HetznerNodeClass",
        "name": "default",
        "currency": "EUR",
        "ipv4Included": True,
        "readAt": before(minutes=2),
        "problem": None,
        "pause": None,
        "refused": [],
        "conditions": [],
        "elsewhere": ["ash"],
    }
    # 92.5 % of 4 GiB less 100 Mi; 94 % of 40 GB less a tenth. Source: activities/providers/hetzner/classes/kubelet.py.
    amounts = {"cpu": "2000m", "memory": str(4 * 2**30 * 925 // 1000 - 100 * 2**20), "pods": "110"}
    assert {**offering, "allocatable": {name: offering["allocatable"][name] for name in amounts}} == {
        "serverType": "cx23",
        "location": "fsn1",
        "architecture": "amd64",
        "cpu": "2000m",
        "memory": str(4 * 2**30),
        "disk": str(40 * 10**9),
        "dedicated": False,
        "pricePerHour": "0.0096",
        "pricePerMonth": "5.99",
        "standing": "Available",
        "at": None,
        "allocatable": amounts,
        "learned": [],
        "pools": ["ci", "default"],
    }


def test_json_is_json(capsys, files):
    assert catalogue(file=files(hetzner_class()), output="json") == 0
    assert len(json.loads(capsys.readouterr().out)["classes"][0]["offerings"]) == 8


def test_one_class_of_several(capsys, files):
    given = files(hetzner_class(), kwok_node_class(), hetzner_class("other"))
    for wanted, kinds in (
        ("default", ["KwokNodeClass/default", "HetznerNodeClass/default"]),
        ("HetznerNodeClass/default", ["HetznerNodeClass/default"]),
        (None, ["KwokNodeClass/default", "HetznerNodeClass/default", "HetznerNodeClass/other"]),
    ):
        assert catalogue(file=given, node_class=wanted, output="json") == 0
        classes = json.loads(capsys.readouterr().out)["classes"]
        assert [f"{one['kind']}/{one['name']}" for one in classes] == kinds


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (
            {"node_class": "prod"},
            "--class prod: there is no such class: there are KwokNodeClass/default, HetznerNodeClass/default",
        ),
        (
            {"server_type": "cax11", "location": "hel1"},
            "--type cax11 --location hel1: it is not offered there, but in fsn1",
        ),
        ({"location": "nbg1"}, "--location nbg1: nothing is offered there, but in fsn1, hel1"),
        (
            {"server_type": "cx99"},
            "--type cx99: no class offers it; `growth catalogue` without it tells of all that there is",
        ),
        (
            {"server_type": "GEX44"},
            f"--type GEX44: {refusal('gex44')}",
        ),
    ],
)
def test_what_is_not_there_is_one_line(files, options, told):
    with pytest.raises(CommandError) as refused:
        catalogue(file=files(hetzner_class(), kwok_node_class()), **options)
    assert (refused.value.code, str(refused.value)) == (USAGE_ERROR, told)


def test_files_without_a_class_are_one_line(files):
    with pytest.raises(CommandError, match=r"^no file holds a node class: `kubectl get kwoknodeclasses,hetzner") as no:
        catalogue(file=files(*POOLS[:1]))
    assert no.value.code == USAGE_ERROR


def test_a_class_by_hand_is_told_how_it_comes_to_prices(capsys, files):
    by_hand = hetzner_class()
    del by_hand["status"]
    assert catalogue(file=files(by_hand)) == 0
    assert capsys.readouterr().err == (
        "growth: HetznerNodeClass/default: its prices have not been read yet: dump it from a cluster where Growth runs "
        "(`kubectl get hetznernodeclasses -o yaml`), for they stand in its status\n"
    )


@pytest.fixture
def cluster(monkeypatch):
    """A cluster in memory in the place of the one that a kubeconfig names, and the lists that were asked for."""
    made = LookedAt(lambda: NOW)

    async def connect(*_given, **_options):
        return made

    monkeypatch.setattr(KubeCluster, "connect", connect)
    return made


async def test_a_cluster_is_only_read(cluster):
    await cluster.fill(scene(pools=list(POOLS)), (HETZNER_NODE_CLASSES, BUSY))
    classes, pools = await catalogue_command._of_cluster(None, None)
    assert cluster.is_closed
    found = catalogue_command.chosen(classes, pools, catalogue_command.CatalogueQuery("HetznerNodeClass/default"), NOW)
    assert drawn(*found) == TABLE


async def test_a_class_that_cannot_be_read_does_not_hide_the_others(cluster, capsys):
    broken = hetzner_class("broken", spec={"image": {}})
    await cluster.fill(Scene(classes=[kwok_node_class()]), (HETZNER_NODE_CLASSES, broken))
    classes, _ = await catalogue_command._of_cluster(None, None)
    assert [one.metadata.name for one in classes] == ["default"]
    assert capsys.readouterr().err.startswith("growth: left out: HetznerNodeClass broken: spec.image: ")


def test_a_cluster_without_a_class_is_one_line(cluster, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["growth", "catalogue"])
    asyncio.run(cluster.fill(Scene()))
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 1
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith(
        "growth: there is no node class, so nothing can be bought: `kubectl explain kwoknodeclasses.gr"
    )
    assert "`kubectl explain hetznernodeclasses.growth.dev.spec` tell what one needs" in err
