"""What a round sees: caches and live lists, old caches passed over, and one bad object among good ones."""

from dataclasses import replace

import pytest

from activities.objects.definitions import are_going
from activities.ports.cluster import (
    CRDS,
    CSI_NODES,
    DAEMON_SETS,
    LIMIT_RANGES,
    NODE_POOLS,
    NODE_REMOVAL_REQUESTS,
    NODE_REQUESTS,
    PERSISTENT_VOLUME_CLAIMS,
    PODS,
    ObjectList,
    Resource,
)
from activities.ports.errors import Forbidden
from activities.providers.built_in import KWOK_NODE_CLASSES
from activities.round import observe
from activities.round.observe import DefinitionsGoing, Observer
from api.keys import GROUP, VERSION
from benchmarks.dump import Size
from benchmarks.dump import objects as dumped
from tests.activities.bodies import definitions, node_class, pod, pool, removal, request
from tests.activities.round.observing import Cache, Without, see
from tests.activities.rounds import World
from tests.builders import daemon_set, limit_range


async def test_a_snapshot_holds_everything_a_round_decides_on(world):
    await world.add_pods(2)
    await world.add_node("default-a")
    await world.cluster.create(NODE_REQUESTS, request("default-b"))
    await world.cluster.create(NODE_REMOVAL_REQUESTS, removal("default-c"))
    observed = await see(world)
    snapshot = observed.snapshot
    assert [p.key for p in snapshot.pods] == ["shop/web-0", "shop/web-1"]
    assert all(p.is_unschedulable for p in snapshot.pods)
    assert [n.name for n in snapshot.nodes] == ["default-a"]
    assert [p.metadata.name for p in snapshot.pools] == ["default"]
    assert [r.metadata.name for r in snapshot.requests] == ["default-b"]
    assert [r.metadata.name for r in snapshot.removals] == ["default-c"]
    [node_class] = snapshot.classes
    assert (str(node_class.ref), node_class.problem) == ("KwokNodeClass/default", "")
    assert [o.server_type for o in node_class.offerings] == ["cx22", "cx32", "cx52"]
    assert snapshot.now == world.now()
    assert snapshot.problems == ()
    assert observed.requests["default-b"]["metadata"]["resourceVersion"]


async def test_of_server_types_that_a_pool_names_and_its_class_lacks_the_provider_says_why():
    world = World()
    world.cluster.install_definitions(definitions())
    await world.cluster.create(KWOK_NODE_CLASSES, node_class())
    await world.cluster.create(NODE_POOLS, pool("default", serverTypes=[{"name": "gex44"}, {"name": "cx99"}]))
    [seen] = (await see(world)).snapshot.classes
    assert seen.refusals == {"gex44": "gex44 is sold elsewhere"}


async def test_a_snapshot_holds_namespaces_storage_and_how_many_volumes_a_node_takes(world):
    await world.add_node("default-a")
    for item in dumped(Size(1, 300), 3):
        resource = next((r for r in observe.SURROUNDINGS[3:] if r.kind == item["kind"]), None)
        if resource is not None:
            item["metadata"]["name"] = "default-a" if resource is CSI_NODES else item["metadata"]["name"]
            await world.cluster.create(resource, item, namespace=item["metadata"].get("namespace"))
    snapshot = (await see(world)).snapshot
    assert snapshot.problems == ()
    assert snapshot.namespaces["team-01"] == {"kubernetes.io/metadata.name": "team-01", "team": "01"}
    claims, volumes = snapshot.volumes.claims, snapshot.volumes.volumes
    assert claims
    assert {claim.volume for claim in claims} == {volume.name for volume in volumes}
    [storage_class] = snapshot.volumes.classes
    assert (storage_class.name, storage_class.driver, storage_class.waits) == ("standard", "csi.example.com", True)
    assert [node.attach_limits for node in snapshot.nodes] == [{"csi.example.com": 16}]


AGENT = daemon_set("agent", cpu="100m")
AGENT["spec"]["template"]["spec"]["containers"][0]["resources"] = {}


