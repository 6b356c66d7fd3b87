"""A request's Node: registered, kept for its pods, marked, opened; each effect also twice and killed anywhere."""

from datetime import timedelta

import pytest

from activities.ports.cluster import NODE_POOLS, NODE_REQUESTS, NODES, PODS
from activities.ports.errors import Conflict, Rejected, Unreachable
from activities.ports.provider import ServerState
from planner.lifecycle.step import Act
from simulator.apiserver.cluster import MemoryCluster
from tests.activities import bodies
from tests.activities.lives import NAME, RESERVED, START, UNREGISTERED, Life
from tests.activities.rounds import Crash

ASKED = START - timedelta(seconds=100)
RUNNING = {
    "phase": "Provisioning",
    "attempts": 1,
    "createAttemptAt": ASKED,
    "providerID": f"kwok://test/{NAME}",
    "provisioningDeadline": START + timedelta(minutes=5),
    "runningAt": START - timedelta(seconds=10),
    "joinDeadline": START + timedelta(minutes=10),
}
REGISTERED = RUNNING | {"registeredAt": START - timedelta(seconds=5), "nodeName": NAME}
READY = REGISTERED | {"phase": "Ready", "readyAt": START, "releaseBy": START + timedelta(seconds=60)}
DEDICATED = {"key": "dedicated", "value": "shop", "effect": "NoSchedule"}
PRICED = RUNNING | {"pricePerHour": "0.0104", "currency": "EUR"}
FOREIGN = {"key": "other.example/taint", "value": "x", "effect": "NoSchedule"}
REGISTER = Act(effect="register_node", reason="Registered", message="Node joined")


@pytest.fixture
async def life():
    made = Life()
    await made.install(template={"labels": {"team": "shop"}, "taints": [DEDICATED]})
    return made


async def joined(life, *, status=RUNNING, taints=(UNREGISTERED, FOREIGN), pods=1, ready=False):
    """A request with so many planned pods, whose server runs and whose Node has joined."""
    seats = [await life.add_pod(f"web-{number + 1}") for number in range(pods)]
    await life.add_request(status, seats=seats)
    life.add_server()
    await life.add_node(*taints, ready=ready)
    return life


async def test_registration_writes_what_was_paid_on_the_node(life):
    await joined(life, status=PRICED)
    await life.do("register_node")
    annotations = (await life.node())["metadata"]["annotations"]
    assert annotations == {"growth.dev/price-per-hour": "0.0104", "growth.dev/currency": "EUR"}
    assert [write for write in life.cluster.writes if write.startswith("patch nodes/")] == [f"patch nodes/{NAME}"]


async def test_a_machine_of_an_older_version_has_no_price(life):
    await joined(life)
    await life.do("register_node")
    assert "annotations" not in (await life.node())["metadata"]


async def test_registration_swaps_the_startup_taint_for_the_reservation(life):
    await joined(life)
    seen = await life.do("register_node")
    assert await life.taints() == [FOREIGN, DEDICATED, RESERVED]
    assert await life.tolerations() == [
        {"key": "growth.dev/reserved", "operator": "Equal", "value": NAME, "effect": "NoSchedule"}
    ]
    labels = (await life.node())["metadata"]["labels"]
    assert {"team": "shop", **life.own_labels()}.items() <= labels.items()
    assert "kubernetes.io/hostname" in labels
    assert (seen.status.registered_at, seen.status.node_name) == (START, NAME)
    assert (seen.awaited, seen.untolerated) == (1, 0)
    assert ("NodeRequest", "Registered") in await life.told()


async def test_registered_twice_it_changes_nothing_more(life):
    await joined(life)
    first = await life.do("register_node", REGISTER)
    version = (await life.node())["metadata"]["resourceVersion"]
    assert await life.do("register_node", REGISTER) == first
    assert (await life.node())["metadata"]["resourceVersion"] == version


@pytest.mark.parametrize("write", range(1, 4))
@pytest.mark.parametrize("when", ["crash_at", "crash_after"])
async def test_killed_at_any_write_registration_is_completed_by_the_next(life, write, when):
    await joined(life)
    setattr(life.cluster, when, len(life.cluster.writes) + write)
    with pytest.raises(Crash):
        await life.do("register_node", REGISTER)
    life.restart()
    seen = await life.do("register_node", REGISTER)
    assert seen.status.registered_at == START
    assert await life.taints() == [FOREIGN, DEDICATED, RESERVED]
    assert len(await life.tolerations()) == 1


async def test_without_planned_pods_nothing_is_reserved(life):
    await joined(life, pods=0)
    await life.do("register_node")
    assert await life.taints() == [FOREIGN, DEDICATED]


async def test_a_pool_that_does_not_reserve_is_obeyed(life):
    change = [{"op": "add", "path": "/spec/scaleUp", "value": {"reserve": False}}]
    await MemoryCluster.patch(life.cluster, NODE_POOLS, "default", change)
    await joined(life)
    await life.do("register_node")
    assert await life.taints() == [FOREIGN, DEDICATED]


