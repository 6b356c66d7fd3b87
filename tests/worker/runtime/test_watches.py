import asyncio

import pytest
from temporalio.service import RPCError, RPCStatusCode

from activities.ports.cluster import (
    CONFIG_MAPS,
    NODE_POOLS,
    NODE_REMOVAL_REQUESTS,
    NODE_REQUESTS,
    NODES,
    PERSISTENT_VOLUME_CLAIMS,
    PODS,
)
from activities.providers.built_in import HETZNER_NODE_CLASSES
from activities.providers.kinds import node_classes
from tests.planner.lifecycle.watched import claim, event, hetzner, meta, node, pod, pool, removal, request
from worker.runtime.watches import Bursts, Watches

PLANNER = "planner:test"
REQUEST = "node-request:test:m-1:r-1"
REMOVAL = "node-removal:test:m-1:d-1"


class Client:
    """Takes signals as the Temporal client does."""

    def __init__(self) -> None:
        self.signals: list[tuple[str, str, str]] = []
        self.error: RPCError | None = None

    def get_workflow_handle(self, workflow_id: str) -> "Handle":
        return Handle(self, workflow_id)

    @property
    def sent(self) -> list[tuple[str, str]]:
        return [(workflow_id, signal) for workflow_id, signal, _ in self.signals]


class Handle:
    def __init__(self, client: Client, workflow_id: str) -> None:
        self._client = client
        self._id = workflow_id

    async def signal(self, name: str, reason: str) -> None:
        self._client.signals.append((self._id, name, reason))
        if self._client.error is not None:
            raise self._client.error


@pytest.fixture
def client():
    return Client()


@pytest.fixture
async def watches(client, monkeypatch):
    monkeypatch.setattr("worker.runtime.watches.Bursts", lambda send, **_: Bursts(send, quiet=0.02))
    watches = Watches(client, "test", [resource.kind for resource in node_classes()])
    yield watches
    await watches.close()


async def told(client: Client) -> list[tuple[str, str]]:
    """Return what was sent when the burst is over."""
    await asyncio.sleep(0.06)
    sent, client.signals = client.sent, []
    return sorted(sent)


def change(watches: Watches, resource, before: dict | None, after: dict | None) -> None:
    """Report one change to `watches` as the cache does."""
    watches.note(resource, event(before, after), before)


@pytest.mark.parametrize(
    ("resource", "change_of", "nudges"),
    [
        (PODS, (None, pod(unschedulable=True)), True),
        (PODS, (pod(), pod(unschedulable=True)), True),
        (PODS, (None, pod()), False),
        (PODS, (pod(unschedulable=True), pod(unschedulable=True)), False),
        (PODS, (pod(unschedulable=True), pod(unschedulable=True, nominated="m-9")), False),
        (PODS, (pod(unschedulable=True, nominated="m-9"), pod(unschedulable=True)), True),
        (PODS, (pod(unschedulable=True, nominated="m-9"), pod(node="m-9")), False),
        (PODS, (pod(unschedulable=True), pod(node="m-9")), False),
        (PODS, (pod(node="m-9"), None), True),
        (PODS, (pod(node="m-9"), pod(node="m-9", phase="Succeeded")), True),
        (PODS, (pod(node="m-9", phase="Succeeded"), None), False),
        (NODES, (None, node()), False),
        (NODES, (node(), node(ready=False)), True),
        (NODES, (node(ready=False), node()), True),
        (NODES, (node(), node(cordoned=True)), True),
        (NODES, (node(), node(memory="2Gi")), False),
        (NODES, (node(annotations={"growth.dev/do-not-remove": "x"}), node()), True),
        (NODES, (node(), node(annotations={"growth.dev/idle-since": "x"})), False),
        (NODES, (node(), None), True),
        (PERSISTENT_VOLUME_CLAIMS, (claim(), claim(bound=True)), True),
        (PERSISTENT_VOLUME_CLAIMS, (None, claim(bound=True)), False),
        (PERSISTENT_VOLUME_CLAIMS, (claim(bound=True), claim(bound=True)), False),
        (PERSISTENT_VOLUME_CLAIMS, (claim(), claim()), False),
        (PERSISTENT_VOLUME_CLAIMS, (claim(), None), False),
        (NODE_POOLS, (None, pool(1)), True),
        (NODE_POOLS, (pool(1), pool(2)), True),
        (NODE_POOLS, (pool(2), pool(2)), False),
        (NODE_POOLS, (pool(2), None), True),
        (NODE_REQUESTS, (None, request()), False),
        (CONFIG_MAPS, (None, {"metadata": meta("a", "b")}), False),
    ],
)
async def test_what_changes_demand_or_supply_nudges(client, watches, resource, change_of, nudges):
    change(watches, resource, *change_of)
    assert await told(client) == ([(PLANNER, "nudge")] if nudges else [])


