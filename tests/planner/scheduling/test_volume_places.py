"""Where volumes allow pods to be: bound ones, zones, what blocks a pod, and what counts against a node's limit."""

from typing import Any

import pytest

from planner.objects.kinds import Pod
from planner.objects.predicates import selects
from planner.parsing.objects import parse_objects, parse_pod
from planner.scheduling.volume_places import resolve
from tests.builders import DRIVER, before, claim, differing, pod, storage_class, volume
from tests.planner.wishes import ZONE, own_disk, using

Json = dict[str, Any]
REGION = "topology.kubernetes.io/region"
OLD_ZONE = "failure-domain.beta.kubernetes.io/zone"
MODE_ONE = "ReadWriteOncePod"
UNREADABLE: Json = {"spec": {"accessModes": 3}}


def resolved(*pods: Json, claims: tuple = (), volumes: tuple = (), classes: tuple = (storage_class(),)) -> tuple:
    stored = parse_objects(claims=claims, volumes=volumes, storage_classes=classes)
    assert stored.problems == ()
    return resolve([parse_pod(p) for p in pods], stored.volumes)


def one(*claims: Json, volumes: tuple = (), classes: tuple = (storage_class(),)) -> Pod:
    """Return a pod that uses all these claims."""
    web = using(pod("web"), *(c["metadata"]["name"] for c in claims))
    return resolved(web, claims=claims, volumes=volumes, classes=classes)[0]


def may_be(made: Pod, labels: dict[str, str]) -> bool:
    return all(any(selects(term, labels) for term in terms) for terms in made.volume_terms)


def test_pods_without_claims_stay_as_they_are():
    plain = parse_pod(pod("a"))
    assert resolve([plain], parse_objects().volumes) == (plain,)
    with_claim, still_plain = resolved(using(pod("b"), "data"), pod("a"), claims=(claim("data"),))
    assert still_plain == plain
    assert with_claim != parse_pod(using(pod("b"), "data"))


def test_a_bound_volume_ties_its_pod_to_its_zone():
    made = one(claim("data", "v"), volumes=(volume("v", zone="a"),))
    assert may_be(made, {ZONE: "a"})
    assert not may_be(made, {ZONE: "b"})
    assert not may_be(made, {})
    assert made.blocked_by == ""


def test_all_volumes_must_be_within_reach():
    made = one(claim("a", "va"), claim("b", "vb"), volumes=(volume("va", zone="a"), volume("vb", zone="b")))
    assert not any(may_be(made, {ZONE: zone}) for zone in "abc")


@pytest.mark.parametrize(
    ("labels", "node", "reached"),
    [
        ({ZONE: "a"}, {ZONE: "a"}, True),
        ({ZONE: "a"}, {ZONE: "b"}, False),
        ({ZONE: "a__b"}, {ZONE: "b"}, True),
        ({ZONE: "a, b"}, {ZONE: "b"}, False),
        ({ZONE: "a"}, {REGION: "r"}, False),
        # A node without any label of a place is taken to be in the only zone.
        ({ZONE: "a"}, {"disk": "ssd"}, True),
        ({ZONE: "a", REGION: "r"}, {ZONE: "a", REGION: "r"}, True),
        ({ZONE: "a", REGION: "r"}, {ZONE: "a", REGION: "s"}, False),
        # The old label of a volume is compared with the new one of a node, but not the other way round.
        ({OLD_ZONE: "a"}, {ZONE: "a"}, True),
        ({OLD_ZONE: "a"}, {ZONE: "b"}, False),
        ({OLD_ZONE: "a"}, {ZONE: "b", OLD_ZONE: "a"}, True),
        ({ZONE: "a"}, {OLD_ZONE: "a"}, False),
        # A list with an empty name is passed over.
        ({ZONE: "a__"}, {ZONE: "b"}, True),
        ({ZONE: ""}, {ZONE: "b"}, True),
    ],
)
def test_zone_labels_of_volumes(labels: dict[str, str], node: dict[str, str], *, reached: bool):
    """As in the scheduler's plugin VolumeZone."""
    assert may_be(one(claim("data", "v"), volumes=(volume("v", labels=labels),)), node) == reached


@pytest.mark.parametrize(
    ("held", "classes", "why"),
    [
        (claim("data"), (storage_class(),), ""),
        (claim("other"), (), "claim default/data does not exist"),
        (claim("data", namespace="shop"), (), "claim default/data does not exist"),
        (claim("data"), (storage_class(waits=False),), "claim default/data is not bound yet"),
        (claim("data"), (), "claim default/data is not bound yet: storage class waits does not exist"),
        (
            claim("data", storage_class=None),
            (storage_class(),),
            "claim default/data is not bound yet and names no storage class",
        ),
        # It names its volume itself, and waits for that one.
        (
            differing(claim("data"), {"spec": {"volumeName": "v"}}),
            (storage_class(),),
            "claim default/data is not bound yet",
        ),
        (claim("data", "gone"), (), "claim default/data is bound to volume gone, which does not exist"),
        (
            differing(claim("data", "gone"), {"status": {"phase": "Lost"}}),
            (),
            "claim default/data is bound to volume gone, which does not exist",
        ),
        (
            differing(claim("data", "v"), {"metadata": {"deletionTimestamp": before(minutes=1)}}),
            (),
            "claim default/data is being deleted",
        ),
        (claim("data", "v"), (), ""),
    ],
)
def test_what_blocks_a_pod(held: Json, classes: tuple, why: str):
    (made,) = resolved(using(pod("web"), "data"), claims=(held,), volumes=(volume("v"),), classes=classes)
    assert made.blocked_by == why


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"claims": (differing(claim("data"), UNREADABLE),)}, "claim default/data cannot be read"),
        # One from a file may be without a namespace.
        (
            {"claims": (differing(claim("data"), UNREADABLE | {"metadata": {"namespace": None}}),)},
            "claim default/data cannot be read",
        ),
        (
            {"claims": (claim("data", "v"),), "volumes": (differing(volume("v"), UNREADABLE),)},
            "claim default/data is bound to volume v, which cannot be read",
        ),
        (
            {"claims": (claim("data"),), "storage_classes": (storage_class() | {"provisioner": 3},)},
            "claim default/data is not bound yet: storage class waits cannot be read",
        ),
    ],
)
def test_what_is_there_but_cannot_be_read_is_not_told_to_be_missing(given: dict[str, Any], why: str):
    stored = parse_objects(**given)
    assert len(stored.problems) == 1
    (made,) = resolve([parse_pod(using(pod("web"), "data"))], stored.volumes, stored.problems)
    assert made.blocked_by == why