async def test_without_its_pool_a_node_is_registered_and_reserved(life):
    await joined(life)
    await life.cluster.delete(NODE_POOLS, "default")
    await life.do("register_node")
    assert await life.taints() == [FOREIGN, RESERVED]


async def test_another_owners_change_is_kept(life):
    """A taint that someone adds between the look and the write survives."""
    await joined(life)
    other = {"key": "other.example/late", "effect": "NoSchedule"}

    def late(verb, resource, name):
        if (verb, resource) == ("patch", NODES):
            life.cluster.refuse = None
            node = life.cluster._store.find(NODES, ("", name))
            changed = {**node, "metadata": dict(node["metadata"])}
            changed["spec"] = {**node["spec"], "taints": [*node["spec"]["taints"], other]}
            life.cluster._store.put(NODES, ("", name), changed)

    life.cluster.refuse = late
    await life.do("register_node")
    assert await life.taints() == [FOREIGN, other, DEDICATED, RESERVED]


async def test_a_node_that_keeps_changing_is_a_conflict(life):
    await joined(life)

    def conflict(verb, resource, _):
        if (verb, resource) == ("patch", NODES):
            raise Conflict("changed")

    life.cluster.refuse = conflict
    with pytest.raises(Conflict):
        await life.do("register_node", REGISTER)
    assert "registeredAt" not in (await life.request())["status"]


async def test_an_attempt_that_was_given_up_cannot_reserve_again_after_the_release(life):
    """It has read the request before the release, and comes to the Node after it."""
    await joined(life)
    look = life.cluster.get
    released = REGISTERED | {"releasedAt": START}

    async def release_meanwhile(resource, name, *, namespace=None):
        if resource == NODES:
            life.cluster.get = look
            await life.set_status(NODE_REQUESTS, released)
        return await look(resource, name, namespace=namespace)

    life.cluster.get = release_meanwhile
    await life.do("register_node", REGISTER)
    assert RESERVED not in await life.taints()


async def test_a_node_that_joins_anew_is_registered_anew(life):
    await joined(life, status=READY | {"releasedAt": START, "expiresAt": START + timedelta(minutes=5)}, ready=True)
    seen = await life.do("register_node")
    assert await life.taints() == [FOREIGN]
    assert seen.status.registered_at == REGISTERED["registeredAt"]
    assert await life.tolerations() == []


async def test_another_machines_node_is_not_touched(life):
    await joined(life)
    labels = {"growth.dev/request-uid": "another"}
    await MemoryCluster.patch(life.cluster, NODES, NAME, [{"op": "add", "path": "/metadata/labels", "value": labels}])
    seen = await life.do("register_node", REGISTER)
    assert seen.node is None
    assert await life.taints() == [UNREGISTERED, FOREIGN]


async def test_the_running_server_is_marked_with_the_end_of_the_wait(life):
    await life.add_request({k: v for k, v in RUNNING.items() if k not in {"runningAt", "joinDeadline"}})
    life.add_server(ServerState.RUNNING)
    seen = await life.do("mark_running")
    assert (seen.status.running_at, seen.status.join_deadline) == (START, START + timedelta(minutes=15))
    life.pass_time(1)
    again = await life.do("mark_running", Act(effect="mark_running", reason="Running", until=START))
    assert again == seen


async def test_pods_planned_later_are_let_in_and_the_node_is_reserved_for_them(life):
    await joined(life, status=REGISTERED, taints=(FOREIGN,))
    act = Act(effect="tolerate_pods", reason="Reserved")
    seen = await life.do("tolerate_pods")
    assert (seen.untolerated, await life.taints()) == (0, [FOREIGN, RESERVED])
    assert await life.do("tolerate_pods", act) == seen
    assert len(await life.tolerations()) == 1


async def test_a_ready_node_is_not_reserved_any_more(life):
    await joined(life, status=REGISTERED, taints=(FOREIGN,), ready=True)
    await life.do("tolerate_pods")
    assert await life.taints() == [FOREIGN]


@pytest.mark.parametrize("effect", ["register_node", "tolerate_pods"])
async def test_pods_that_cannot_be_patched_end_the_reservation(life, effect):
    """It would only keep them out: a role without `patch pods` must not stop scheduling."""
    if effect == "register_node":
        await joined(life)
    else:
        await joined(life, status=REGISTERED, taints=(RESERVED,))

    def forbid(verb, resource, _):
        if (verb, resource) == ("patch", PODS):
            raise Rejected("pods is forbidden")

    life.cluster.refuse = forbid
    await life.do(effect)
    if effect == "register_node":
        await life.do("tolerate_pods")
    status = (await life.request())["status"]
    assert (status["releasedAt"], status["reason"]) == ("2026-11-01T12:00:00Z", "PodsRefused")
    assert ("NodeRequest", "PodsRefused") in await life.told()
    await life.do("release_node")
    assert RESERVED not in await life.taints()