async def test_many_changes_are_one_nudge_that_tells_some(client, watches):
    for _ in range(30):
        change(watches, PODS, None, pod(unschedulable=True))
    change(watches, NODE_POOLS, pool(1), pool(2))
    await asyncio.sleep(0.06)
    assert client.signals == [(PLANNER, "nudge", "pod unschedulable, NodePool edited and 29 more")]


@pytest.mark.parametrize(
    ("before", "after", "wakes"),
    [
        (None, node(ready=False), True),
        (node(ready=False), node(), True),
        (node(), node(annotations={"growth.dev/do-not-remove": "true"}), True),
        (node(), node(deletionTimestamp="2026-01-01T00:00:00Z"), True),
        (node(), None, True),
        (node(), node(memory="2Gi"), False),
    ],
    ids=["joined", "ready", "kept", "going", "gone", "status only"],
)
async def test_a_node_wakes_its_request_and_its_removal(client, watches, before, after, wakes):
    change(watches, NODE_REQUESTS, None, request())
    change(watches, NODE_REMOVAL_REQUESTS, None, removal())
    change(watches, NODES, before, after)
    woken = [one for one in await told(client) if one[1] == "wake"]
    assert woken == ([(REMOVAL, "wake"), (REQUEST, "wake")] if wakes else [])


async def test_a_pod_that_ends_wakes_the_removal_of_its_node(client, watches):
    change(watches, NODE_REMOVAL_REQUESTS, None, removal())
    change(watches, PODS, pod(node="m-1"), pod(node="m-1", phase="Running"))
    change(watches, PODS, pod(node="m-2", phase="Running"), None)
    assert (REMOVAL, "wake") not in await told(client)
    change(watches, PODS, pod(node="m-1", phase="Running"), pod(node="m-1", phase="Succeeded"))
    assert (REMOVAL, "wake") in await told(client)
    change(watches, PODS, pod(node="m-1", phase="Running"), None)
    assert (REMOVAL, "wake") in await told(client)
    kept = pod(node="m-1", phase="Running")
    kept["metadata"]["annotations"] = {"growth.dev/do-not-remove": "busy"}
    change(watches, PODS, kept, pod(node="m-1", phase="Running"))
    assert await told(client) == [(REMOVAL, "wake")]


def bind(watches, *uids: str, node: str = "m-1") -> None:
    for uid in uids:
        before, after = pod(), pod(node=node)
        for one in (before, after):
            one["metadata"]["uid"] = uid
        change(watches, PODS, before, after)


async def test_the_last_planned_pod_that_is_bound_wakes_the_request_of_its_node(client, watches):
    change(watches, NODE_REQUESTS, None, request(seats=("p-1", "p-2")))
    bind(watches, "p-1")
    # The status is the life's own: nobody is awaited anew by it.
    change(
        watches, NODE_REQUESTS, request(seats=("p-1", "p-2")), request(seats=("p-1", "p-2"), status={"phase": "Ready"})
    )
    bind(watches, "p-2", node="m-2")
    bind(watches, "other")
    assert await told(client) == []
    bind(watches, "p-2")
    assert await told(client) == [(REQUEST, "wake")]
    change(watches, PODS, pod(node="m-1"), pod(node="m-1", phase="Running"))
    assert await told(client) == []


async def test_a_pod_that_is_given_a_seat_is_awaited_as_well(client, watches):
    change(watches, NODE_REQUESTS, None, request(seats=("p-1",)))
    change(watches, NODE_REQUESTS, request(seats=("p-1",)), request(seats=("p-1", "p-2")))
    bind(watches, "p-1")
    assert await told(client) == []
    bind(watches, "p-2")
    assert await told(client) == [(REQUEST, "wake")]


async def test_pods_wake_no_request_whose_machine_is_open_for_all(client, watches):
    released = {"releasedAt": "2026-01-01T00:00:00Z"}
    change(watches, NODE_REQUESTS, request(seats=("p-1",)), request(seats=("p-1",), status=released))
    bind(watches, "p-1")
    assert await told(client) == []