def test_a_pod_on_a_node_is_not_blocked():
    (made,) = resolved(using(pod("web", node="n"), "gone"))
    assert made.blocked_by == ""


def test_the_claim_of_an_ephemeral_volume_is_named_after_the_pod():
    missing, there = resolved(own_disk(pod("a")), own_disk(pod("b")), claims=(claim("b-scratch"),))
    assert missing.blocked_by == "claim default/a-scratch does not exist"
    assert there.blocked_by == ""


ALONE = claim("data", "v", mode=MODE_ONE)


@pytest.mark.parametrize(
    ("other", "why"),
    [
        (pod("db", node="n"), "uses"),
        (pod("db", node="n", phase="Succeeded"), ""),
        (pod("db", node="n", namespace="shop"), ""),
        # Both wait: the more important one, then the older one, goes first.
        (pod("db", priority=10), "waits for"),
        (pod("db", priority=-10), ""),
        (pod("db", priority=10, schedulingGates=[{"name": "quota"}]), ""),
    ],
)
def test_a_claim_for_one_pod_only(other: Json, why: str):
    web, _ = resolved(using(pod("web"), "data"), using(other, "data"), claims=(ALONE,), volumes=(volume("v"),))
    expected = f"claim default/data allows one pod only ({MODE_ONE}), and pod default/db {why} it" if why else ""
    assert web.blocked_by == expected


def test_a_terminating_pod_keeps_its_claim_until_it_is_gone():
    leaving = differing(using(pod("db", node="n"), "data"), {"metadata": {"deletionTimestamp": before(minutes=1)}})
    never_placed = differing(leaving, {"spec": {"nodeName": ""}})
    web = using(pod("web"), "data")
    assert "uses it" in resolved(web, leaving, claims=(ALONE,), volumes=(volume("v"),))[0].blocked_by
    assert resolved(web, never_placed, claims=(ALONE,), volumes=(volume("v"),))[0].blocked_by == ""


def test_the_older_of_two_pods_gets_the_claim_whatever_the_order():
    young, old = using(pod("a"), "data"), using(pod("b"), "data")
    young["metadata"]["creationTimestamp"] = before(minutes=1)
    old["metadata"]["creationTimestamp"] = before(minutes=2)
    for pods in ((young, old), (old, young)):
        made = {p.name: p.blocked_by for p in resolved(*pods, claims=(ALONE,), volumes=(volume("v"),))}
        assert made["b"] == ""
        assert made["a"].endswith("pod default/b waits for it")


def test_other_claims_may_be_shared():
    shared = claim("data", "v")
    web, _ = resolved(
        using(pod("web"), "data"), using(pod("db", node="n"), "data"), claims=(shared,), volumes=(volume("v"),)
    )
    assert web.blocked_by == ""


@pytest.mark.parametrize(
    ("held", "classes", "expected"),
    [
        (claim("data", "v"), (), ((DRIVER, "handle-v"),)),
        (claim("data"), (storage_class(),), ((DRIVER, "claim default/data"),)),
        (claim("data"), (storage_class(provisioner="kubernetes.io/no-provisioner"),), ()),
        (claim("data"), (storage_class(provisioner="kubernetes.io/aws-ebs"),), (("ebs.csi.aws.com",),)),
        # Its volume is gone: it counts as one that its class would make.
        (claim("data", "gone"), (storage_class(),), ((DRIVER, "claim default/data"),)),
        (claim("data", "nfs"), (storage_class(),), ()),
        (claim("data", storage_class=None), (storage_class(),), ()),
    ],
)
def test_what_counts_against_the_limit_of_a_node(held: Json, classes: tuple, expected: tuple):
    """As in the scheduler's plugin NodeVolumeLimits."""
    nfs = volume("nfs", csi=None, nfs={"server": "s", "path": "/"})
    for on in (None, "n"):
        (made,) = resolved(
            using(pod("web", node=on), "data"), claims=(held,), volumes=(volume("v"), nfs), classes=classes
        )
        assert [a[: len(e)] for a, e in zip(made.attachments, expected, strict=True)] == list(expected)


def test_a_shared_volume_has_one_handle():
    a, b = resolved(
        using(pod("a"), "data"), using(pod("b"), "data"), claims=(claim("data", "v"),), volumes=(volume("v"),)
    )
    assert a.attachments == b.attachments == ((DRIVER, "handle-v"),)


def test_pods_that_have_ended_hold_nothing():
    ended = using(pod("job", node="n", phase="Succeeded"), "data")
    assert resolved(ended, claims=(claim("data", "v"),), volumes=(volume("v", zone="a"),)) == (parse_pod(ended),)