async def test_daemon_sets_ask_for_what_the_limit_ranges_of_their_namespace_give_their_pods(world):
    usual = limit_range("usual", {"defaultRequest": {"cpu": "300m"}})
    await world.cluster.create(DAEMON_SETS, AGENT, namespace="kube-system")
    await world.cluster.create(LIMIT_RANGES, limit_range("bad", {"min": {"cpu": "much"}}), namespace="kube-system")
    await world.cluster.create(LIMIT_RANGES, usual, namespace="kube-system")
    observer = Observer(world.ports)
    snapshot = (await see(world, observer=observer)).snapshot
    assert [each.template.requests["cpu"] for each in snapshot.daemon_sets] == [300]
    assert [(problem.kind, problem.name) for problem in snapshot.problems] == [("LimitRange", "kube-system/bad")]
    await world.cluster.delete(LIMIT_RANGES, "usual", namespace="kube-system")
    snapshot = (await see(world, observer=observer)).snapshot
    assert [each.template.requests.get("cpu") for each in snapshot.daemon_sets] == [None]


async def test_without_the_right_to_read_limit_ranges_templates_count_as_they_are(world):
    await world.cluster.create(DAEMON_SETS, AGENT, namespace="kube-system")
    world.ports = replace(world.ports, cluster=Without(LIMIT_RANGES, world.cluster), reader=Cache(world.cluster))
    snapshot = (await see(world)).snapshot
    assert [each.name for each in snapshot.daemon_sets] == ["agent"]
    world.ports = replace(world.ports, cluster=Without(DAEMON_SETS, world.cluster))
    with pytest.raises(Forbidden):
        await see(world)


async def test_a_claim_that_cannot_be_read_stops_nothing(world):
    bad = {"metadata": {"name": "bad"}, "spec": {"accessModes": "one"}}
    await world.cluster.create(PERSISTENT_VOLUME_CLAIMS, bad, namespace="shop")
    snapshot = (await see(world)).snapshot
    [problem] = snapshot.problems
    assert (problem.kind, problem.name) == ("PersistentVolumeClaim", "shop/bad")
    assert problem.message == "spec.accessModes: 'one' is not a list"
    assert snapshot.pools


async def test_requests_and_removals_are_listed_live_whatever_the_cache_says(world):
    cache = Cache(world.cluster)
    await cache.fill()
    world.ports = replace(world.ports, reader=cache)
    await world.cluster.create(NODE_REQUESTS, request("default-b"))
    observed = await see(world)
    assert list(observed.requests) == ["default-b"]
    assert sorted(world.cluster.reads) == ["noderemovalrequests", "noderequests"]


async def test_a_cache_older_than_what_was_seen_before_is_listed_live(world):
    cache = Cache(world.cluster)
    await cache.fill()
    await world.add_pods(1)
    fresh = await see(world)
    world.ports = replace(world.ports, reader=cache)
    world.cluster.reads.clear()
    observed = await see(world, {"pods": fresh.versions["pods"]})
    assert [p.key for p in observed.snapshot.pods] == ["shop/web-0"]
    assert sorted(world.cluster.reads) == ["noderemovalrequests", "noderequests", "pods"]


@pytest.mark.parametrize(
    ("phase", "is_removed", "is_known"),
    [("Ready", False, True), ("Pending", False, True), ("Ready", True, False), ("Unmet", False, False)],
)
async def test_a_machine_whose_request_ends_before_the_cache_has_its_node_counts(world, phase, is_removed, is_known):
    """Counted nowhere, it would let one more than the limit be bought."""
    cache = Cache(world.cluster)
    await cache.fill()
    world.ports = replace(world.ports, reader=cache)
    await world.cluster.create(NODE_REQUESTS, request("default-a"))
    await world.set_status(NODE_REQUESTS, "default-a", phase=phase)
    observer = Observer(world.ports)
    await see(world, observer=observer)
    await world.add_node("default-a")
    await world.cluster.end(NODE_REQUESTS, "default-a")
    if is_removed:
        await world.cluster.create(NODE_REMOVAL_REQUESTS, removal("default-a"))
    world.cluster.reads.clear()
    observed = await see(world, observer=observer)
    assert [node.name for node in observed.snapshot.nodes] == ["default-a"] * is_known
    assert ("nodes" in world.cluster.reads) is is_known
    world.cluster.reads.clear()
    await see(world, {"nodes": observed.versions["nodes"]}, observer)
    assert ("nodes" in world.cluster.reads) is is_known, "the cache must reach it first"


async def test_a_cache_that_knows_nothing_is_listed_live_and_an_undefined_kind_is_noticed(world):
    cache = Cache(world.cluster)
    world.ports = replace(world.ports, reader=cache)
    await world.add_pods(1)
    assert [p.key for p in (await see(world)).snapshot.pods] == ["shop/web-0"]
    await world.cluster.delete(KWOK_NODE_CLASSES, "default")
    await world.cluster.delete(CRDS, "kwoknodeclasses.growth.dev")
    with pytest.raises(DefinitionsGoing):
        await see(world)


