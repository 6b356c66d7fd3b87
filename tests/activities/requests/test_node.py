"""A request's Node: registered, kept for its pods, marked, opened; each effect also twice and killed anywhere."""

from datetime import timedelta

import pytest

from activities.ports.cluster import NODE_POOLS, NODE_REQUESTS, NODES, PODS
from activities.ports.errors import Conflict, Rejected, Unreachable
from activities.ports.provider import ServerState
from activities.providers.built_in import KWOK_NODE_CLASSES
from planner.lifecycle.step import Act
from simulator.apiserver.cluster import MemoryCluster
from tests.activities import bodies
from tests.activities.lives import FOREIGN, NAME, RESERVED, START, UNREGISTERED, Life, at_each_write
from tests.tables import rows

BOOTING = {
    "phase": "Provisioning",
    "attempts": 1,
    "createAttemptAt": START - timedelta(seconds=100),
    "providerID": f"kwok://test/{NAME}",
    "provisioningDeadline": START + timedelta(minutes=5),
}
RUNNING = BOOTING | {"runningAt": START - timedelta(seconds=10), "joinDeadline": START + timedelta(minutes=10)}
REGISTERED = RUNNING | {"registeredAt": START - timedelta(seconds=5), "nodeName": NAME}
READY = REGISTERED | {"phase": "Ready", "readyAt": START, "releaseBy": START + timedelta(seconds=60)}
DEDICATED = {"key": "dedicated", "value": "shop", "effect": "NoSchedule"}
PRICED = RUNNING | {"pricePerHour": "0.0104", "currency": "EUR"}
TOLERATION = {"key": "growth.dev/reserved", "operator": "Equal", "value": NAME, "effect": "NoSchedule"}
REGISTER = Act(effect="register_node", reason="Registered", message="Node joined")
TOLERATE = Act(effect="tolerate_pods", reason="Reserved")
RELEASE = Act(effect="release_node", reason="PodsBound", message="No planned pod is waiting")


@pytest.fixture
async def life():
    made = Life()
    await made.install(template={"labels": {"team": "shop"}, "taints": [DEDICATED]})
    return made


@pytest.fixture
async def joined(life):
    """A request with a planned pod, whose server runs and whose Node has joined."""
    await life.add_machine(RUNNING, UNREGISTERED, FOREIGN, pods=1)
    return life


@pytest.fixture
async def reserved(life):
    """A request whose Node is Ready and whose planned pod may come."""
    await life.add_machine(READY, RESERVED, FOREIGN, pods=1, ready=True)
    await life.do("tolerate_pods")
    return life


@rows(
    ("status", "annotations"),
    {
        "what was paid": (PRICED, {"growth.dev/price-per-hour": "0.0104", "growth.dev/currency": "EUR"}),
        "nothing by an older version": (RUNNING, None),
    },
)
async def test_registration_writes_the_price_on_the_node(life, status, annotations):
    await life.add_machine(status, UNREGISTERED, FOREIGN, pods=1)
    await life.do("register_node")
    assert (await life.node())["metadata"].get("annotations") == annotations
    assert [write for write in life.cluster.writes if write.startswith("patch nodes/")] == [f"patch nodes/{NAME}"]


async def test_registration_writes_the_annotations_of_the_pool_on_the_node_once(life):
    path = "/spec/template/annotations"
    await life.cluster.put(NODE_POOLS, "default", path, {"example.com/team": "shop", "note": "ü: a b"})
    await life.add_machine(PRICED, UNREGISTERED, FOREIGN, pods=1)
    fake = {"kwok.x-k8s.io/node": "fake", "note": "of its boot"}
    await life.cluster.put(NODES, NAME, "/metadata/annotations", fake)
    await life.do("register_node")
    registered = await life.node()
    assert registered["metadata"]["annotations"] == {
        "kwok.x-k8s.io/node": "fake",
        "example.com/team": "shop",
        "note": "ü: a b",
        "growth.dev/price-per-hour": "0.0104",
        "growth.dev/currency": "EUR",
    }
    # The Node is registered and the request does not say so: what the pool says by now is for others.
    await life.cluster.put(NODE_POOLS, "default", path, {"example.com/team": "bakery"})
    await life.do("register_node", REGISTER)
    assert await life.node() == registered


