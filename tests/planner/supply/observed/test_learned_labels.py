"""Labels of CSI drivers on machines to come, learned from Nodes. Source: Kubernetes CSI docs, CSI Topology Feature."""

from decimal import Decimal

import pytest
from hypothesis import given as drawn_from
from hypothesis import strategies as st

from api.v1alpha1.node_pool import ClassRef
from planner.model.node_class import NodeClass
from planner.objects.kinds import Node
from planner.objects.offering import Offering
from planner.parsing.objects import parse_objects
from planner.plan import plan
from planner.supply.machine_kind import kinds_of_pools
from planner.supply.node_template import deviations
from planner.supply.observed.learned import with_learned_labels
from tests.builders import Json, before, claim, csi_node, node, node_request, pod, storage_class, volume
from tests.planner import lookups, peers
from tests.planner.checker import violations
from tests.planner.packing.domains.rows import at, by_zone, codes, places, planned, scene
from tests.planner.scenes import Scene
from tests.planner.wishes import ZONE, using
from tests.searching import searching

REGION = "topology.kubernetes.io/region"
KEY = "csi.hetzner.cloud/location"
IN_FSN1 = {REGION: "fsn1", ZONE: "fsn1-dc14"}


def seen(
    value: str | None, labels: dict[str, str] | None = None, kind: str = "cx22", *, keys: tuple[str, ...] = (KEY,)
):
    told = {} if value is None else {KEY: value}
    given = {**(IN_FSN1 if labels is None else labels), **told, "growth.dev/server-type": kind}
    return Node("n", "u", {}, labels={"kubernetes.io/hostname": "host-n", **given}, topology_keys=frozenset(keys))


def learned(*nodes: Node, labels: dict[str, str] | None = None) -> dict[str, str]:
    """Return what a cx22 in fsn1 is expected to have beyond what its offering states."""
    states = IN_FSN1 if labels is None else labels
    offering = Offering("CX22", "fsn1", Decimal("0.01"), "EUR", {}, labels=states)
    [found] = with_learned_labels([NodeClass(ClassRef(name="default"), (offering,))], nodes)
    return {k: v for k, v in found.offerings[0].labels.items() if states.get(k) != v}


@pytest.mark.parametrize(
    ("nodes", "value"),
    [
        ([], None),
        ([seen("fsn1")], "fsn1"),
        ([seen("fsn1"), seen("fsn1"), seen("fsn1", kind="cx42")], "fsn1"),
        ([seen("fsn1"), seen("elsewhere")], None),
        ([seen("hel1", {REGION: "hel1", ZONE: "hel1-dc2"})], None),
        ([seen("hel1", {REGION: "hel1", ZONE: "hel1-dc2"}), seen("fsn1")], "fsn1"),
        ([seen("dc15", {REGION: "fsn1", ZONE: "fsn1-dc15"})], None),
        ([seen("fsn1", kind="cx42")], "fsn1"),
        ([seen("fsn1"), seen("robot", kind="ax41")], "fsn1"),
        ([seen("a", kind="ax41"), seen("b", kind="cx42")], None),
        ([seen("fsn1"), seen("other"), seen("fsn1", kind="cx42")], None),
        ([seen("fsn1", keys=())], None),
        ([seen("fsn1", keys=("csi.other.example/zone",))], None),
        ([seen(None)], None),
        ([seen(None), seen("fsn1")], "fsn1"),
        ([seen("n")], None),
        ([seen("host-n")], None),
        ([seen("fsn1", {REGION: "fsn1"})], "fsn1"),
        ([seen("fsn1", {ZONE: "fsn1-dc14"})], "fsn1"),
        ([seen("fsn1", {})], None),
    ],
    ids=[
        "no Node",
        "one",
        "several that agree",
        "two that differ",
        "another location",
        "another location does not matter",
        "another zone of the region",
        "another type alone",
        "its own type before others",
        "other types that differ",
        "its own type differs, though others agree",
        "no CSINode",
        "a driver with another key",
        "a key without a label yet",
        "one without a label yet does not matter",
        "a value that names the Node",
        "a value that names its host",
        "a Node that tells its region only",
        "a Node that tells its zone only",
        "a Node that does not tell where it is",
    ],
)
def test_what_is_learned(nodes, value):
    assert learned(*nodes) == ({} if value is None else {KEY: value})


def test_an_offering_that_does_not_tell_where_it_is_learns_nothing():
    assert learned(seen("fsn1"), labels={"kubernetes.io/arch": "amd64"}) == {}


def test_what_an_offering_states_stays():
    assert learned(seen("fsn1"), labels={**IN_FSN1, KEY: "stated"}) == {}


def test_a_node_of_no_pool_is_told_by_its_instance_type():
    foreign = seen("fsn1", {**IN_FSN1, "node.kubernetes.io/instance-type": "cx22"}, kind="")
    assert learned(foreign, seen("robot", kind="ax41")) == {KEY: "fsn1"}


def full(name: str, zone: str, **changes):
    return at(name, zone, labels={KEY: zone}, annotations={"growth.dev/do-not-remove": "x"}, **changes)


def tied(*zones: str) -> Scene:
    """Return a pod on a volume in fsn1, and a full node in each of these zones, on which the driver has registered."""
    return scene(
        using(pod("a", "500m"), "disk"),
        *(pod(f"load-{zone}", "2", node=f"n-{zone}") for zone in zones),
        nodes=[full(f"n-{zone}", zone) for zone in zones],
        csi_nodes=[csi_node(f"n-{zone}", 16, keys=(KEY,)) for zone in zones],
        claims=[claim("disk", "v")],
        volumes=[volume("v", zone="fsn1", key=KEY)],
        storage_classes=[storage_class()],
    )


