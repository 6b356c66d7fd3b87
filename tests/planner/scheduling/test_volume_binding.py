"""Claims that wait for their pod: volumes that are there, volumes that are made, and both for one pod.

As in the scheduler's FindPodVolumes and FindMatchingVolume.
"""

from typing import Any

import pytest

from planner.objects.kinds import Pod
from planner.objects.predicates import FIELD_NAME, selects
from planner.parsing.objects import parse_objects, parse_pod
from planner.scheduling.volume_places import resolve
from tests.builders import claim, differing, pod, storage_class, volume
from tests.planner.wishes import HOST, ZONE, using

Json = dict[str, Any]
STATIC = storage_class(provisioner="kubernetes.io/no-provisioner")
MADE = storage_class()
MADE_IN_A = storage_class("waits", "a")


def free(name: str, host: str | None = None, size: str = "10Gi", **change: Any) -> Json:
    """Return a volume that waits for a claim, on the node `host` if given."""
    raw = differing(volume(name), {"status": {"phase": "Available"}, "spec": {"capacity": {"storage": size}}})
    if host is not None:
        on_host = {"matchExpressions": [{"key": HOST, "operator": "In", "values": [host]}]}
        raw["spec"]["nodeAffinity"] = {"required": {"nodeSelectorTerms": [on_host]}}
    return differing(raw, change)


def sized(name: str, size: str) -> Json:
    return differing(claim(name), {"spec": {"resources": {"requests": {"storage": size}}}})


def one(*claims: Json, volumes: tuple = (), classes: tuple = (STATIC,)) -> Pod:
    stored = parse_objects(claims=claims, volumes=volumes, storage_classes=classes)
    assert stored.problems == ()
    web = using(pod("web"), *(c["metadata"]["name"] for c in claims))
    (made,) = resolve([parse_pod(web)], stored.volumes)
    assert made.blocked_by == ""
    return made


def hosts(made: Pod, among: str = "abc", **labels: str) -> str:
    """Return which of the nodes with these one-letter names its volumes allow."""
    nodes = {name: {HOST: name, FIELD_NAME: name, ZONE: "a"} | labels for name in among}
    return "".join(
        name
        for name, own in nodes.items()
        if all(any(selects(term, own) for term in terms) for terms in made.volume_terms)
    )


def test_without_volumes_and_without_a_maker_there_is_no_place():
    assert hosts(one(claim("data"))) == ""


def test_only_nodes_with_a_free_volume():
    assert hosts(one(claim("data"), volumes=(free("v1", "a"), free("v2", "b"), free("v3", "b")))) == "ab"


def test_a_volume_from_everywhere_makes_no_condition():
    assert one(claim("data"), volumes=(free("v1", "a"), free("v2"))).volume_terms == ()


@pytest.mark.parametrize(
    "change",
    [
        {"status": {"phase": "Bound"}},
        {"status": {"phase": "Released"}},
        {"metadata": {"deletionTimestamp": "2026-03-01T11:00:00Z"}},
        {"spec": {"claimRef": {"namespace": "default", "name": "other"}}},
        {"spec": {"claimRef": {"namespace": "shop", "name": "data"}}},
        {"spec": {"claimRef": {"namespace": "default", "name": "data", "uid": "of an earlier one"}}},
        {"spec": {"storageClassName": "other"}},
        {"spec": {"accessModes": ["ReadOnlyMany"]}},
        {"spec": {"volumeMode": "Block"}},
        {"spec": {"volumeAttributesClassName": "gold"}},
        {"spec": {"capacity": {"storage": "9Gi"}}},
    ],
)
def test_volumes_that_the_claim_cannot_take(change: Json):
    assert hosts(one(claim("data"), volumes=(free("v", "a"),))) == "a"
    assert hosts(one(claim("data"), volumes=(free("v", "a", **change),))) == ""


def test_the_selector_of_the_claim():
    wanted = differing(claim("data"), {"spec": {"selector": {"matchLabels": {"disk": "ssd"}}}})
    ssd = free("v1", "a", metadata={"labels": {"disk": "ssd"}})
    assert hosts(one(wanted, volumes=(ssd, free("v2", "b")))) == "a"


def test_a_volume_kept_for_the_claim_is_the_only_one():
    kept = free("v1", "a", status={"phase": "Pending"}, spec={"claimRef": {"namespace": "default", "name": "data"}})
    assert hosts(one(claim("data"), volumes=(kept, free("v2", "b")))) == "a"


def test_a_volume_can_be_made_anywhere():
    assert one(claim("data"), classes=(MADE,)).volume_terms == ()
    assert one(claim("data"), volumes=(free("v", "a"),), classes=(MADE,)).volume_terms == ()


def test_a_volume_can_be_made_in_the_topologies_of_its_class():
    made = one(claim("data"), classes=(MADE_IN_A,))
    assert (hosts(made, **{ZONE: "a"}), hosts(made, **{ZONE: "b"})) == ("abc", "")
    either = one(claim("data"), volumes=(free("v", "b"),), classes=(MADE_IN_A,))
    assert (hosts(either, **{ZONE: "a"}), hosts(either, **{ZONE: "b"})) == ("abc", "b")


def test_a_volume_is_being_made_for_one_node():
    chosen = {"metadata": {"annotations": {"volume.kubernetes.io/selected-node": "b"}}}
    assert hosts(one(differing(claim("data"), chosen), classes=(MADE,))) == "b"
    # It was chosen for a class whose volumes are made elsewhere by now.
    made = one(differing(claim("data"), chosen), classes=(MADE_IN_A,))
    assert (hosts(made, **{ZONE: "a"}), hosts(made, **{ZONE: "b"})) == ("b", "")


def test_two_claims_need_two_volumes_on_one_node():
    claims = (claim("x"), claim("y"))
    assert hosts(one(*claims, volumes=(free("v1", "a"), free("v2", "b")))) == ""
    assert hosts(one(*claims, volumes=(free("v1", "a"), free("v2", "b"), free("v3", "b")))) == "b"
    assert hosts(one(*claims, volumes=(free("v1", "a"), free("v2")))) == "a"


def test_the_smaller_claim_takes_the_smaller_volume():
    claims = (sized("large", "20Gi"), sized("small", "5Gi"))
    assert hosts(one(*claims, volumes=(free("v1", "a", "30Gi"), free("v2", "a", "8Gi")))) == "a"
    assert hosts(one(*claims, volumes=(free("v1", "a", "30Gi"), free("v2", "a", "40Gi")))) == "a"
    assert hosts(one(*claims, volumes=(free("v1", "a", "8Gi"), free("v2", "a", "8Gi")))) == ""


def test_what_is_not_there_is_made_beside_what_is():
    other = storage_class("other", "a")
    claims = (claim("x"), claim("y", storage_class="other"))
    made = one(*claims, volumes=(free("v1", "b"),), classes=(STATIC, other))
    assert (hosts(made, **{ZONE: "a"}), hosts(made, **{ZONE: "b"})) == ("b", "")