async def test_registration_swaps_the_startup_taint_for_the_reservation(joined):
    seen = await joined.do("register_node")
    assert await joined.taints() == [FOREIGN, DEDICATED, RESERVED]
    assert await joined.tolerations() == [TOLERATION]
    node = (await joined.node())["metadata"]
    assert {"team": "shop", **joined.own_labels()}.items() <= node["labels"].items()
    assert "kubernetes.io/hostname" in node["labels"]
    assert (seen.status.registered_at, seen.status.node_name) == (START, NAME)
    assert (seen.awaited, seen.untolerated) == (1, 0)
    assert ("NodeRequest", "Registered") in await joined.event_reasons()
    assert await joined.do("register_node", REGISTER) == seen, "registered twice it changes nothing more"
    assert (await joined.node())["metadata"]["resourceVersion"] == node["resourceVersion"]


async def test_a_node_that_joins_gets_the_labels_that_its_plan_counts_on_and_keeps_its_own(life):
    await life.add_machine(RUNNING, UNREGISTERED, FOREIGN, pods=1)
    zone = {"topology.kubernetes.io/zone": "fsn1-dc14", "kubernetes.io/hostname": NAME}
    await life.cluster.put(NODES, NAME, "/metadata/labels", zone)
    await life.do("register_node")
    assert (await life.node())["metadata"]["labels"] == {
        **zone,
        **life.own_labels(),
        "team": "shop",
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/os": "linux",
        "node.kubernetes.io/instance-type": "cx32",
        "topology.kubernetes.io/region": "fsn1",
        "beta.kubernetes.io/arch": "amd64",
        "beta.kubernetes.io/os": "linux",
        "beta.kubernetes.io/instance-type": "cx32",
        "failure-domain.beta.kubernetes.io/region": "fsn1",
        "failure-domain.beta.kubernetes.io/zone": "fsn1-dc14",
    }


@rows(
    ("path", "value"),
    {
        "the class is gone": (None, None),
        "the class cannot be read": ("/spec/serverTypes", []),
        "the class no longer has the type": ("/spec/serverTypes/0/name", "cx99"),
    },
)
async def test_a_node_is_registered_though_its_class_does_not_tell_its_labels_any_more(life, path, value):
    await life.add_machine(RUNNING, UNREGISTERED, FOREIGN, pods=1)
    if path is None:
        await life.cluster.delete(KWOK_NODE_CLASSES, "default")
    else:
        await life.cluster.put(KWOK_NODE_CLASSES, "default", path, value)
    await life.do("register_node")
    labels = (await life.node())["metadata"]["labels"]
    assert {"team": "shop", **life.own_labels()}.items() <= labels.items()
    assert await life.taints() == [FOREIGN, DEDICATED, RESERVED]


@at_each_write(3)
async def test_killed_at_any_write_registration_is_completed_by_the_next(joined, write, when):
    await joined.die_during("register_node", REGISTER, when, write)
    seen = await joined.do("register_node", REGISTER)
    assert seen.status.registered_at == START
    assert await joined.taints() == [FOREIGN, DEDICATED, RESERVED]
    assert len(await joined.tolerations()) == 1


@rows(
    ("pods", "pool", "taints"),
    {
        "nothing without planned pods": (0, {}, [FOREIGN, DEDICATED]),
        "nothing in a pool that does not reserve": (1, {"reserve": False}, [FOREIGN, DEDICATED]),
        "for its pods without its pool": (1, None, [FOREIGN, RESERVED]),
    },
)
async def test_registration_reserves(life, pods, pool, taints):
    await life.add_machine(RUNNING, UNREGISTERED, FOREIGN, pods=pods)
    if pool is None:
        await life.cluster.delete(NODE_POOLS, "default")
    else:
        await life.cluster.put(NODE_POOLS, "default", "/spec/scaleUp", pool)
    await life.do("register_node")
    assert await life.taints() == taints