async def test_a_live_list_asks_later_caches_for_its_newest_item_and_no_more(world):
    # A list has the version of the whole cluster, which a quiet kind's cache would never reach.
    cache = Cache(world.cluster)
    await cache.fill(version="1")
    await world.add_pods(1)
    world.ports = replace(world.ports, reader=cache)
    observed = await see(world, {"pods": "2"})
    [item] = await world.items(PODS)
    assert observed.versions["pods"] == item["metadata"]["resourceVersion"]
    await world.cluster.create(NODE_REQUESTS, request("default-b"))
    await cache.fill(version=observed.versions["pods"])
    await see(world, observed.versions)
    assert "pods" not in world.cluster.reads


async def test_after_a_restore_from_backup_versions_begin_anew(world):
    observed = await see(world, {"nodepools": "999999999"})
    [item] = await world.items(NODE_POOLS)
    assert observed.versions["nodepools"] == item["metadata"]["resourceVersion"]


async def test_an_unchanged_object_is_parsed_once(world, monkeypatch):
    parsed = []
    real = observe.parse_pod
    monkeypatch.setattr(observe, "parse_pod", lambda item: parsed.append(item["metadata"]["name"]) or real(item))
    await world.add_pods(3)
    observer = Observer(world.ports)
    first = await see(world, observer=observer)
    second = await see(world, observer=observer)
    assert sorted(parsed) == ["web-0", "web-1", "web-2"]
    assert all(a is b for a, b in zip(first.snapshot.pods, second.snapshot.pods, strict=True))
    await world.cluster.put(PODS, "web-1", "/metadata/labels", {"a": "b"})
    third = await see(world, observer=observer)
    assert parsed[3:] == ["web-1"]
    assert third.snapshot.pods[1].labels == {"a": "b"}


async def test_what_is_gone_is_forgotten(world):
    await world.add_pods(3)
    observer = Observer(world.ports)
    await see(world, observer=observer)
    await world.cluster.delete(PODS, "web-1", namespace="shop")
    observed = await see(world, observer=observer)
    assert [p.name for p in observed.snapshot.pods] == ["web-0", "web-2"]
    pods = observer._surroundings[observe.SURROUNDINGS.index(PODS)]
    assert len(pods._known) == 2


async def test_unreadable_objects_are_problems_and_stop_no_other(world):
    await world.add_pods(2)
    await world.cluster.create(PODS, pod("broken-0", cpu="lots"), namespace="shop")
    await world.cluster.create(NODE_POOLS, pool("odd", serverTypes=[{"name": "cx22", "max": "many"}]))
    await world.cluster.create(NODE_REQUESTS, {**request("default-b"), "spec": {"pool": "default"}})
    observed = await see(world)
    assert [p.name for p in observed.snapshot.pods] == ["web-0", "web-1"]
    assert [p.metadata.name for p in observed.snapshot.pools] == ["default"]
    problems = {(p.kind, p.name): p for p in observed.snapshot.problems}
    assert set(problems) == {("Pod", "shop/broken-0"), ("NodePool", "odd"), ("NodeRequest", "default-b")}
    assert "'lots' is not a quantity" in problems["Pod", "shop/broken-0"].message
    assert problems["NodePool", "odd"].message == "spec.serverTypes[0].max: must be a whole number, not 'many'"
    assert all("\n" not in p.message and p.uid for p in problems.values())


async def test_a_class_without_offerings_is_a_class_with_a_problem(world):
    body = {"apiVersion": "growth.dev/v1alpha1", "kind": "KwokNodeClass", "metadata": {"name": "bad"}, "spec": {}}
    await world.cluster.create(KWOK_NODE_CLASSES, body)
    observed = await see(world)
    classes = {c.ref.name: c for c in observed.snapshot.classes}
    assert classes["bad"].problem == "spec.serverTypes: is missing"
    assert classes["bad"].offerings == ()
    assert classes["default"].problem == ""


async def test_a_class_whose_status_is_broken_is_told_in_one_line(world):
    await world.cluster.put(KWOK_NODE_CLASSES, "default", "/status", {"unavailable": [{"serverType": "cx32"}]})
    (problem,) = (await see(world)).snapshot.problems
    assert (problem.kind, problem.name) == ("KwokNodeClass", "default")
    assert problem.message.startswith("status cannot be read: ")
    assert "unavailable[0].location: is missing" in problem.message
    assert "\n" not in problem.message