@pytest.mark.parametrize(
    ("before", "after", "wakes"),
    [
        (request(), request(generation=2), True),
        (request(), request(deletionTimestamp="2026-01-01T00:00:00Z"), True),
        (request(), request(annotations={"a": "b"}), True),
        (request(), request(status={"phase": "Provisioning"}), False),
        (None, request(deletionTimestamp="2026-01-01T00:00:00Z"), True),
        (None, request(), False),
    ],
    ids=["spec", "deleted", "annotated", "own status", "deleted while no worker was up", "new"],
)
async def test_what_others_do_to_a_request_wakes_it(client, watches, before, after, wakes):
    change(watches, NODE_REQUESTS, before, after)
    assert await told(client) == ([(REQUEST, "wake")] if wakes else [])


@pytest.mark.parametrize("before", [None, removal()], ids=["while no worker was up", "now"])
@pytest.mark.parametrize(
    "after",
    [removal(status={"cancel": {"by": "Planner"}}), removal(annotations={"growth.dev/decision": "retry"})],
    ids=["cancel", "annotation"],
)
async def test_a_decision_on_the_object_wakes_the_removal_once(client, watches, before, after):
    change(watches, NODE_REMOVAL_REQUESTS, before, after)
    assert await told(client) == [(REMOVAL, "wake")]
    change(watches, NODE_REMOVAL_REQUESTS, after, {**after, "status": {**after["status"], "phase": "Pending"}})
    assert await told(client) == []


async def test_an_object_that_stays_without_a_workflow_nudges_the_planner(client, watches, monkeypatch):
    monkeypatch.setattr("worker.runtime.watches.ORPHAN_SECONDS", 0.05)
    orphan, driven, gone = ({**request(), "metadata": meta(name, name), "status": {}} for name in ("a", "b", "c"))
    for one in (orphan, driven, gone):
        change(watches, NODE_REQUESTS, None, one)
    change(watches, NODE_REQUESTS, driven, {**driven, "status": {"workflowId": "x"}})
    change(watches, NODE_REQUESTS, gone, None)
    await asyncio.sleep(0.15)
    assert client.signals == [(PLANNER, "nudge", "a has no workflow")]


@pytest.mark.parametrize("status", [RPCStatusCode.NOT_FOUND, RPCStatusCode.UNAVAILABLE])
async def test_a_message_that_cannot_be_sent_stops_nothing(client, watches, status):
    client.error = RPCError("no", status, b"")
    watches.nudge("one")
    assert await told(client) == [(PLANNER, "nudge")]
    client.error = None
    watches.nudge("two")
    assert await told(client) == [(PLANNER, "nudge")]


READY = {"type": "Ready", "status": "True", "reason": "Ready", "observedGeneration": 1}


@pytest.mark.parametrize(
    "status",
    [
        {"serverTypes": [{"name": "cx23", "locations": [{"name": "fsn1", "pricePerHour": "0.0104"}]}]},
        {"serverTypes": [{"name": "cx23", "locations": [{"name": "fsn1", "available": False}]}]},
        {"ipv4": [{"location": "fsn1", "pricePerHour": "0.0010"}]},
        {"learned": [{"serverType": "cx23", "image": "1", "allocatable": {"memory": "3Gi"}}]},
        {"resolved": {"images": [{"architecture": "amd64", "id": 2}]}},
        {"conditions": [{**READY, "status": "False", "reason": "FirewallNotFound"}]},
        {"conditions": [{**READY, "observedGeneration": 2}]},
        {"conditions": []},
    ],
)
async def test_the_planner_hears_when_a_class_offers_something_else(watches, client, status):
    change(watches, HETZNER_NODE_CLASSES, hetzner(), hetzner(**status))
    assert await told(client) == [(PLANNER, "nudge")]


@pytest.mark.parametrize(
    "status",
    [
        {"readAt": "2026-03-01T12:10:00Z"},
        # Whoever writes these plans on at once.
        {"unavailable": [{"serverType": "cx23", "location": "fsn1"}]},
        {"pause": {"message": "server limit exceeded"}},
        {"partialPauses": [{"limit": "location fsn1"}]},
        {"conditions": [{**READY, "lastTransitionTime": "2026-03-01T12:10:00Z"}]},
        {"conditions": [READY, {**READY, "type": "CatalogueRead", "status": "False"}]},
    ],
)
async def test_the_planner_hears_nothing_of_a_class_that_was_only_read_again(watches, client, status):
    change(watches, HETZNER_NODE_CLASSES, hetzner(), hetzner(**status))
    assert await told(client) == []


@pytest.mark.parametrize("resource", node_classes())
async def test_the_planner_hears_of_classes_of_every_kind_that_come_change_and_go(watches, client, resource):
    edited = hetzner()
    edited["metadata"]["generation"] = 2
    for before, after in ((None, hetzner()), (hetzner(), edited), (hetzner(), None)):
        change(watches, resource, before, after)
        assert await told(client) == [(PLANNER, "nudge")]