async def test_another_owners_change_is_kept(joined):
    """A taint that someone adds between the look and the write survives."""
    other = {"key": "other.example/late", "effect": "NoSchedule"}
    joined.cluster.overtake("patch", NODES, lambda node: node["spec"]["taints"].append(other))
    await joined.do("register_node")
    assert await joined.taints() == [FOREIGN, other, DEDICATED, RESERVED]


async def test_a_node_that_keeps_changing_is_a_conflict(joined):
    joined.cluster.refuse_writes(Conflict("changed"), "patch", NODES)
    with pytest.raises(Conflict):
        await joined.do("register_node", REGISTER)
    assert "registeredAt" not in (await joined.request())["status"]


async def test_an_attempt_that_was_given_up_cannot_reserve_again_after_the_release(joined):
    """It has read the request before the release, and comes to the Node after it."""

    async def release():
        await joined.set_status(NODE_REQUESTS, REGISTERED | {"releasedAt": START})

    joined.cluster.call_before("get", NODES, release)
    await joined.do("register_node", REGISTER)
    assert RESERVED not in await joined.taints()


async def test_a_node_that_joins_anew_is_registered_anew(life):
    status = READY | {"releasedAt": START, "expiresAt": START + timedelta(minutes=5)}
    await life.add_machine(status, UNREGISTERED, FOREIGN, pods=1, ready=True)
    seen = await life.do("register_node")
    assert await life.taints() == [FOREIGN]
    assert seen.status.registered_at == REGISTERED["registeredAt"]
    assert await life.tolerations() == []


async def test_another_machines_node_is_not_touched(joined):
    await joined.cluster.put(NODES, NAME, "/metadata/labels", {"growth.dev/request-uid": "another"})
    seen = await joined.do("register_node", REGISTER)
    assert seen.node is None
    assert await joined.taints() == [UNREGISTERED, FOREIGN]


async def test_the_running_server_is_marked_with_the_end_of_the_wait(life):
    await life.add_machine(BOOTING, server=ServerState.RUNNING, node=False)
    seen = await life.do("mark_running")
    assert (seen.status.running_at, seen.status.join_deadline) == (START, START + timedelta(minutes=15))
    life.pass_time(1)
    assert await life.do("mark_running", Act(effect="mark_running", reason="Running", until=START)) == seen


async def test_pods_planned_later_are_let_in_and_the_node_is_reserved_for_them(life):
    await life.add_machine(REGISTERED, FOREIGN, pods=1)
    seen = await life.do("tolerate_pods")
    assert (seen.untolerated, await life.taints()) == (0, [FOREIGN, RESERVED])
    assert await life.do("tolerate_pods", TOLERATE) == seen
    assert len(await life.tolerations()) == 1


async def test_a_ready_node_is_not_reserved_any_more(life):
    await life.add_machine(REGISTERED, FOREIGN, pods=1, ready=True)
    await life.do("tolerate_pods")
    assert await life.taints() == [FOREIGN]


@rows(
    ("status", "taint", "effects"),
    {
        "at the registration": (RUNNING, UNREGISTERED, ("register_node", "tolerate_pods")),
        "later": (REGISTERED, RESERVED, ("tolerate_pods",)),
    },
)
async def test_pods_that_cannot_be_patched_end_the_reservation(life, status, taint, effects):
    """It would only keep them out: a role without `patch pods` must not stop scheduling."""
    await life.add_machine(status, taint, pods=1)
    life.cluster.refuse_writes(Rejected("pods is forbidden"), "patch", PODS)
    for effect in effects:
        await life.do(effect)
    status = (await life.request())["status"]
    assert (status["releasedAt"], status["reason"]) == ("2026-11-01T12:00:00Z", "PodsRefused")
    assert ("NodeRequest", "PodsRefused") in await life.event_reasons()
    await life.do("release_node")
    assert RESERVED not in await life.taints()