async def test_a_fault_in_the_code_of_a_provider_is_a_problem_of_its_class_alone(world, monkeypatch):
    def fail(_provider, _node_class):
        raise KeyError("cx22")

    monkeypatch.setattr(type(world.ports.providers["KwokNodeClass"]), "offerings", fail)
    snapshot = (await see(world)).snapshot
    (problem,) = snapshot.problems
    assert (problem.kind, problem.name) == ("KwokNodeClass", "default")
    assert problem.message == "its provider failed: KeyError: 'cx22'"
    assert [pool.metadata.name for pool in snapshot.pools] == ["default"]


async def test_a_class_of_a_kind_that_no_provider_serves_has_a_problem_that_names_the_kinds(world):
    await world.cluster.create(NODE_POOLS, pool("odd", template={"classRef": {"kind": "OvercastNodeClass"}}))
    snapshot = (await see(world)).snapshot
    assert {str(seen.ref): seen.problem for seen in snapshot.classes} == {
        "KwokNodeClass/default": "",
        "OvercastNodeClass/default": "no provider serves the kind OvercastNodeClass; known: KwokNodeClass",
    }
    assert snapshot.problems == ()


async def test_without_its_definition_an_optional_kind_is_used_by_nobody_and_a_required_one_is_being_removed(world):
    overcast = Resource(GROUP, VERSION, "OvercastNodeClass", "overcastnodeclasses", namespaced=False, is_optional=True)
    definition = {"group": GROUP, "names": {"kind": overcast.kind, "plural": overcast.plural}}
    world.cluster.install_definitions([{"metadata": {"name": f"{overcast.plural}.{GROUP}"}, "spec": definition}])
    await world.cluster.delete(CRDS, f"{overcast.plural}.{GROUP}")
    world.provider.node_classes = overcast
    world.ports = replace(world.ports, providers={"OvercastNodeClass": world.provider})
    seen = await see(world, versions={"overcastnodeclasses": "1"})
    assert [str(node_class.ref) for node_class in seen.snapshot.classes] == ["KwokNodeClass/default"], (
        "no provider of this worker"
    )
    assert not await are_going(world.ports)
    world.provider.node_classes = replace(overcast, is_optional=False)
    with pytest.raises(DefinitionsGoing):
        await see(world)
    assert await are_going(world.ports)


async def test_no_class_at_all_is_no_error(world):
    await world.cluster.delete(KWOK_NODE_CLASSES, "default")
    assert (await see(world)).snapshot.classes == ()


async def test_the_nodes_that_carry_the_worker_are_protected(world):
    await world.add_node("default-a")
    await world.add_pods(1, prefix="growth", node_name="default-a")
    await world.add_pods(1, prefix="web", node_name="default-b")
    world.ports = replace(world.ports, own_pods=frozenset({"shop/growth-0", "shop/elsewhere"}))
    assert (await see(world)).snapshot.protected_nodes == {"default-a"}


@pytest.mark.parametrize("name", ["nodepools", "noderequests", "noderemovalrequests", "kwoknodeclasses"])
async def test_while_a_definition_is_being_deleted_nothing_is_read_for_a_decision(world, name):
    held = pool("held")
    held["metadata"]["finalizers"] = ["growth.dev/lifecycle"]
    await world.cluster.create(NODE_POOLS, held)
    await world.cluster.create(NODE_REQUESTS, request("default-b"))
    await world.cluster.delete(NODE_POOLS, "held")
    await world.cluster.delete(CRDS, f"{name}.growth.dev")
    reads = world.provider.reads
    with pytest.raises(DefinitionsGoing):
        await see(world)
    assert world.provider.reads == reads


async def test_deleted_objects_under_healthy_definitions_are_decided_on(world):
    await world.cluster.create(NODE_REQUESTS, request("default-b"))
    await world.cluster.delete(NODE_REQUESTS, "default-b")
    observed = await see(world)
    assert observed.snapshot.requests[0].metadata.deletion_timestamp is not None


def test_object_lists_are_compared_as_numbers():
    assert observe._is_older("9", "10")
    assert not observe._is_older("10", "9")
    assert not observe._is_older("10", "")
    assert ObjectList([], "7").resource_version == "7"