async def test_ready_is_marked_with_the_end_of_the_reservation(life):
    await joined(life, status=REGISTERED, taints=(RESERVED,), ready=True)
    await life.do("tolerate_pods")
    seen = await life.do("mark_ready")
    assert (seen.status.phase, seen.status.ready_at) == ("Ready", START)
    assert seen.status.release_by == START + timedelta(seconds=60)
    assert seen.status.expires_at is None
    conditions = {c["type"]: c["status"] for c in (await life.request())["status"]["conditions"]}
    assert conditions["Ready"] == "True"
    assert await life.do("mark_ready", Act(effect="mark_ready", reason="Ready")) == seen


async def test_ready_after_the_release_has_its_records_end(life):
    await joined(life, status=REGISTERED | {"releasedAt": START}, taints=(), ready=True)
    seen = await life.do("mark_ready")
    assert seen.status.expires_at == START + timedelta(minutes=10)


async def test_bound_pods_make_a_machine_stay_that_is_not_ready_in_time(life):
    await joined(life, status=REGISTERED | {"joinDeadline": START}, taints=(), pods=0)
    await life.add_pod("web-9", bound=True)
    seen = await life.do("mark_ready")
    assert (seen.status.phase, seen.status.reason) == ("Ready", "PodsBound")
    conditions = {c["type"]: c["status"] for c in (await life.request())["status"]["conditions"]}
    assert conditions["Ready"] == "False"


async def reserved_and_ready(life, **options):
    await joined(life, status=READY, taints=(RESERVED, FOREIGN), ready=True, **options)
    await life.do("tolerate_pods") if options.get("pods", 1) else None


RELEASE = Act(effect="release_node", reason="PodsBound", message="No planned pod is waiting")


async def test_the_release_opens_the_node_and_begins_the_record(life):
    await reserved_and_ready(life)
    life.cluster.bind("shop", "web-1", NAME)
    seen = await life.do("release_node")
    assert await life.taints() == [FOREIGN]
    assert (seen.status.released_at, seen.status.expires_at) == (START, START + timedelta(minutes=10))
    life.pass_time(1)
    assert await life.do("release_node", RELEASE) == seen


@pytest.mark.parametrize("when", ["crash_at", "crash_after"])
@pytest.mark.parametrize("write", range(1, 4))
async def test_killed_at_any_write_the_release_is_completed_by_the_next(life, write, when):
    await reserved_and_ready(life)
    life.cluster.bind("shop", "web-1", NAME)
    setattr(life.cluster, when, len(life.cluster.writes) + write)
    with pytest.raises(Crash):
        await life.do("release_node", RELEASE)
    life.restart()
    seen = await life.do("release_node", RELEASE)
    assert await life.taints() == [FOREIGN]
    assert (seen.status.released_at, seen.status.phase) == (START, "Ready")


async def test_the_release_is_written_before_the_taint_goes(life):
    await reserved_and_ready(life)
    life.cluster.bind("shop", "web-1", NAME)
    before = len(life.cluster.writes)
    await life.do("release_node")
    patches = [w for w in life.cluster.writes[before:] if w.startswith("patch")]
    assert patches == [f"patch noderequests/{NAME}", f"patch nodes/{NAME}"]


async def test_a_node_that_is_not_ready_is_opened_without_a_record_yet(life):
    await joined(life, status=REGISTERED | {"registeredAt": START - timedelta(seconds=60)}, taints=(RESERVED,))
    await life.do("tolerate_pods")
    seen = await life.do("release_node")
    assert (seen.status.phase, seen.status.reason) == ("Provisioning", "NotReady")
    assert (seen.status.released_at, seen.status.expires_at) == (START, None)
    assert await life.taints() == []


async def test_a_pod_that_is_gone_keeps_its_seat_and_one_that_finished_does_not(life):
    await reserved_and_ready(life, pods=2)
    await MemoryCluster.delete(life.cluster, PODS, "web-1", namespace="shop")
    given = await life.do("tolerate_pods", Act(effect="tolerate_pods", reason="Reserved"))
    assert (given.seats, given.awaited) == (2, 2)
    await life.cluster.create(PODS, bodies.pod("web-1"), namespace="shop")
    seen = await life.do("tolerate_pods", Act(effect="tolerate_pods", reason="Reserved"))
    assert (seen.awaited, seen.untolerated) == (2, 0), "a later pod of the same name is another pod"
    done = [{"op": "add", "path": "/status", "value": {"phase": "Succeeded"}}]
    await MemoryCluster.patch(life.cluster, PODS, "web-2", done, namespace="shop", subresource="status")
    assert (await life.do("tolerate_pods", Act(effect="tolerate_pods", reason="Reserved"))).awaited == 1


@pytest.mark.parametrize("effect", ["register_node", "mark_ready", "release_node", "mark_running", "tolerate_pods"])
async def test_an_object_that_is_gone_is_no_error(life, effect):
    await joined(life)
    life.uid = "another"
    before = list(life.cluster.writes)
    seen = await life.do(effect, Act(effect=effect, reason="Any"))
    assert not seen.exists
    assert life.cluster.writes == before


async def test_an_unreachable_api_server_is_raised(life):
    await joined(life)
    life.cluster.fail_with = Unreachable("down")
    with pytest.raises(Unreachable):
        await life.do("register_node", REGISTER)