async def test_ready_is_marked_with_the_end_of_the_reservation(life):
    await life.add_machine(REGISTERED, RESERVED, pods=1, ready=True)
    await life.do("tolerate_pods")
    seen = await life.do("mark_ready")
    assert (seen.status.phase, seen.status.ready_at) == ("Ready", START)
    assert seen.status.release_by == START + timedelta(seconds=60)
    assert seen.status.expires_at is None
    assert (await life.conditions())["Ready"][0] == "True"
    assert await life.do("mark_ready", Act(effect="mark_ready", reason="Ready")) == seen


async def test_ready_after_the_release_has_its_records_end(life):
    await life.add_machine(REGISTERED | {"releasedAt": START}, pods=1, ready=True)
    seen = await life.do("mark_ready")
    assert seen.status.expires_at == START + timedelta(minutes=10)


async def test_bound_pods_make_a_machine_stay_that_is_not_ready_in_time(life):
    await life.add_machine(REGISTERED | {"joinDeadline": START})
    await life.add_pod("web-9", bound=True)
    seen = await life.do("mark_ready")
    assert (seen.status.phase, seen.status.reason) == ("Ready", "PodsBound")
    assert (await life.conditions())["Ready"][0] == "False"


async def test_the_release_is_written_opens_the_node_and_begins_the_record(reserved):
    reserved.cluster.bind("shop", "web-1", NAME)
    before = len(reserved.cluster.writes)
    seen = await reserved.do("release_node")
    patches = [w for w in reserved.cluster.writes[before:] if w.startswith("patch")]
    assert patches == [f"patch noderequests/{NAME}", f"patch nodes/{NAME}"], "written before the taint goes"
    assert await reserved.taints() == [FOREIGN]
    assert (seen.status.released_at, seen.status.expires_at) == (START, START + timedelta(minutes=10))
    reserved.pass_time(1)
    assert await reserved.do("release_node", RELEASE) == seen


@at_each_write(3)
async def test_killed_at_any_write_the_release_is_completed_by_the_next(reserved, write, when):
    reserved.cluster.bind("shop", "web-1", NAME)
    await reserved.die_during("release_node", RELEASE, when, write)
    seen = await reserved.do("release_node", RELEASE)
    assert await reserved.taints() == [FOREIGN]
    assert (seen.status.released_at, seen.status.phase) == (START, "Ready")


async def test_a_pod_that_is_gone_keeps_its_seat_and_one_that_finished_does_not(life):
    await life.add_machine(READY, RESERVED, FOREIGN, pods=2, ready=True)
    await life.do("tolerate_pods")
    await MemoryCluster.delete(life.cluster, PODS, "web-1", namespace="shop")
    seen = await life.do("tolerate_pods", TOLERATE)
    assert (seen.seats, seen.awaited) == (2, 2)
    await life.cluster.create(PODS, bodies.pod("web-1"), namespace="shop")
    seen = await life.do("tolerate_pods", TOLERATE)
    assert (seen.awaited, seen.untolerated) == (2, 0), "a later pod of the same name is another pod"
    await life.set_pod_status({"phase": "Succeeded"}, "web-2")
    assert (await life.do("tolerate_pods", TOLERATE)).awaited == 1


@pytest.mark.parametrize("effect", ["register_node", "mark_ready", "release_node", "mark_running", "tolerate_pods"])
async def test_an_object_that_is_gone_is_no_error(joined, effect):
    joined.uid = "another"
    before = list(joined.cluster.writes)
    assert not (await joined.do(effect, Act(effect=effect, reason="Any"))).exists
    assert joined.cluster.writes == before


async def test_an_unreachable_api_server_is_raised(joined):
    joined.cluster.fail_with = Unreachable("down")
    with pytest.raises(Unreachable):
        await joined.do("register_node", REGISTER)