def test_a_pod_goes_where_its_volume_can_be_used_by_its_drivers_label():
    assert by_zone(planned(tied("fsn1"))) == {"fsn1": 1}
    assert by_zone(planned(tied("fsn1", "hel1", "nbg1"))) == {"fsn1": 1}


def test_where_no_node_shows_the_label_nothing_is_bought_and_the_reason_says_so():
    made = planned(tied("hel1"))
    assert codes(made) == {"a": "VolumeElsewhere"}
    assert made.unplaced[0].reasons[0].message == (
        "a volume of the pod can only be used where csi.hetzner.cloud/location In fsn1; "
        "which csi.hetzner.cloud/location machines in fsn1, nbg1 have is not known from any Node"
    )


def test_a_volume_is_made_where_its_class_allows_by_the_drivers_label():
    given = tied("fsn1", "hel1")
    given.claims, given.volumes = [claim("disk")], []
    given.storage_classes = [storage_class("waits", "hel1", "nbg1", key=KEY)]
    assert by_zone(planned(given)) == {"hel1": 1}


def test_a_coming_machine_will_have_the_label_too():
    given = tied("fsn1")
    given.requests = [node_request("coming", createAttemptAt=before(seconds=2))]
    assert places(planned(given)) == {"a": "coming"}
    # Its Node is there, and the driver has not registered on it yet.
    given.nodes.append(at("coming", "fsn1", ready=False))
    given.requests = [node_request("coming", phase="Provisioning")]
    made = planned(given)
    assert (places(made), made.requests) == ({"a": "coming"}, ())


def test_a_machine_that_is_ready_a_moment_ago_gets_the_label_soon():
    given = tied("fsn1")
    given.nodes.append(node("new"))
    given.requests = [node_request("new", phase="Ready", readyAt=before(seconds=9), releasedAt=before(seconds=9))]
    # The scheduler at this very moment would not bind it yet: only the checker judges.
    made = plan(given.snapshot())
    assert violations(given, made) == []
    assert (places(made), made.requests) == ({"a": "new"}, ())
    given.requests = [node_request("new", phase="Ready", readyAt=before(seconds=11), releasedAt=before(seconds=9))]
    assert by_zone(planned(given)) == {"fsn1": 1}


def test_a_look_at_a_node_that_has_joined_does_not_miss_what_was_only_learned():
    snapshot = tied("fsn1").snapshot()
    offers = kinds_of_pools(snapshot)["default"].kinds
    assert {kind.labels.get(KEY) for kind in offers if kind.offering.location == "fsn1"} == {"fsn1"}
    offering = next(o for o in snapshot.classes[0].offerings if (o.server_type, o.location) == ("cx22", "fsn1"))
    [joined] = parse_objects(nodes=[at("new", "fsn1")]).nodes
    assert deviations(joined, snapshot.pools[0], offering).labels == ()


@st.composite
def nodes_and_drivers(draw: st.DrawFn) -> tuple[list[Json], list[Json]]:
    nodes: list[Json] = []
    csi_nodes: list[Json] = []
    for k in range(draw(st.integers(0, 5))):
        made = node(f"n{k}", draw(st.sampled_from(["cx22", "cx42"])), pool=draw(st.sampled_from([None, "default"])))
        labels = made["metadata"]["labels"]
        for label in (REGION, ZONE):
            labels[label] = draw(st.sampled_from(["fsn1", "fsn1", "fsn1", "hel1", ""]))
            if not labels[label]:
                del labels[label]
        for key in (KEY, "other.example/zone"):
            if draw(st.integers(0, 3)):
                labels[key] = draw(st.sampled_from(["fsn1", "fsn1", "robot", "", f"n{k}"]))
        nodes.append(made)
        keys = draw(st.lists(st.sampled_from([KEY, "other.example/zone"]), unique=True))
        csi_nodes.append(csi_node(f"n{k}", 16, keys=tuple(keys)))
    return nodes, draw(st.lists(st.sampled_from(csi_nodes), unique_by=id)) if csi_nodes else []


@searching(200)
@drawn_from(nodes_and_drivers())
def test_the_checker_learns_the_same(drawn: tuple[list[Json], list[Json]]):
    nodes, csi_nodes = drawn
    given = scene(nodes=nodes, csi_nodes=csi_nodes, zones=("fsn1",), types=("cx22",))
    [kind] = kinds_of_pools(given.snapshot())["default"].kinds
    states = dict(kind.labels) | {"growth.dev/server-type": "cx22"}
    agreed, _ = peers.agreed(states, nodes, csi_nodes, given.now)
    ours = {key: value for key, value in agreed.items() if key in (KEY, "other.example/zone")}
    expected = ours | lookups.learned(states, {n["metadata"]["name"]: n for n in nodes}, csi_nodes)
    assert {key: kind.labels.get(key) for key in (KEY, "other.example/zone") if key in kind.labels} == expected


@pytest.mark.parametrize(
    ("zones", "expected"),
    [
        ([], {}),
        (["fsn1-dc14"], {ZONE: "fsn1-dc14"}),
        (["fsn1-dc14", "fsn1-dc14"], {ZONE: "fsn1-dc14"}),
        (["fsn1-dc14", "fsn1-dc15"], {}),
    ],
)
def test_a_zone_that_no_class_states_is_learned_where_the_nodes_of_a_region_agree(zones, expected):
    nodes = [seen(None, {REGION: "fsn1", ZONE: zone}, keys=()) for zone in zones]
    assert learned(*nodes, labels={REGION: "fsn1"}) == expected
